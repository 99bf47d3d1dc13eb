package checksum

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// MaxBytes is how much of a checksum file is read.
const MaxBytes = 1 << 20

// ParseSideFile finds the digest of fileName in a checksum file: lines as sha256sum writes them (text, binary and escaped
// names), BSD and OpenSSL lines, lists of any of these, and a digest alone. alg narrows the search; "" takes the strongest
// algorithm that has an entry. A name matches when it is fileName, or when its last path element is and no other entry
// matches better. A list signed with PGP is read; its signature is not verified.
//
// Errors are *artifact.Error: NotAChecksumFile when no line holds a digest (of alg), NoEntry when none is for fileName, and
// NotAChecksumFile again when entries for it contradict each other. The strength of the algorithm is not
// judged here: see CheckStrength.
func ParseSideFile(r io.Reader, fileName string, alg artifact.Algorithm) (artifact.Digest, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return artifact.Digest{}, fmt.Errorf("reading the checksum file: %w", err)
	}
	if len(data) > MaxBytes {
		return artifact.Digest{}, artifact.NewError(artifact.NotAChecksumFile, fmt.Sprintf("the checksum file has more than %d bytes", MaxBytes))
	}
	if err := checkText(data); err != nil {
		return artifact.Digest{}, err
	}
	entries := parseLines(string(data))
	if alg != "" {
		entries = slices.DeleteFunc(entries, func(e entry) bool { return e.digest.Algorithm != alg })
	}
	if len(entries) == 0 {
		return artifact.Digest{}, artifact.NewError(artifact.NotAChecksumFile, "the checksum file holds no "+orAny(alg)+" digest")
	}
	return choose(entries, path.Base(strings.ReplaceAll(fileName, `\`, "/")))
}

// CheckStrength refuses MD5 and SHA-1 unless they are allowed.
func CheckStrength(d artifact.Digest, allowWeak bool) error {
	if d.Algorithm.Weak() && !allowWeak {
		return artifact.NewError(artifact.WeakAlgorithm, fmt.Sprintf("%s proves nothing against an attacker; allow weak checksums to accept it", d.Algorithm))
	}
	return nil
}

func orAny(alg artifact.Algorithm) string {
	if alg == "" {
		return "usable"
	}
	return string(alg)
}

// checkText refuses pages and binary files.
func checkText(data []byte) error {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if kind == "text/html" || kind == "text/xml" {
		return artifact.NewError(artifact.NotAChecksumFile, "the checksum file is an HTML or XML page")
	}
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return artifact.NewError(artifact.NotAChecksumFile, "the checksum file is not text")
	}
	return nil
}

// choose picks the entry of the wanted name: exact names first, then names that end in it, then digests without a name.
func choose(entries []entry, wanted string) (artifact.Digest, error) {
	exact := func(e entry) bool { return e.name == wanted }
	last := func(e entry) bool { return e.name != "" && baseName(e.name) == wanted }
	bare := func(e entry) bool { return e.name == "" }
	for _, fits := range []func(entry) bool{exact, last, bare} {
		var found []entry
		for _, e := range entries {
			if fits(e) {
				found = append(found, e)
			}
		}
		if len(found) > 0 {
			return strongest(found, wanted)
		}
	}
	return artifact.Digest{}, artifact.NewError(artifact.NoEntry,
		fmt.Sprintf("the checksum file has %d entries, none for %.200q; the first is for %.200q", len(entries), wanted, entries[0].name))
}

func baseName(name string) string { return path.Base(strings.ReplaceAll(name, `\`, "/")) }

// strongest takes the digest of the strongest algorithm; two different ones of it contradict each other.
func strongest(found []entry, wanted string) (artifact.Digest, error) {
	order := artifact.Algorithms()
	best := found[0].digest
	for _, e := range found[1:] {
		if slices.Index(order, e.digest.Algorithm) > slices.Index(order, best.Algorithm) {
			best = e.digest
		}
	}
	for _, e := range found {
		if e.digest.Algorithm == best.Algorithm && e.digest != best {
			return artifact.Digest{}, artifact.NewError(artifact.NotAChecksumFile,
				fmt.Sprintf("the checksum file has several different %s digests for %.200q", best.Algorithm, wanted))
		}
	}
	return best, nil
}
