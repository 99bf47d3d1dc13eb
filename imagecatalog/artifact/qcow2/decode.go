package qcow2

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/disk"
)

// decode fills p from a compressed cluster. The entry holds the byte where the stream begins and the number of further
// sectors that it touches: more than the stream has, so that the end of the file may come first.
func (i *Image) decode(p []byte, entry uint64, within int64) error {
	shift := 62 - (i.clusterBits - 8)
	at := entry & (1<<shift - 1)
	sectors := entry&(compressed-1)>>shift + 1
	stream := make([]byte, sectors*disk.Sector-at%disk.Sector)
	n, err := i.r.ReadAt(stream, int64(at))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if n == 0 {
		return artifact.NewError(artifact.TruncatedImage, fmt.Sprintf("compressed data at byte %d lies outside the file", at))
	}
	cluster, err := i.expand(stream[:n])
	if err != nil {
		return artifact.WrapError(artifact.CorruptStream, fmt.Sprintf("the compressed cluster at byte %d cannot be read", at), err)
	}
	copy(p, cluster[within:])
	return nil
}

// expand gives exactly one cluster; what follows the stream is ignored.
func (i *Image) expand(stream []byte) ([]byte, error) {
	out := make([]byte, i.cluster())
	if i.compression == withDeflate {
		z := flate.NewReader(bytes.NewReader(stream))
		_, err := io.ReadFull(z, out)
		return out, err
	}
	return i.expandZstd(stream, out)
}

// expandZstd reads one cluster. The decoders run in the caller's goroutine and need not be closed.
func (i *Image) expandZstd(stream, out []byte) ([]byte, error) {
	z, pooled := i.decoders.Get().(*zstd.Decoder)
	if !pooled {
		var err error
		z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(artifact.MaxDecoderWindowBytes))
		if err != nil {
			return nil, err
		}
	}
	defer i.decoders.Put(z)
	if err := z.Reset(bytes.NewReader(stream)); err != nil {
		return nil, err
	}
	_, err := io.ReadFull(z, out)
	return out, err
}
