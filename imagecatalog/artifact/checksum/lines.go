package checksum

import (
	"strings"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// entry is one line: a digest and the name it is for, "" for none.
type entry struct {
	digest artifact.Digest
	name   string
}

// parseLines reads every line that holds a digest, and passes over the others: comments, blank lines, armour, prose.
func parseLines(text string) []entry {
	var entries []entry
	lines := signedPart(strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n"))
	for _, line := range lines {
		if e, ok := parseLine(strings.TrimSuffix(line, "\r")); ok {
			entries = append(entries, e)
		}
	}
	return entries
}

// signedPart is what stands between the header and the signature of a PGP clear-signed text; all of any other text.
func signedPart(lines []string) []string {
	begin := -1
	for i, line := range lines {
		switch strings.TrimRight(line, " \t\r") {
		case "-----BEGIN PGP SIGNED MESSAGE-----":
			begin = i
		case "-----BEGIN PGP SIGNATURE-----":
			if begin >= 0 {
				return unescapeDashes(lines[begin+1 : i])
			}
		}
	}
	return lines
}

func unescapeDashes(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		out = append(out, strings.TrimPrefix(line, "- "))
	}
	return out
}

// parseLine reads one line in whatever form it is.
func parseLine(line string) (entry, bool) {
	line = strings.TrimLeft(line, " \t")
	if line == "" || line[0] == '#' {
		return entry{}, false
	}
	escaped := line[0] == '\\'
	if escaped {
		line = line[1:]
	}
	e, ok := parseGNU(line)
	if !ok {
		e, ok = parseTagged(line)
	}
	if !ok {
		return entry{}, false
	}
	if escaped {
		e.name, ok = unescape(e.name)
	}
	if e.name == "-" || e.name == "stdin" {
		e.name = ""
	}
	return e, ok
}

// parseGNU reads "<hex>  name", "<hex> *name" and "<hex>", each also with the algorithm in front as in "sha256:<hex>".
func parseGNU(line string) (entry, bool) {
	if tag, rest, found := strings.Cut(line, ":"); found {
		if named, err := artifact.ParseAlgorithm(tag); err == nil {
			e, ok := parseHexFirst(rest)
			return e, ok && named == e.digest.Algorithm
		}
	}
	return parseHexFirst(line)
}

func parseHexFirst(line string) (entry, bool) {
	digits := len(line) - len(strings.TrimLeft(line, "0123456789abcdefABCDEF"))
	alg, ok := artifact.AlgorithmOfLen(digits)
	if !ok {
		return entry{}, false
	}
	d, err := artifact.NewDigest(alg, line[:digits])
	if err != nil {
		return entry{}, false
	}
	rest := line[digits:]
	switch {
	case strings.TrimSpace(rest) == "":
		return entry{digest: d}, true
	case strings.HasPrefix(rest, "  "), strings.HasPrefix(rest, " *"):
		return entry{digest: d, name: rest[2:]}, true
	case rest[0] == ' ', rest[0] == '\t':
		return entry{digest: d, name: strings.TrimPrefix(strings.TrimSpace(rest), "*")}, true
	default:
		return entry{}, false
	}
}

// parseTagged reads "SHA256 (name) = hex" (BSD), "SHA256(name)= hex" and "SHA2-256(name)= hex" (OpenSSL), "(stdin)= hex".
func parseTagged(line string) (entry, bool) {
	line = strings.TrimRight(line, " \t")
	open := strings.IndexByte(line, '(')
	end := strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return entry{}, false
	}
	value, ok := strings.CutPrefix(strings.TrimLeft(line[end+1:], " \t"), "=")
	if !ok {
		return entry{}, false
	}
	value = strings.TrimSpace(value)
	alg, ok := artifact.AlgorithmOfLen(len(value))
	if tag := strings.TrimSpace(line[:open]); tag != "" {
		named, err := artifact.ParseAlgorithm(tag)
		ok = ok && err == nil && named == alg
	}
	if !ok {
		return entry{}, false
	}
	d, err := artifact.NewDigest(alg, value)
	return entry{digest: d, name: line[open+1 : end]}, err == nil
}

// unescape undoes what sha256sum does to names with a backslash or a line end.
func unescape(name string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '\\' {
			b.WriteByte(name[i])
			continue
		}
		i++
		if i == len(name) {
			return "", false
		}
		switch name[i] {
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case '\\':
			b.WriteByte('\\')
		default:
			return "", false
		}
	}
	return b.String(), true
}
