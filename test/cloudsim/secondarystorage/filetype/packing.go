package filetype

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// packing names a compressed file from its header.
func packing(c content) string {
	switch {
	case c.has(0, "\x1f\x8b") && len(c.head) > 3:
		return gzipData(c)
	case c.has(0, "BZh"):
		return bzip2Data(c)
	case c.has(0, "\xfd7zXZ\x00"):
		return xzData(c)
	case c.has(0, "\x28\xb5\x2f\xfd"):
		return zstdData(c)
	case c.has(0, "PK\x03\x04") && len(c.head) >= 30:
		return zipData(c)
	case c.has(0, "PK\x05\x06"):
		return "Zip archive data (empty)"
	}
	return ""
}

var gzipSystems = map[byte]string{
	0: "FAT filesystem (MS-DOS, OS/2, NT)", 1: "Amiga", 2: "VMS", 3: "Unix", 4: "VM/CMS", 5: "Atari",
	6: "HPFS filesystem (OS/2, NT)", 7: "MacOS", 8: "Z-System", 9: "CP/M", 10: "TOPS/20", 11: "NTFS filesystem (NT)",
	12: "QDOS", 13: "Acorn RISCOS",
}

func gzipData(c content) string {
	h := make([]byte, 10)
	copy(h, c.head)
	var d strings.Builder
	d.WriteString("gzip compressed data")
	switch {
	case h[2] < 8:
		d.WriteString(", reserved method")
	case h[2] > 8:
		d.WriteString(", unknown method")
	}
	for _, flag := range []struct {
		bit  byte
		text string
	}{{1, ", ASCII"}, {2, ", has CRC"}, {4, ", extra field"}} {
		if h[3]&flag.bit != 0 {
			d.WriteString(flag.text)
		}
	}
	if h[3]&0x0c == 0x08 {
		fmt.Fprintf(&d, ", was %q", c.cString(10))
	}
	if h[3]&16 != 0 {
		d.WriteString(", has comment")
	}
	if h[3]&32 != 0 {
		d.WriteString(", encrypted")
	}
	if t := binary.LittleEndian.Uint32(h[4:]); t != 0 {
		d.WriteString(", last modified: " + date(int64(t)))
	}
	switch h[8] {
	case 2:
		d.WriteString(", max compression")
	case 4:
		d.WriteString(", max speed")
	}
	if system, ok := gzipSystems[h[9]]; ok {
		d.WriteString(", from " + system)
	}
	return d.String() + gzipSize(c)
}

// gzipSize is the length that the last bytes of the file give, when they can be seen.
func gzipSize(c content) string {
	if c.file == nil || c.size < 4 {
		return ""
	}
	var tail [4]byte
	if _, err := c.file.ReadAt(tail[:], c.size-4); err != nil {
		return ""
	}
	return fmt.Sprintf(", original size modulo 2^32 %d", binary.LittleEndian.Uint32(tail[:]))
}

func bzip2Data(c content) string {
	if len(c.head) > 3 && c.head[3] >= '0' && c.head[3] <= '9' {
		return fmt.Sprintf("bzip2 compressed data, block size = %c00k", c.head[3])
	}
	return "bzip2 compressed data"
}

func xzData(c content) string {
	checks := map[byte]string{0: "NONE", 1: "CRC32", 4: "CRC64", 10: "SHA-256"}
	if b, ok := c.at(7, 1); ok && checks[b[0]&0x0f] != "" {
		return "XZ compressed data, checksum " + checks[b[0]&0x0f]
	}
	return "XZ compressed data"
}

func zstdData(c content) string {
	const unknown = "Zstandard compressed data (v0.8+), Dictionary ID: None"
	flags, ok := c.at(4, 1)
	if !ok || flags[0]&3 == 0 {
		return unknown
	}
	offset, n := 6, 1<<(flags[0]&3-1)
	if flags[0]&0x20 != 0 {
		offset = 5
	}
	id, ok := c.at(offset, n)
	if !ok {
		return unknown
	}
	var wide [4]byte
	copy(wide[:], id)
	return fmt.Sprintf("Zstandard compressed data (v0.8+), Dictionary ID: %d", binary.LittleEndian.Uint32(wide[:]))
}

var zipMethods = map[uint16]string{
	0: "store", 1: "Shrinking", 6: "Imploding", 8: "deflate", 9: "deflate64", 12: "bzip2", 14: "lzma", 93: "Zstd", 95: "xz",
	98: "PPMd", 99: "AES Encrypted",
}

func zipData(c content) string {
	version, method := binary.LittleEndian.Uint16(c.head[4:]), binary.LittleEndian.Uint16(c.head[8:])
	name := zipMethods[method]
	if name == "" {
		name = fmt.Sprintf("[%#x]", method)
	}
	return fmt.Sprintf("Zip archive data, at least v%d.%d to extract, compression method=%s", version/10, version%10, name)
}

// date writes seconds since 1970 as C's ctime does.
func date(seconds int64) string {
	return time.Unix(seconds, 0).UTC().Format(time.ANSIC)
}
