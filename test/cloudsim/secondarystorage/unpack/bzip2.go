package unpack

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"io"
)

// Bunzip2 writes all streams of r to w as "bunzip2 -q" does: what follows the last stream is ignored, and every failure is
// without a word.
func Bunzip2(w io.Writer, r io.Reader) error {
	_, err := io.Copy(w, bzip2.NewReader(bufio.NewReaderSize(r, 64<<10)))
	switch {
	case err == nil, isAfterBzip2(err):
		return nil
	case errors.Is(err, ErrTooLarge):
		return failed(err, "")
	}
	return &Error{}
}

// FirstBzip2 writes the whole blocks of r to w. A stream that ends early is no error, a wrong block is one.
func FirstBzip2(w io.Writer, r io.Reader) error {
	n, err := io.Copy(w, bzip2.NewReader(bufio.NewReaderSize(r, 64<<10)))
	if isAfterBzip2(err) {
		return nil
	}
	return lenient(n, err)
}

// isAfterBzip2 tells that a complete stream was followed by something that is no stream.
func isAfterBzip2(err error) bool {
	return errors.Is(err, bzip2.StructuralError("bad magic value in continuation file"))
}
