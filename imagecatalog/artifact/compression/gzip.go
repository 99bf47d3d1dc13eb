package compression

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipReader reads member after member. It looks at what follows a member itself, to tell bytes that begin no member from
// a member that is cut short.
type gzipReader struct {
	in *bufio.Reader
	gz *gzip.Reader
}

func (g *gzipReader) Read(p []byte) (int, error) {
	for {
		if g.gz == nil {
			if err := g.next(); err != nil {
				return 0, err
			}
		}
		n, err := g.gz.Read(p)
		if errors.Is(err, io.EOF) {
			err = g.follow()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// next opens the member that begins here.
func (g *gzipReader) next() error {
	gz, err := gzip.NewReader(g.in)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	gz.Multistream(false)
	g.gz = gz
	return nil
}

// follow goes on to the next member; io.EOF when there is none.
func (g *gzipReader) follow() error {
	head, err := g.in.Peek(2)
	switch {
	case len(head) == 0:
		return err
	case head[0] != 0x1f || len(head) == 2 && head[1] != 0x8b:
		return trailing("gzip")
	case len(head) == 1:
		return io.ErrUnexpectedEOF
	}
	if err := g.gz.Reset(g.in); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	g.gz.Multistream(false)
	return nil
}

func (g *gzipReader) Close() error {
	if g.gz == nil {
		return nil
	}
	return g.gz.Close()
}
