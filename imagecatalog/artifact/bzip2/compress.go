package bzip2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/capcat/capcat/imagecatalog/artifact/internal/ordered"
)

// streamSize is how much goes into one stream of Compress: four of the largest blocks.
const streamSize = 4 * 900_000

// Compress writes r to w as a row of bzip2 streams, on all processors at once. Every reader of bzip2 takes several streams
// for one content. The same content gives the same bytes.
func Compress(ctx context.Context, w io.Writer, r io.Reader) error {
	var fault error
	err := ordered.Run(ctx, cut(r, &fault), stream, func(_, out []byte) error {
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

// stream compresses a part into a stream of its own.
func stream(part []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := NewWriter(&b, 0)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(part); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
