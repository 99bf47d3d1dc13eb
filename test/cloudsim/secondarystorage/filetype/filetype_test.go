package filetype

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"strings"
	"testing"
)

func qcow2Header(version uint32, size uint64, l1 uint32) []byte {
	b := binary.BigEndian.AppendUint32([]byte("QFI\xfb"), version)
	b = append(b, make([]byte, 16)...)
	b = binary.BigEndian.AppendUint64(b, size)
	b = binary.BigEndian.AppendUint32(b, 0)
	return append(binary.BigEndian.AppendUint32(b, l1), make([]byte, 64)...)
}

func bootRecord(partition int) []byte {
	b := make([]byte, 512)
	if partition > 0 {
		p := b[446+16*(partition-1):]
		p[4], p[8], p[12] = 0x83, 1, 1
	}
	b[510], b[511] = 0x55, 0xaa
	return b
}

func gzipped(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}

// The descriptions are those of file 5.44 for the same bytes.
func TestDescribe(t *testing.T) {
	for _, test := range []struct {
		name, want string
		content    []byte
		inside     bool
	}{
		{name: "nothing", want: "empty"},
		{name: "one byte", content: []byte("a"), want: "very short file (no magic)"},
		{name: "zeros", content: make([]byte, 100), want: "data"},
		{name: "qcow2 with one table", content: qcow2Header(3, 1048576, 1), want: "QEMU QCOW Image (v3), 1048576 bytes, AES-encrypted (v3), 1048576 bytes"},
		{name: "qcow2 with two tables", content: qcow2Header(2, 1048576, 2), want: "QEMU QCOW Image (v2), 1048576 bytes (v2), 1048576 bytes"},
		{name: "qcow", content: qcow2Header(1, 1048576, 2), want: "QEMU QCOW Image (v1), 1048576 bytes"},
		{name: "no partition", content: bootRecord(0), want: "DOS/MBR boot sector"},
		{name: "second partition", content: bootRecord(2), want: "DOS/MBR boot sector; partition 2"},
		{name: "text", content: []byte("hello world\n"), want: "ASCII text"},
		{name: "text without an end", content: []byte("hello"), want: "ASCII text, with no line terminators"},
		{name: "text of DOS", content: []byte("a b\r\nc d\r\n"), want: "ASCII text, with CRLF line terminators"},
		{name: "long line", content: []byte(strings.Repeat("x", 400) + "\n"), want: "ASCII text, with very long lines (400)"},
		{name: "UTF-8", content: []byte("grüße\n"), want: "Unicode text, UTF-8 text"},
		{name: "Latin-1", content: []byte("gr\xfc\xdfe\n"), want: "ISO-8859 text"},
		{name: "page", content: []byte("<!DOCTYPE html>\n<html></html>\n"), want: "HTML document, ASCII text"},
		{name: "XML", content: []byte("<?xml version=\"1.0\"?><a/>\n"), want: "XML 1.0 document, ASCII text"},
		{name: "JSON", content: []byte("{\"error\":\"not found\",\"code\":404}"), want: "JSON text data"},
		{name: "table of two lines", content: []byte("a,b,c\n1,2,3\n"), want: "ASCII text"},
		{name: "table of three lines", content: []byte("a,b,c\n1,2,3\n4,5,6\n"), want: "CSV text"},
		{name: "gzip", content: gzipped([]byte("hello")), want: "gzip compressed data, original size modulo 2^32 5"},
		{name: "in gzip", content: gzipped([]byte("hello")), inside: true, want: "ASCII text, with no line terminators (gzip compressed data)"},
		{name: "cut gzip", content: gzipped(make([]byte, 1000))[:20], inside: true, want: "data (gzip compressed data)"},
		{name: "bad bzip2", content: []byte("BZh91AY&SY" + strings.Repeat("x", 300)), inside: true, want: "ERROR"},
		{name: "short zip", content: zipHeader(8), inside: true, want: "ERROR"},
		{name: "zip", content: zipHeader(0), want: "Zip archive data, at least v2.0 to extract, compression method=store"},
		{name: "zstd", content: []byte("\x28\xb5\x2f\xfd\x04\x58\x00\x00"), want: "Zstandard compressed data (v0.8+), Dictionary ID"},
		{name: "VMDK", content: []byte("KDMV\x01\x00\x00\x00"), want: "VMware4 disk image"},
		{name: "not seen inside", content: []byte("hello\n"), inside: true, want: "ASCII text"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Describe(bytes.NewReader(test.content), int64(len(test.content)), test.inside)
			if err != nil {
				t.Fatal(err)
			}
			if Short(got) != test.want {
				t.Errorf("got %q, want %q", Short(got), test.want)
			}
		})
	}
}

func zipHeader(method byte) []byte {
	b := make([]byte, 31)
	copy(b, "PK\x03\x04\x14\x00\x00\x00")
	b[8] = method
	b[26] = 1
	return append(b, "xx"...)
}

func FuzzDescribe(f *testing.F) {
	f.Add([]byte("QFI\xfb\x00\x00\x00\x03"), false)
	f.Add(gzipped([]byte("hello")), true)
	f.Add([]byte("BZh91AY&SY"), true)
	f.Add([]byte("PK\x03\x04"), true)
	f.Add(bootRecord(1), false)
	f.Fuzz(func(t *testing.T, b []byte, inside bool) {
		if _, err := Describe(bytes.NewReader(b), int64(len(b)), inside); err != nil {
			t.Error(err)
		}
	})
}
