package inspect

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// kind is what the first and last bytes say. With an empty format it is a known thing that is no image we take, a text
// page, or unknown.
type kind struct {
	format  artifact.Format
	name    string
	text    bool
	unknown bool
	// head is the start of the content.
	head []byte
}

const (
	sectorSize  = 512
	sniffLen    = 4096
	isoMagicAt  = 32769
	isoMagic    = "CD001"
	vhdCookie   = "conectix"
	qcowMagic   = "QFI\xfb"
	vmdkMagic   = "KDMV"
	ustarAt     = 257
	ustarMagic  = "ustar"
	descriptor  = "# Disk DescriptorFile"
	foreignTail = "no image format that we take"
)

// sniff names the content. Magic numbers of image formats come first, then text, then archives, then what a raw disk
// looks like: a raw disk has no magic of its own.
func sniff(c *content) (kind, error) {
	head, err := c.at(0, sniffLen)
	if err != nil {
		return kind{}, err
	}
	k := byMagic(head)
	if k.name == "" {
		k, err = byPlace(c, head)
	}
	k.head = head
	return k, err
}

// byMagic knows what starts with its magic.
func byMagic(head []byte) kind {
	starts := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	case starts(qcowMagic):
		return kind{format: artifact.QCOW2, name: "a QCOW2 image"}
	case starts(vhdCookie):
		return kind{format: artifact.VHD, name: "a VHD image"}
	case starts(vmdkMagic), starts("COWD"), isDescriptor(head):
		return kind{format: artifact.VMDK, name: "a VMDK image"}
	case len(head) >= ustarAt+5 && string(head[ustarAt:ustarAt+5]) == ustarMagic, isOldTar(head):
		return kind{format: artifact.OVA, name: "a tar archive"}
	}
	for _, f := range foreignMagics() {
		if starts(f.magic) {
			return kind{name: f.name}
		}
	}
	if len(head) > 0x44 && binary.LittleEndian.Uint32(head[0x40:]) == 0xbeda107f {
		return kind{name: "a VDI image"}
	}
	if name := textName(head); name != "" {
		return kind{text: true, name: name}
	}
	return kind{}
}

type foreign struct{ magic, name string }

func foreignMagics() []foreign {
	return []foreign{
		{"vhdxfile", "a VHDX image"}, {"QED\x00", "a QED image"},
		{"WithoutFreeSpace", "a Parallels image"}, {"WithouFreSpacExt", "a Parallels image"},
		{"LUKS\xba\xbe", "a LUKS container"}, {"MSWIM\x00", "a WIM archive"},
		{"\x1f\x8b\x08", "gzip data"}, {"BZh", "bzip2 data"}, {"\xfd7zXZ\x00", "xz data"},
		{"\x28\xb5\x2f\xfd", "zstd data"}, {"\x04\x22\x4d\x18", "lz4 data"}, {"LZIP\x01", "lzip data"},
		{"\x1f\x9d", "compress data"}, {"\x89LZO\x00", "lzop data"}, {"\x5d\x00\x00\x80\x00", "lzma data"},
		{"PK\x03\x04", "a zip archive"}, {"PK\x05\x06", "an empty zip archive"},
		{"7z\xbc\xaf\x27\x1c", "a 7z archive"}, {"Rar!\x1a\x07", "a rar archive"}, {"!<arch>\n", "an ar archive"},
		{"070701", "a cpio archive"}, {"070702", "a cpio archive"}, {"070707", "a cpio archive"},
		{"\x7fELF", "an ELF program"}, {"%PDF-", "a PDF document"}, {"hsqs", "a squashfs archive"},
		{"\xed\xab\xee\xdb", "an RPM package"}, {"MSCF\x00", "a cabinet archive"},
	}
}

// isDescriptor finds the text of a VMDK descriptor.
func isDescriptor(head []byte) bool {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(text) >= len(descriptor) && strings.EqualFold(string(text[:len(descriptor)]), descriptor)
}

// isOldTar finds a tar header without the ustar magic by its checksum.
func isOldTar(head []byte) bool {
	if len(head) < sectorSize || head[0] == 0 {
		return false
	}
	sum, ok := octal(head[148:156])
	unsigned, signed := tarSums(head[:sectorSize])
	_, sized := tarNumber(head[124:136])
	return ok && sized && (sum == unsigned || int64(sum) == signed)
}

// textName describes a text page, "" when the bytes are none.
func textName(head []byte) string {
	p := head[:min(len(head), sectorSize)]
	if bytes.HasPrefix(p, []byte("\xff\xfe")) || bytes.HasPrefix(p, []byte("\xfe\xff")) {
		p = bytes.ReplaceAll(p[2:], []byte{0}, nil)
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(p, []byte("\xef\xbb\xbf")), " \t\r\n\f")
	lower := strings.ToLower(string(text[:min(len(text), 256)]))
	switch {
	case strings.HasPrefix(lower, "<!doctype html"), strings.HasPrefix(lower, "<html"), strings.HasPrefix(lower, "<head"), strings.HasPrefix(lower, "<body"):
		return "HTML"
	case strings.HasPrefix(lower, "<?xml"):
		return "XML"
	case !isText(p):
		return ""
	case strings.HasPrefix(lower, "<"):
		return "HTML or XML"
	case strings.HasPrefix(lower, "{"), strings.HasPrefix(lower, "["):
		return "JSON"
	default:
		return "plain text"
	}
}

// isText says whether everything is printable; a character that the end cuts is no reason against.
func isText(p []byte) bool {
	if len(p) == 0 {
		return false
	}
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		switch {
		case r == utf8.RuneError && n == 1 && len(p) >= utf8.UTFMax:
			return false
		case r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != 0x1b, r == 0x7f:
			return false
		}
		p = p[n:]
	}
	return true
}

// byPlace knows what shows itself elsewhere than in the first bytes.
func byPlace(c *content, head []byte) (kind, error) {
	tail, err := c.at(max(0, c.size-sectorSize), sectorSize)
	if err != nil {
		return kind{}, err
	}
	if len(tail) == sectorSize && bytes.HasPrefix(tail, []byte(vhdCookie)) {
		return kind{format: artifact.VHD, name: "a fixed VHD image"}, nil
	}
	if bytes.HasPrefix(tail, []byte("koly")) && len(tail) == sectorSize {
		return kind{name: "an Apple disk image"}, nil
	}
	iso, err := c.at(isoMagicAt, len(isoMagic))
	if err != nil {
		return kind{}, err
	}
	if string(iso) == isoMagic {
		return kind{name: "an ISO 9660 image"}, nil
	}
	name, err := diskName(c, head)
	if name == "" {
		return kind{unknown: true, name: foreignTail}, err
	}
	return kind{format: artifact.RAW, name: "a raw disk: " + name}, err
}
