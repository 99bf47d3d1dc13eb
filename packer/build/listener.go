package build

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// ErrStep says that a step of the recipe failed in the guest.
var ErrStep = errors.New("a step failed in the guest")

// listener understands what Packer prints.
type listener struct {
	report func(Event)
	line   []byte

	step    string   // that began last
	last    string   // what was said in it last
	ended   bool     // Packer has given up
	reason  string   // what a step said about its failure
	failing []string // checks of the smoke test
	errors  []string // Packer's own words
	open    bool     // the last of them goes on in the next lines
	more    bool     // and has done so
	qemu    []string // what QEMU said
}

// maxLine bounds a line that never ends.
const maxLine = 64 << 10

// Write takes output as it comes. It never fails.
func (l *listener) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		l.line = append(l.line, line[:min(len(line), max(0, maxLine-len(l.line)))]...)
		if !found {
			return n, nil
		}
		l.hear(string(l.line))
		l.line, p = l.line[:0], rest
	}
}

// marks of Packer itself, with the steps that they stand for.
var packerSteps = []struct{ mark, step string }{
	{"Starting VM", "boot"},
	{"Connected to SSH!", "login"},
	{"Gracefully halting", "shutdown"},
}

func (l *listener) hear(line string) {
	if _, step, found := strings.Cut(line, "capcat: step: "); found {
		l.begin(strings.TrimSpace(step))
		return
	}
	if _, reason, found := strings.Cut(line, "capcat: error: "); found {
		l.reason = strings.TrimSpace(reason)
		return
	}
	if _, check, found := strings.Cut(line, "not ok: "); found {
		l.failing = append(l.failing, strings.TrimSpace(check))
		return
	}
	if strings.Contains(line, "Provisioning step had errors") {
		l.ended = true
	}
	if _, words, found := strings.Cut(line, ".node: "); found && !l.ended && strings.TrimSpace(words) != "" {
		l.last = strings.TrimSpace(words)
	}
	for _, s := range packerSteps {
		if strings.Contains(line, s.mark) {
			l.begin(s.step)
			return
		}
	}
	if l.open = l.open && l.goOn(line); l.open {
		return
	}
	if complaint.MatchString(line) {
		l.errors = append(l.errors, strings.TrimLeft(line, "=> "))
		l.open, l.more = strings.HasPrefix(line, "Error: "), false // of the recipe, told in several lines
	}
}

// complaint is a line in which Packer says what is wrong.
var complaint = regexp.MustCompile(`\b[Ee]rror\b[^:]*: |errored|Timeout waiting`)

// maxComplaint bounds a complaint of several lines.
const maxComplaint = 400

// goOn adds a line to the last complaint, unless it is none of it.
func (l *listener) goOn(line string) bool {
	last := &l.errors[len(l.errors)-1]
	if strings.HasPrefix(line, "==>") || strings.HasPrefix(line, "Error: ") || len(*last) > maxComplaint {
		return false
	}
	words := strings.TrimSpace(line)
	if words == "" || strings.HasPrefix(words, "on ") || strings.HasPrefix(words, "(source code") {
		return true
	}
	join := " "
	if !l.more && !strings.HasSuffix(*last, ":") {
		join = ": "
	}
	l.more = true
	*last += join + words
	return true
}

func (l *listener) begin(step string) {
	l.step, l.last = step, ""
	l.report(Event{Step: step})
}

// explain makes an error out of what was heard.
func (l *listener) explain(err error) error {
	switch {
	case l.step == "boot":
		return fmt.Errorf("the machine did not come up so far that Packer could log in: %w: %s", err, l.said())
	case l.step == "" || l.step == "login":
		return fmt.Errorf("packer failed: %w: %s", err, l.said())
	case l.step == "shutdown":
		return fmt.Errorf("the machine could not be shut down: %w: %s", err, l.said())
	case len(l.failing) > 0:
		return fmt.Errorf("step %q: %w: not so: %s", l.step, ErrStep, strings.Join(l.failing, "; "))
	case l.reason != "":
		return fmt.Errorf("step %q: %w: %s", l.step, ErrStep, l.reason)
	}
	return fmt.Errorf("step %q: %w: it gave no reason; its last words: %.200q; packer: %s", l.step, ErrStep, l.last, l.said())
}

// said is the first complaint of Packer, and what QEMU said.
func (l *listener) said() string {
	words := l.qemu
	if len(l.errors) > 0 {
		words = append(l.errors[:1:1], l.qemu...)
	}
	return cmp.Or(strings.Join(words, "; "), "it gave no reason")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
