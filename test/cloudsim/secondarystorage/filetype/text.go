package filetype

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// textWindow is how much of a text is looked at.
	textWindow = 64 << 10
	longLine   = 300
	csvLines   = 10
)

// text names what holds no control characters but those of texts.
func text(c content) string {
	b := c.head[:min(len(c.head), textWindow)]
	encoding := encodingOf(b)
	if encoding == "" {
		return ""
	}
	if kind := jsonText(c.head); kind != "" {
		return kind
	}
	if csvText(b) {
		return "CSV text"
	}
	return markup(b) + encoding + lineForm(b)
}

func encodingOf(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return "Unicode text, UTF-16, little-endian text"
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return "Unicode text, UTF-16, big-endian text"
	}
	ascii, extended := true, false
	for _, x := range b {
		switch {
		case x >= 0x80 && x < 0xa0:
			ascii, extended = false, true
		case x >= 0xa0:
			ascii = false
		case x < ' ' && !strings.ContainsRune("\a\b\t\n\f\r\x1b", rune(x)), x == 0x7f:
			return ""
		}
	}
	switch {
	case ascii:
		return "ASCII text"
	case utf8.Valid(b):
		return "Unicode text, UTF-8 text"
	case extended:
		return "Non-ISO extended-ASCII text"
	}
	return "ISO-8859 text"
}

// markup is what stands before the encoding.
func markup(b []byte) string {
	head := strings.ToLower(string(bytes.TrimLeft(b[:min(len(b), 4096)], " \t\r\n")))
	switch {
	case strings.HasPrefix(head, "<?xml version="):
		return "XML 1.0 document, "
	case strings.HasPrefix(head, "<!doctype html"), strings.HasPrefix(head, "<html"), strings.HasPrefix(head, "<head"),
		strings.HasPrefix(head, "<title"), strings.HasPrefix(head, "<script"), strings.HasPrefix(head, "<style"),
		strings.HasPrefix(head, "<!--") && strings.Contains(head, "<html"):
		return "HTML document, "
	}
	return ""
}

// lineForm is what stands after the encoding.
func lineForm(b []byte) string {
	d := ""
	if longest := longestLine(b); longest >= longLine {
		d = fmt.Sprintf(", with very long lines (%d)", longest)
	}
	crlf := bytes.Count(b, []byte("\r\n"))
	lf, cr := bytes.Count(b, []byte("\n"))-crlf, bytes.Count(b, []byte("\r"))-crlf
	var ends []string
	if crlf > 0 {
		ends = append(ends, "CRLF")
	}
	if cr > 0 {
		ends = append(ends, "CR")
	}
	switch {
	case len(ends) == 0 && lf == 0:
		d += ", with no line terminators"
	case len(ends) > 0:
		if lf > 0 {
			ends = append(ends, "LF")
		}
		d += ", with " + strings.Join(ends, ", ") + " line terminators"
	}
	if bytes.IndexByte(b, 0x1b) >= 0 {
		d += ", with escape sequences"
	}
	return d
}

func longestLine(b []byte) int {
	longest := 0
	for line := range bytes.FieldsFuncSeq(b, func(r rune) bool { return r == '\n' || r == '\r' }) {
		longest = max(longest, len(line))
	}
	return longest
}

func jsonText(b []byte) string {
	trimmed := bytes.TrimSpace(b)
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(trimmed))
	n := 0
	for ; d.More(); n++ {
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return ""
		}
	}
	if n > 1 {
		return "New Line Delimited JSON text data"
	}
	return "JSON text data"
}

// csvText tells whether the first lines, more than two or ten at most, have the same number of commas.
func csvText(b []byte) bool {
	commas, lines, first := 0, 0, 0
	quoted := false
	for _, x := range b {
		switch {
		case x == '"':
			quoted = !quoted
		case quoted:
		case x == ',':
			commas++
		case x == '\n':
			lines++
			if lines == 1 {
				first = commas
			}
			if commas != first || first == 0 {
				return false
			}
			if lines == csvLines {
				return true
			}
			commas = 0
		}
	}
	return lines > 2
}
