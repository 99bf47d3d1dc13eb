package compression

import (
	"bytes"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// SniffLen is how many bytes Sniff looks at.
const SniffLen = 6

// Sniff names the compression by the first bytes of a file; None when they are of no compression that is undone here.
func Sniff(head []byte) artifact.Compression {
	switch {
	case len(head) >= 4 && bytes.HasPrefix(head, []byte("BZh")) && head[3] >= '1' && head[3] <= '9':
		return artifact.Bzip2
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return artifact.Gzip
	case bytes.HasPrefix(head, []byte(xzMagic)):
		return artifact.XZ
	case isZstd(head):
		return artifact.Zstd
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return artifact.Zip
	default:
		return artifact.None
	}
}

// isZstd takes a frame, or a skippable frame in front of one as parallel compressors write it.
func isZstd(head []byte) bool {
	return bytes.HasPrefix(head, []byte(zstdMagic)) ||
		len(head) >= 4 && head[0]&0xf0 == 0x50 && string(head[1:4]) == zstdSkippable
}
