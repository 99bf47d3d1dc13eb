package filetype

import (
	"errors"
	"io"
	"strings"
)

// window is how much of a file, packed or unpacked, is looked at.
const window = 7 << 20

// Describe returns the text of "file -b", or of "file -zb" when inside is true, for the size bytes of r. What it does not know
// it calls data. It fails only when r does.
func Describe(r io.ReaderAt, size int64, inside bool) (string, error) {
	head, err := readHead(r, size)
	if err != nil {
		return "", err
	}
	f := content{head: head, size: size, file: r}
	if !inside {
		return f.describe(), nil
	}
	if in, packed := expand(head); packed {
		// Seen through the packing the end of the file is out of sight.
		outer := content{head: head, size: size}
		return in + " (" + outer.describe() + ")", nil
	}
	return f.describe(), nil
}

// Short cuts a description at its first colon, as "cut -d: -f2" does with the line of file(1).
func Short(description string) string {
	short, _, _ := strings.Cut(description, ":")
	return strings.TrimSpace(short)
}

func readHead(r io.ReaderAt, size int64) ([]byte, error) {
	head := make([]byte, min(size, window))
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head[:n], nil
}

// content is what is being described. file is nil when only head can be seen.
type content struct {
	head []byte
	size int64
	file io.ReaderAt
}

// tests are asked in this order; the first that knows the content names it. This is the order of strength that file(1) has for
// content that fits several of them.
var tests = [...]func(content) string{
	tarArchive, isoImage, qcow, vhd, vhdx, vmdk, packing, extFilesystem, bootSector, knownMagic, text,
}

func (c content) describe() string {
	switch {
	case len(c.head) == 0:
		return "empty"
	case len(c.head) == 1:
		return "very short file (no magic)"
	}
	for _, test := range tests {
		if d := test(c); d != "" {
			return d
		}
	}
	return "data"
}

// at returns n bytes at an offset, and false when the content ends before.
func (c content) at(offset, n int) ([]byte, bool) {
	if offset < 0 || offset+n > len(c.head) {
		return nil, false
	}
	return c.head[offset : offset+n], true
}

func (c content) has(offset int, magic string) bool {
	b, ok := c.at(offset, len(magic))
	return ok && string(b) == magic
}

// cString returns the text that begins at offset and ends at a zero byte, at the end of the content or after 128 bytes.
func (c content) cString(offset int64) string {
	if offset < 0 || offset >= int64(len(c.head)) {
		return ""
	}
	b := c.head[offset:min(offset+127, int64(len(c.head)))]
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}
