package inspect

import (
	"bytes"
	"path"
	"strings"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// name puts together the name of a member.
func (t *tarWalk) name(h []byte) string {
	cut := func(p []byte) string {
		text, _, _ := bytes.Cut(p, []byte{0})
		return string(text)
	}
	switch {
	case t.paxPath != "":
		return t.paxPath
	case t.longName != "":
		return t.longName
	}
	name := cut(h[:100])
	// Only the POSIX form has a prefix there; GNU keeps times in its place.
	if string(h[ustarAt:ustarAt+8]) == "ustar\x0000" {
		if prefix := cut(h[345:500]); prefix != "" {
			name = prefix + "/" + name
		}
	}
	return name
}

// judgeType says whether a member is a regular file, and whether data follows its header.
func (t *tarWalk) judgeType(kind byte, name string) (regular, data bool) {
	switch kind {
	case '0', 0, '7':
		return true, true
	case '1', '2':
		t.report.reject(artifact.LinkEntry, "member %.80q is a link", name)
		return false, false
	case '3', '4', '6':
		t.report.reject(artifact.SpecialEntry, "member %.80q is a device or pipe", name)
		return false, false
	case '5':
		return false, false
	case 'S':
		t.report.reject(artifact.SparseEntry, "member %.80q is stored sparse", name)
		return false, true
	default:
		t.report.reject(artifact.SpecialEntry, "member %.80q is of the unknown type %q", name, kind)
		return false, true
	}
}

// judgeName checks where a member would be unpacked, and gives its clean name.
func (t *tarWalk) judgeName(name string, directory bool) string {
	slashed := strings.ReplaceAll(name, `\`, "/")
	clean := path.Clean(slashed)
	depth := strings.Count(clean, "/")
	if directory {
		depth++
	}
	switch {
	case name == "":
		t.report.reject(artifact.BadArchive, "a member has no name")
	case escapes(slashed):
		t.report.reject(artifact.PathTraversal, "member %.80q leaves the directory", name)
	case depth > 1:
		t.report.reject(artifact.SubdirectoryEntry, "member %.80q lies more than one directory deep", name)
	case t.names[clean] && !(directory && clean == "."):
		t.report.reject(artifact.DuplicateEntry, "two members are named %.80q", name)
	}
	t.names[clean] = true
	return clean
}

// escapes says whether a name with slashes points out of the directory.
func escapes(slashed string) bool {
	drive := len(slashed) > 1 && slashed[1] == ':'
	if strings.HasPrefix(slashed, "/") || drive || strings.ContainsRune(slashed, 0) {
		return true
	}
	for element := range strings.SplitSeq(slashed, "/") {
		if element == ".." {
			return true
		}
	}
	return false
}

func (m tarMember) suffix() string { return strings.ToLower(path.Ext(m.name)) }
