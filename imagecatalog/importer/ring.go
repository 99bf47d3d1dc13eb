package importer

import (
	"errors"
	"io"
)

const (
	chunkBytes = 256 << 10
	ringChunks = 8
)

var errAborted = errors.New("the transfer was begun again")

// ring passes bytes from one goroutine to another through a few fixed buffers, so that neither waits for the other at
// every small write and memory stays bounded.
type ring struct {
	full chan []byte
	free chan []byte
	// gone is closed by the reader when it will not read any more.
	gone chan struct{}

	filling []byte // the writer's
	reading []byte // the reader's
	rest    []byte
	aborted chan struct{}
}

func newRing() *ring {
	r := &ring{
		full: make(chan []byte, ringChunks), free: make(chan []byte, ringChunks+2),
		gone: make(chan struct{}), aborted: make(chan struct{}),
	}
	for range ringChunks + 2 {
		r.free <- nil // made when first needed
	}
	return r
}

// put copies p in; false when the reader is gone.
func (r *ring) put(p []byte) bool {
	for len(p) > 0 {
		if r.filling == nil && !r.take() {
			return false
		}
		n := copy(r.filling[len(r.filling):cap(r.filling)], p)
		r.filling = r.filling[:len(r.filling)+n]
		p = p[n:]
		if len(r.filling) == cap(r.filling) && !r.flush() {
			return false
		}
	}
	return true
}

func (r *ring) take() bool {
	select {
	case b := <-r.free:
		if b == nil {
			b = make([]byte, 0, chunkBytes)
		}
		r.filling = b[:0]
		return true
	case <-r.gone:
		return false
	}
}

func (r *ring) flush() bool {
	if len(r.filling) == 0 {
		return true
	}
	select {
	case r.full <- r.filling:
		r.filling = nil
		return true
	case <-r.gone:
		return false
	}
}

// end tells the reader that these were all bytes.
func (r *ring) end() {
	r.flush()
	close(r.full)
}

// abort makes the reader fail at once.
func (r *ring) abort() { close(r.aborted) }

// Read is for the one reader.
func (r *ring) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.reading != nil {
			r.free <- r.reading
			r.reading = nil
		}
		select {
		case <-r.aborted:
			return 0, errAborted
		case b, ok := <-r.full:
			if !ok {
				return 0, io.EOF
			}
			r.reading, r.rest = b, b
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
