package bzip2

import (
	"errors"
	"io"
)

const (
	readSize = 128 << 10
	// maxCompressed is how many bytes one block can take in the input: 900 000 symbols of 20 bits, and the tables before them.
	maxCompressed = 2_500_000
)

// window is the part of the input that was read and is still needed. Positions are those in the whole input.
type window struct {
	source io.Reader
	buf    []byte
	base   int64 // position of buf[0]
	err    error // what the source said last; io.EOF at its end
}

// end is the position after the last byte read.
func (w *window) end() int64 { return w.base + int64(len(w.buf)) }

// from returns the bytes from a position on.
func (w *window) from(pos int64) []byte { return w.buf[pos-w.base:] }

// fill reads from the source until there are n bytes from pos on, or the source has no more. It reports whether there are.
func (w *window) fill(pos int64, n int) bool {
	for w.end() < pos+int64(n) {
		if !w.more(pos) {
			return false
		}
	}
	return true
}

// more reads once from the source and forgets what is before keep. It reports whether bytes were read.
func (w *window) more(keep int64) bool {
	if w.err != nil {
		return false
	}
	w.makeRoom(keep)
	for range 100 {
		n, err := w.source.Read(w.buf[len(w.buf):min(cap(w.buf), len(w.buf)+readSize)])
		w.buf = w.buf[:len(w.buf)+n]
		w.err = err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	w.err = io.ErrNoProgress
	return false
}

// makeRoom drops what is before keep once that is half of the buffer, and otherwise lets the buffer grow.
func (w *window) makeRoom(keep int64) {
	if cap(w.buf)-len(w.buf) >= readSize {
		return
	}
	rest := w.from(keep)
	if len(rest) <= cap(w.buf)/2-readSize {
		w.buf = w.buf[:copy(w.buf, rest)]
	} else {
		w.buf = append(make([]byte, 0, max(2*cap(w.buf), 4*readSize)), rest...)
	}
	w.base = keep
}

// failure is what to return when there should be more input: the error of the source, or ErrTruncated at its end.
func (w *window) failure() error {
	if w.err != nil && !errors.Is(w.err, io.EOF) {
		return w.err
	}
	return ErrTruncated
}
