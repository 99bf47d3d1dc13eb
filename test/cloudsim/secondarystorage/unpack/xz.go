package unpack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/ulikunitz/xz"
)

// Unxz writes all streams of r to w as "xz -d" does.
func Unxz(w io.Writer, r io.Reader) error {
	xr, err := xz.NewReader(bufio.NewReaderSize(r, 64<<10))
	if err == nil {
		_, err = io.Copy(w, xr)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrTooLarge):
		return &Error{Text: "Write error: File too large"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Text: "Unexpected end of input"}
	}
	return &Error{Text: "Compressed data is corrupt"}
}

// FirstXZ writes the first stream of r, which is held in memory, to w. A stream that ends early is no error.
func FirstXZ(w io.Writer, r io.Reader) error {
	head, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("reading a stream: %w", err)
	}
	xr, err := xz.ReaderConfig{SingleStream: true}.NewReader(bytes.NewReader(firstStream(head)))
	if err != nil {
		return lenient(0, err)
	}
	return lenient(io.Copy(w, xr))
}

// firstStream cuts b after the first footer of a stream. A footer ends with a magic at a multiple of four and begins with the
// checksum of what lies between.
func firstStream(b []byte) []byte {
	const footer = 12
	for end := footer; end <= len(b); end += 4 {
		f := b[end-footer : end]
		if f[10] == 'Y' && f[11] == 'Z' && binary.LittleEndian.Uint32(f) == crc32.ChecksumIEEE(f[4:10]) {
			return b[:end]
		}
	}
	return b
}
