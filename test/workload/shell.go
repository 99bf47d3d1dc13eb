package workload

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxDepth bounds scripts that run scripts.
	maxDepth = 8
	// maxStatements bounds one boot.
	maxStatements = 10000
)

// errExit ends a script.
var errExit = errors.New("exit")

// shell carries out what matters of commands: kubeadm, installations of Kubernetes, scripts that are files. Everything else succeeds.
type shell struct {
	guest *guest
	depth int
	left  *int // statements
}

func newShell(g *guest) *shell {
	left := maxStatements
	return &shell{guest: g, left: &left}
}

// run carries out a script line by line. With errexit it ends at the first failure, as a script with set -e does. Conditions are not
// evaluated: bodies of if, of loops and of functions run once, and an exit in them is left out.
func (s *shell) run(ctx context.Context, script string, errexit bool) error {
	var last error
	inner := 0
	for _, line := range logicalLines(script) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if *s.left--; *s.left < 0 {
			return errors.New("the script does not end")
		}
		if set, ok := errexitOf(line); ok {
			errexit = set
			continue
		}
		conditional := inner > 0 || nesting(line) > 0 || strings.HasPrefix(line, "if ")
		inner = max(0, inner+nesting(line))
		last = s.line(ctx, line)
		if errors.Is(last, errExit) && conditional {
			last = nil
		}
		if errors.Is(last, errExit) || (last != nil && errexit) {
			return last
		}
	}
	return last
}

// opening and closing are what begins and ends bodies; heredoc begins a text within a script.
var (
	opening = regexp.MustCompile(`(?:^|;\s*)(?:if|case|for|while|until)\s|\(\)\s*\{`)
	closing = regexp.MustCompile(`(?:^|;\s*)(?:fi|esac|done)\b|(?:^|;\s*)\}$`)
	heredoc = regexp.MustCompile(`<<-?\s*['"]?([A-Za-z_]+)['"]?`)
)

// nesting is how many bodies a line opens and does not close.
func nesting(line string) int {
	return len(opening.FindAllString(line, -1)) - len(closing.FindAllString(line, -1))
}

// logicalLines joins lines that a backslash continues, and drops comments and texts within the script.
func logicalLines(script string) []string {
	var out []string
	end := ""
	for line := range strings.SplitSeq(strings.ReplaceAll(script, "\\\n", " "), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case end != "":
			if line == end {
				end = ""
			}
			continue
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		}
		if m := heredoc.FindStringSubmatch(line); m != nil {
			end = m[1]
		}
		out = append(out, line)
	}
	return out
}

// errexitOf says whether a line switches set -e on or off.
func errexitOf(line string) (on, is bool) {
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "set" {
		return false, false
	}
	switch {
	case strings.HasPrefix(words[1], "-") && strings.Contains(words[1], "e"):
		return true, true
	case strings.HasPrefix(words[1], "+") && strings.Contains(words[1], "e"):
		return false, true
	}
	return false, false
}

// line carries out the statements of a line with their && and ||.
func (s *shell) line(ctx context.Context, line string) error {
	var err error
	for _, st := range splitStatements(line) {
		switch {
		case errors.Is(err, errExit):
			return err
		case st.joint == "&&" && err != nil, st.joint == "||" && err == nil:
			continue
		}
		err = s.statement(ctx, st.text)
	}
	return err
}

type statement struct{ joint, text string }

// splitStatements cuts a line at && || and ; outside of quotes, substitutions and groups.
func splitStatements(line string) []statement {
	var out []statement
	joint, from, depth, quote := ";", 0, 0, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '{':
			depth++
		case c == ')' || (c == '}' && depth > 0):
			depth--
		case depth > 0:
		case strings.HasPrefix(line[i:], "&&") || strings.HasPrefix(line[i:], "||"):
			out = append(out, statement{joint, strings.TrimSpace(line[from:i])})
			joint, from = line[i:i+2], i+2
			i++
		case c == ';':
			out = append(out, statement{joint, strings.TrimSpace(line[from:i])})
			joint, from = ";", i+1
		}
	}
	return append(out, statement{joint, strings.TrimSpace(line[from:])})
}

// words cuts a statement as a shell does, without expansions.
func words(text string) []string {
	var out []string
	var b strings.Builder
	quote, open := rune(0), false
	for _, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, open = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if b.Len() > 0 || open {
				out = append(out, b.String())
			}
			b.Reset()
			open = false
		default:
			b.WriteRune(c)
		}
	}
	if b.Len() > 0 || open {
		out = append(out, b.String())
	}
	return out
}

// statement carries out one command, or a group of them.
func (s *shell) statement(ctx context.Context, text string) error {
	if group, ok := strings.CutPrefix(text, "{"); ok {
		return s.line(ctx, strings.TrimSuffix(strings.TrimSpace(group), "}"))
	}
	w := words(text)
	for len(w) > 0 && (slices.Contains([]string{"sudo", "exec", "if", "then", "do", "time"}, w[0]) || isAssignment(w[0])) {
		w = w[1:]
	}
	if len(w) == 0 {
		return nil
	}
	switch name := path.Base(w[0]); name {
	case "kubeadm":
		return s.guest.kubeadm(ctx, w[1:])
	case "exit":
		if len(w) > 1 && w[1] != "0" {
			return fmt.Errorf("%w %s", errExit, w[1])
		}
		return errExit
	case "false":
		return errors.New("false")
	case "bash", "sh", "source", ".":
		return s.interpreter(ctx, w[1:])
	}
	if _, ok := s.guest.disk.files[w[0]]; ok {
		return s.script(ctx, w[0], w[1:], true)
	}
	return s.guest.install(ctx, text, nil)
}

// isAssignment says whether a word sets a variable for the command after it.
func isAssignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/-.:@%+$(")
}

// interpreter runs the file or the text that an interpreter is given.
func (s *shell) interpreter(ctx context.Context, args []string) error {
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "-") && strings.Contains(a, "c") && !strings.HasPrefix(a, "--") && i+1 < len(args):
			return s.run(ctx, args[i+1], strings.Contains(a, "e"))
		case strings.HasPrefix(a, "-"):
		default:
			return s.script(ctx, a, args[i+1:], false)
		}
	}
	return nil
}

// script runs a file of the machine.
func (s *shell) script(ctx context.Context, name string, args []string, direct bool) error {
	f, ok := s.guest.disk.files[name]
	switch {
	case !ok:
		s.guest.say("bash: %s: No such file or directory", name)
		return fmt.Errorf("%s: no such file", name)
	case direct && !f.executable:
		s.guest.say("/bin/sh: %s: Permission denied", name)
		return fmt.Errorf("%s: permission denied", name)
	case s.depth >= maxDepth:
		return errors.New("scripts run each other without end")
	}
	if err := s.guest.install(ctx, f.content, args); err != nil {
		return err
	}
	inner := &shell{guest: s.guest, depth: s.depth + 1, left: s.left}
	if err := inner.run(ctx, f.content, false); err != nil && err != errExit { //nolint:errorlint // exit 0 is the bare error
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
