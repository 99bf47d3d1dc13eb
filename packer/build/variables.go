package build

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// settings are the values of a file of variables: strings, lists and maps of strings. That is all the recipes use, and so this
// is all of the language that is read here; Packer reads the same files and is the judge of their form.
type settings struct {
	text map[string]string
	list map[string][]string
	dict map[string]map[string]string
}

// parseSettings reads a file such as os/<name>/os.pkrvars.hcl.
func parseSettings(r io.Reader) (settings, error) {
	s := settings{text: map[string]string{}, list: map[string][]string{}, dict: map[string]map[string]string{}}
	open, closing := "", ""
	scan := bufio.NewScanner(r)
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimSpace(withoutComment(scan.Text()))
		var err error
		switch {
		case line == "":
		case open != "" && line == closing:
			open = ""
		case open != "":
			err = s.item(open, closing, line)
		default:
			open, closing, err = s.assign(line)
		}
		if err != nil {
			return settings{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if open != "" {
		return settings{}, fmt.Errorf("%s is not closed", open)
	}
	return s, scan.Err()
}

// assign reads NAME = VALUE; a list or a map that goes on in the next lines is left open.
func (s settings) assign(line string) (open, closing string, err error) {
	name, value, found := strings.Cut(line, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !found || name == "" {
		return "", "", fmt.Errorf("%q is no assignment", line)
	}
	switch {
	case value == "{":
		s.dict[name] = map[string]string{}
		return name, "}", nil
	case value == "[":
		return name, "]", nil
	case strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]"):
		for part := range strings.SplitSeq(value[1:len(value)-1], ",") {
			if part = strings.TrimSpace(part); part != "" {
				err = errors.Join(err, s.item(name, "]", part))
			}
		}
		return "", "", err
	}
	s.text[name], err = unquote(value)
	return "", "", err
}

// item reads a line inside a list or a map.
func (s settings) item(open, closing, line string) error {
	if closing == "}" {
		key, value, found := strings.Cut(strings.TrimSuffix(line, ","), "=")
		if !found {
			return fmt.Errorf("%q is no assignment", line)
		}
		text, err := unquote(strings.TrimSpace(value))
		s.dict[open][strings.Trim(strings.TrimSpace(key), `"`)] = text
		return err
	}
	for part := range strings.SplitSeq(line, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		text, err := unquote(part)
		if err != nil {
			return err
		}
		s.list[open] = append(s.list[open], text)
	}
	return nil
}

// unquote takes plain strings, and numbers and words as they stand.
func unquote(value string) (string, error) {
	if !strings.HasPrefix(value, `"`) {
		return value, nil
	}
	if len(value) < 2 || !strings.HasSuffix(value, `"`) || strings.ContainsAny(value[1:len(value)-1], `"\`) {
		return "", fmt.Errorf("%s is no plain string", value)
	}
	return value[1 : len(value)-1], nil
}

// withoutComment cuts at the first # or // outside a string.
func withoutComment(line string) string {
	inside := false
	for i := range len(line) {
		switch {
		case line[i] == '"':
			inside = !inside
		case !inside && (line[i] == '#' || strings.HasPrefix(line[i:], "//")):
			return line[:i]
		}
	}
	return line
}
