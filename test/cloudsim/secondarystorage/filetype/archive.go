package filetype

import "strings"

const tarBlock = 512

// tarArchive knows a tar by the sum in its first header; the older kind has no magic beside it.
func tarArchive(c content) string {
	h, ok := c.at(0, tarBlock)
	if !ok {
		return ""
	}
	want, ok := octal(h[148:156])
	if !ok || want != tarSum(h) {
		return ""
	}
	switch {
	case strings.HasPrefix(string(h[257:]), "ustar  \x00"):
		return "POSIX tar archive (GNU)"
	case strings.HasPrefix(string(h[257:]), "ustar\x00"):
		return "POSIX tar archive"
	}
	return "tar archive"
}

func tarSum(h []byte) int64 {
	sum := int64(8 * ' ')
	for i, b := range h {
		if i < 148 || i >= 156 {
			sum += int64(b)
		}
	}
	return sum
}

// octal reads blanks, then octal digits, then anything that ends a number in a tar header.
func octal(field []byte) (int64, bool) {
	s := strings.TrimLeft(string(field), " ")
	if s == "" {
		return 0, false
	}
	n := int64(0)
	for _, b := range []byte(s) {
		if b < '0' || b > '7' {
			return n, b == ' ' || b == 0
		}
		n = n*8 + int64(b-'0')
	}
	return n, true
}

// magics are other contents that turn up under the name of an image.
var magics = [...]struct {
	offset      int
	magic, text string
}{
	{0, "\x7fELF\x02\x01", "ELF 64-bit LSB"},
	{0, "\x89PNG\r\n\x1a\n", "PNG image data"},
	{0, "%PDF-1.", "PDF document, version 1.4"},
	{0, "LUKS\xba\xbe\x00\x01", "LUKS encrypted file, ver 1"},
	{0, "LUKS\xba\xbe\x00\x02", "LUKS encrypted file, ver 2"},
	{0, "hsqs", "Squashfs filesystem, little endian"},
	{0, "7z\xbc\xaf\x27\x1c", "7-zip archive data, version 0.4"},
	{0, "Rar!\x1a\x07", "RAR archive data"},
	{0, "\x1f\x9d", "compress'd data 16 bits"},
	{0, "LZIP\x01", "lzip compressed data, version"},
	{0, "\x04\x22\x4d\x18", "LZ4 compressed data (v1.4+)"},
	{0, "\x89LZO\x00\r\n\x1a\n", "lzop compressed data"},
	{0, "070701", "ASCII cpio archive (SVR4 with no CRC)"},
	{0, "XFSB", "SGI XFS filesystem data"},
	{0, "QED\x00", "QEMU QED Image"},
	{0x40, "\x7f\x10\xda\xbe", "VirtualBox Disk Image"},
	{4086, "SWAPSPACE2", "Linux swap file, 4k page size"},
	{0x10040, "_BHRfS_M", "BTRFS Filesystem"},
	{257, "ustar\x00", "POSIX tar archive"},
}

func knownMagic(c content) string {
	for _, m := range magics {
		if c.has(m.offset, m.magic) {
			return m.text
		}
	}
	return ""
}
