package inspect

import (
	"strings"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	manifestMaxSize  = 1 << 20
	manifestMaxLines = 10_000
)

// manifestLine is one digest of the manifest.
type manifestLine struct {
	name   string
	digest artifact.Digest
	// spelt is the algorithm as written, blanks included.
	spelt string
}

// parseManifestLine reads `SHA256(name)= hex` with blanks anywhere but in the name; false when it is something else.
func parseManifestLine(line string) (manifestLine, bool) {
	spelt, rest, opened := strings.Cut(line, "(")
	end := strings.LastIndex(rest, ")")
	if !opened || end < 0 {
		return manifestLine{}, false
	}
	hexDigits, found := strings.CutPrefix(strings.TrimSpace(rest[end+1:]), "=")
	algorithm, err := artifact.ParseAlgorithm(spelt)
	if !found || err != nil {
		return manifestLine{}, false
	}
	digest, err := artifact.NewDigest(algorithm, hexDigits)
	return manifestLine{name: rest[:end], digest: digest, spelt: spelt}, err == nil
}

// manifest verifies the digests of the members and that the manifest names what matters.
func (o *ova) manifest() error {
	m, ok := o.bySuffix(".mf")
	if !ok {
		return nil
	}
	if m.size > manifestMaxSize {
		o.report.reject(artifact.ManifestMismatch, "the manifest is %d bytes long; %d are the most", m.size, manifestMaxSize)
		return nil
	}
	text, err := o.in.at(m.at, int(m.size))
	if err != nil {
		return err
	}
	lines := o.manifestLines(strings.TrimPrefix(string(text), "\xef\xbb\xbf"))
	sums := map[string]string{}
	listed := map[string]bool{}
	for _, l := range lines {
		member, found := o.byName(l.name)
		if !found {
			o.report.reject(artifact.ManifestMismatch, "the manifest names %.80q, which is not in the archive", l.name)
			continue
		}
		listed[member.name] = true
		if err := o.compare(member, l, sums); err != nil {
			return err
		}
	}
	for _, m := range o.members {
		if o.needsDigest(m) && !listed[m.name] {
			o.report.reject(artifact.ManifestMismatch, "the manifest does not list %.80q", m.name)
		}
	}
	return nil
}

// needsDigest says whether the manifest has to list a member: everything the descriptor refers to.
func (o *ova) needsDigest(m tarMember) bool { return o.referenced[m.name] }

// manifestLines reads all lines and judges how they are written.
func (o *ova) manifestLines(text string) []manifestLine {
	var out []manifestLine
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		l, ok := parseManifestLine(line)
		if !ok || len(out) >= manifestMaxLines {
			o.report.reject(artifact.ManifestMismatch, "the manifest has a line that is no digest: %.80q", line)
			return out
		}
		if l.digest.Algorithm.Weak() {
			o.report.warn(artifact.WeakManifestDigest, "the manifest uses %s, which some products refuse and which proves little", strings.ToUpper(string(l.digest.Algorithm)))
		}
		if l.spelt != strings.ToUpper(string(l.digest.Algorithm)) {
			o.report.warn(artifact.UnusualDigestName, "the manifest writes the algorithm as %.20q, which some products refuse", l.spelt)
		}
		out = append(out, l)
	}
	return out
}

// compare hashes a member, once for each algorithm, and compares.
func (o *ova) compare(m tarMember, l manifestLine, sums map[string]string) error {
	key := string(l.digest.Algorithm) + " " + m.name
	if _, done := sums[key]; !done {
		h := l.digest.Algorithm.New()
		part := o.in.part(m.at, m.size)
		if err := part.table(0, m.size, func(piece []byte) bool {
			_, err := h.Write(piece)
			return err == nil
		}); err != nil {
			return err
		}
		sums[key] = artifact.DigestOf(l.digest.Algorithm, h).Hex
	}
	if have := sums[key]; have != l.digest.Hex {
		o.report.reject(artifact.ManifestMismatch, "member %.80q has the %s %s, the manifest says %s", m.name, l.digest.Algorithm, have, l.digest.Hex)
	}
	return nil
}
