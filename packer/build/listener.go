package build

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
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
	if strings.Contains(line, "rror: ") || strings.Contains(line, "errored") || strings.Contains(line, "Timeout waiting") {
		l.errors = append(l.errors, strings.TrimLeft(line, "=> "))
	}
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

// said is the first complaint of Packer.
func (l *listener) said() string {
	if len(l.errors) == 0 {
		return "it gave no reason"
	}
	return l.errors[0]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
