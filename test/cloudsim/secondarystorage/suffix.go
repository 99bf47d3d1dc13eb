package secondarystorage

import (
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage/filetype"
)

// packings are the suffixes that are looked into.
var packings = []string{".zip", ".bz2", ".gz", ".xz"}

// contents tells which words of file(1) fit which suffixes. One word and one suffix of a row are enough.
var contents = []struct{ words, suffixes []string }{
	{[]string{"VMware", "data"}, []string{"vmdk"}},
	{[]string{"x86 boot", "DOS/MBR boot sector", "data"}, []string{"raw", "img"}},
	{[]string{"QEMU QCOW"}, []string{"qcow2", "img"}},
	{[]string{"Microsoft Disk Image"}, []string{"vhd", "vhdx"}},
	{[]string{"POSIX tar"}, []string{"ova", "tar"}},
	{[]string{"ISO 9660"}, []string{"iso"}},
}

// mismatch returns the description of a content that does not fit the suffix of name, and nothing when it fits.
func mismatch(r io.ReaderAt, size int64, name string) (string, error) {
	name = strings.ToLower(name)
	found, err := filetype.Describe(r, size, slices.ContainsFunc(packings, func(p string) bool { return strings.HasSuffix(name, p) }))
	if err != nil {
		return "", err
	}
	short := filetype.Short(found)
	for _, c := range contents {
		if slices.ContainsFunc(c.words, func(w string) bool { return strings.Contains(short, w) }) &&
			slices.ContainsFunc(c.suffixes, func(s string) bool { return hasSuffix(name, s) }) {
			return "", nil
		}
	}
	return found, nil
}

// hasSuffix tells whether name ends in suffix, possibly packed.
func hasSuffix(name, suffix string) bool {
	return strings.HasSuffix(name, suffix) ||
		slices.ContainsFunc(packings, func(p string) bool { return strings.HasSuffix(name, suffix+p) })
}

// decoded is a path without its escapes.
func decoded(path string) string {
	if p, err := url.PathUnescape(path); err == nil {
		return p
	}
	return path
}
