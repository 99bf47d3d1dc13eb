package bzip2

import (
	"fmt"
	"io"

	"github.com/dsnet/compress/bzip2"
)

// NewWriter returns a writer that compresses what it is given into one bzip2 stream on w. Level is the block size in units
// of 100 000 bytes, 1 to 9; 0 means 9. The stream is complete once Close succeeded; Close does not close w.
func NewWriter(w io.Writer, level int) (io.WriteCloser, error) {
	zw, err := newWriter(w, level)
	if err != nil {
		return nil, err
	}
	return zw, nil
}

func newWriter(w io.Writer, level int) (*bzip2.Writer, error) {
	if level == 0 {
		level = bzip2.BestCompression
	}
	zw, err := bzip2.NewWriter(w, &bzip2.WriterConfig{Level: level})
	if err != nil {
		return nil, fmt.Errorf("bzip2 level %d: %w", level, err)
	}
	return zw, nil
}
