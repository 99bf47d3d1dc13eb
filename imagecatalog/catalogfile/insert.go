package catalogfile

import (
	"errors"
	"strings"
)

// insert finds the place by the indentation of block style. The caller makes sure that the result means what it should.
func insert(text, entry string) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	if last := lines[len(lines)-1]; last != "" {
		lines[len(lines)-1] = last + "\n"
	}
	key := find(lines, 0, func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "images:") && indent(line) > 0
	})
	if key < 0 {
		return insertKey(lines, entry)
	}
	field := indent(lines[key])
	if rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(lines[key]), "images:")); rest != "" && !strings.HasPrefix(rest, "#") {
		if rest != "[]" {
			return "", errors.New("its images are not written one item a line")
		}
		lines[key] = strings.Repeat(" ", field) + "images:\n"
	}
	item, end := field, key+1
	for i := key + 1; i < len(lines); i++ {
		line := lines[i]
		if blank(line) {
			continue
		}
		dash := strings.HasPrefix(strings.TrimSpace(line), "-")
		if indent(line) < field || indent(line) == field && !dash {
			break
		}
		if end == key+1 {
			item = indent(line)
		}
		end = i + 1
	}
	return splice(lines, end, shift(entry, item)), nil
}

// insertKey adds the list to a catalog that has none.
func insertKey(lines []string, entry string) (string, error) {
	spec := find(lines, 0, func(line string) bool { return strings.TrimRight(line, " \r\n") == "spec:" })
	if spec < 0 {
		return "", errors.New("it has no line with the key spec")
	}
	first := find(lines, spec+1, func(line string) bool { return !blank(line) })
	if first < 0 {
		return "", errors.New("its spec is empty")
	}
	return splice(lines, first, strings.Repeat(" ", indent(lines[first]))+"images:\n"+shift(entry, indent(lines[first]))), nil
}

func find(lines []string, from int, is func(string) bool) int {
	for i := from; i < len(lines); i++ {
		if is(lines[i]) {
			return i
		}
	}
	return -1
}

func splice(lines []string, at int, text string) string {
	return strings.Join(lines[:at], "") + text + strings.Join(lines[at:], "")
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func blank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "#")
}

// shift indents every line.
func shift(text string, by int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.Repeat(" ", by))
		}
		b.WriteString(line)
	}
	return b.String()
}

// dedent takes away what all lines have in front.
func dedent(text string) string {
	least := -1
	for line := range strings.Lines(text) {
		if by := indent(line); strings.TrimSpace(line) != "" && (least < 0 || by < least) {
			least = by
		}
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(line[min(max(least, 0), indent(line)):])
	}
	return b.String()
}

// replaceWord replaces a word where it stands alone, and not where it is the begin of a longer one.
func replaceWord(text, old, new string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, old)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if after == "" || strings.ContainsAny(after[:1], " \t\r\n\"',]}#") {
			b.WriteString(new)
		} else {
			b.WriteString(old)
		}
		text = after
	}
}
