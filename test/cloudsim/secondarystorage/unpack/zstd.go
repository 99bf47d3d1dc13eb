package unpack

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Unzstd writes all frames of r to w, as "zstd -cdqf" does.
func Unzstd(w io.Writer, r io.Reader) error {
	zr, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return fmt.Errorf("opening a zstd stream: %w", err)
	}
	defer zr.Close()
	if _, err := io.Copy(w, zr); err != nil {
		return failed(err, "unsupported format")
	}
	return nil
}
