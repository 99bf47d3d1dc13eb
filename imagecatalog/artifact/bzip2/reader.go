package bzip2

import (
	"errors"
	"io"
	"runtime"
	"sync/atomic"
)

const (
	defaultWorkers = 4
	maxWorkers     = 16
	copySize       = 64 << 10
)

// Options for a Reader.
type Options struct {
	// Workers is how many blocks are decoded at a time, 16 at most. 0 means as many as there are processors for the program, 4 at
	// most. Two workers and what they need take about 30 MB, each further one about 11 MB, whatever the size of the data.
	Workers int
}

// Reader decompresses bzip2 streams. It reads from its source only within calls of Read and WriteTo, so a source that hangs
// hangs those and nothing else. It is not safe for concurrent use, except that Close may be called at any time.
type Reader struct {
	blocks blocks
	whole  *sequential // decodes small input instead
	opened bool
	err    error
	closed atomic.Bool
}

// NewReader returns a Reader of the bzip2 streams, one or several, in r. Close must be called when a caller stops before
// an error or io.EOF; it never closes r.
func NewReader(r io.Reader, o Options) *Reader {
	workers := o.Workers
	if workers <= 0 {
		workers = min(runtime.GOMAXPROCS(0), defaultWorkers)
	}
	z := new(Reader)
	z.blocks.init(r, min(workers, maxWorkers))
	return z
}

// Read delivers decompressed bytes. At the end of all streams it returns io.EOF; an error of the source is returned as it is; others
// are an ErrTruncated, ErrCorrupt, ErrTrailing or ErrClosed. Errors last. Bytes delivered before an error may be those of the block
// that turned out to be corrupt.
func (z *Reader) Read(p []byte) (int, error) {
	if z.err == nil && z.closed.Load() {
		z.err = ErrClosed
	}
	if z.err != nil || len(p) == 0 {
		return 0, z.err
	}
	n, err := z.read(p)
	if err != nil {
		z.err = err
		z.blocks.ahead.crew.close()
	}
	if n > 0 {
		return n, nil
	}
	return 0, z.err
}

func (z *Reader) read(p []byte) (int, error) {
	if !z.opened {
		z.opened = true
		z.whole = openSmall(&z.blocks.in)
	}
	if z.whole != nil {
		return z.whole.Read(p)
	}
	return z.blocks.Read(p)
}

// WriteTo writes all that is left to w.
func (z *Reader) WriteTo(w io.Writer) (int64, error) {
	total := int64(0)
	for buf := make([]byte, copySize); ; {
		n, err := z.Read(buf)
		if n > 0 {
			m, err := w.Write(buf[:n])
			total += int64(m)
			if err != nil {
				return total, err
			}
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// Close stops the workers and waits until they are gone. It may be called at any time, and more than once.
func (z *Reader) Close() error {
	z.closed.Store(true)
	z.blocks.ahead.crew.close()
	return nil
}
