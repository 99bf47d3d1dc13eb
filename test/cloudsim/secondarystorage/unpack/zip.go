package unpack

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// Unzip writes the content of every entry to w, one after the other, as "unzip -q -p FILE | cat" does. Whatever is wrong with
// the archive, the pipe succeeds with what came out: only a full w is an error.
func Unzip(w io.Writer, r io.ReaderAt, size int64) error {
	archive, err := zip.NewReader(r, size)
	if err != nil && archive == nil {
		return nil
	}
	for _, f := range archive.File {
		if f.Flags&1 != 0 {
			continue
		}
		entry, err := f.Open()
		if err != nil {
			continue
		}
		_, err = io.Copy(w, entry)
		_ = entry.Close()
		if errors.Is(err, ErrTooLarge) {
			return failed(err, "")
		}
	}
	return nil
}

const (
	zipLocalHeader = 30
	zipStored      = 0
	zipDeflated    = 8
)

// GunzipZip writes the first entry of r to w as "gzip -cdq" does, which looks at nothing but the local header. A second entry
// is reported even though the first came out whole.
func GunzipZip(w io.Writer, r io.Reader) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var h [zipLocalHeader]byte
	if _, err := io.ReadFull(br, h[:]); err != nil {
		return failed(io.ErrUnexpectedEOF, "")
	}
	method, flags := binary.LittleEndian.Uint16(h[8:]), binary.LittleEndian.Uint16(h[6:])
	switch {
	case method != zipStored && method != zipDeflated:
		return &Error{Text: "first entry not deflated or stored -- use unzip"}
	case flags&1 != 0:
		return &Error{Text: "encrypted file -- use unzip"}
	}
	names := int(binary.LittleEndian.Uint16(h[26:])) + int(binary.LittleEndian.Uint16(h[28:]))
	if _, err := br.Discard(names); err != nil {
		return failed(io.ErrUnexpectedEOF, "")
	}
	if err := zipEntry(w, br, h[:], flags&8 != 0); err != nil {
		return err
	}
	if next, _ := br.Peek(4); bytes.Equal(next, []byte("PK\x03\x04")) {
		return &Error{Text: "stdin has more than one entry--rest ignored"}
	}
	return nil
}

func zipEntry(w io.Writer, br *bufio.Reader, h []byte, descriptor bool) error {
	sum := crc32.NewIEEE()
	out := io.MultiWriter(w, sum)
	wantSum, wantLen := binary.LittleEndian.Uint32(h[14:]), binary.LittleEndian.Uint32(h[22:])
	var n int64
	var err error
	if binary.LittleEndian.Uint16(h[8:]) == zipDeflated {
		n, err = io.Copy(out, flate.NewReader(br))
	} else {
		n, err = io.CopyN(out, br, int64(wantLen))
	}
	if err != nil {
		return failed(err, "invalid compressed data--format violated")
	}
	if descriptor {
		var d [16]byte
		if _, err := io.ReadFull(br, d[:]); err != nil {
			return failed(io.ErrUnexpectedEOF, "")
		}
		wantSum, wantLen = binary.LittleEndian.Uint32(d[4:]), binary.LittleEndian.Uint32(d[12:])
	}
	return gzipTrailer(sum.Sum32(), n, wantSum, wantLen)
}
