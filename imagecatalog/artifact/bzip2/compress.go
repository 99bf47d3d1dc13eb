package bzip2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/dsnet/compress/bzip2"

	"github.com/capcat/capcat/imagecatalog/artifact/internal/ordered"
)

// streamSize is how much goes into one stream of Compress: four of the largest blocks.
const streamSize = 4 * 900_000

// Compress writes r to w as a row of bzip2 streams, on all processors at once. Every reader of bzip2 takes several streams
// for one content. The same content gives the same bytes.
func Compress(ctx context.Context, w io.Writer, r io.Reader) error {
	var fault error
	compressors := &sync.Pool{}
	err := ordered.Run(ctx, cut(r, &fault), func(part []byte) ([]byte, error) { return stream(compressors, part) }, func(_, out []byte) error {
		_, err := w.Write(out)
		return err
	})
	if err == nil {
		err = fault
	}
	if err != nil {
		return fmt.Errorf("compressing: %w", err)
	}
	return nil
}

// cut reads r in parts; there is at least one. A failing read ends the parts and is left in fault.
func cut(r io.Reader, fault *error) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for first := true; ; first = false {
			part := make([]byte, streamSize)
			n, err := io.ReadFull(r, part)
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				*fault = err
				return
			}
			if n == 0 && !first || !yield(part[:n]) || err != nil {
				return
			}
		}
	}
}

// stream compresses a part into a stream of its own. A compressor has some 20 MB of tables, so they are used again.
func stream(compressors *sync.Pool, part []byte) ([]byte, error) {
	var b bytes.Buffer
	z, pooled := compressors.Get().(*bzip2.Writer)
	if !pooled {
		var err error
		if z, err = newWriter(&b, 0); err != nil {
			return nil, err
		}
	} else if err := z.Reset(&b); err != nil {
		return nil, err
	}
	if _, err := z.Write(part); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	compressors.Put(z)
	return b.Bytes(), nil
}
