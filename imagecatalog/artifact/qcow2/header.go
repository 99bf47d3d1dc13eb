package qcow2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/disk"
)

const (
	magic    = "QFI\xfb"
	headerV2 = 72
	headerV3 = 104

	dirty       = 1 << 0
	compression = 1 << 3

	minClusterBits = 9
	maxClusterBits = 21
	maxL1          = 32 << 20

	withDeflate = 0
	withZstd    = 1
)

// header is what a reader of the data needs to know.
type header struct {
	version     uint32
	clusterBits uint32
	size        int64
	l1Entries   uint32
	l1At        uint64
	compression byte
}

// parseHeader reads the header and refuses every image of which the data is not all in the file in the way that is read
// here.
func parseHeader(r io.ReaderAt) (header, error) {
	p := make([]byte, headerV3+1)
	n, err := r.ReadAt(p, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return header{}, fmt.Errorf("reading the qcow2 header: %w", err)
	}
	be := binary.BigEndian
	h := header{version: be.Uint32(p[4:]), clusterBits: be.Uint32(p[20:]), l1Entries: be.Uint32(p[36:]), l1At: be.Uint64(p[40:])}
	switch {
	case n < 8 || string(p[:4]) != magic:
		return h, artifact.NewError(artifact.BadMagic, "this is no qcow2 image")
	case h.version != 2 && h.version != 3:
		return h, artifact.NewError(artifact.UnsupportedVersion, fmt.Sprintf("qcow2 version %d; 2 and 3 are known", h.version))
	case n < headerV2 || h.version == 3 && n < headerV3:
		return h, artifact.NewError(artifact.TruncatedHeader, "the file ends inside the qcow2 header")
	}
	if err := h.features(p); err != nil {
		return h, err
	}
	size := be.Uint64(p[24:])
	h.size = int64(size)
	return h, h.geometry(size)
}

// features refuses an image that needs another file, a key, or something that is not done here.
func (h *header) features(p []byte) error {
	be := binary.BigEndian
	needed := uint64(0)
	if h.version == 3 {
		needed = be.Uint64(p[72:])
		if needed&compression != 0 && be.Uint32(p[100:]) > headerV3 {
			h.compression = p[headerV3]
		}
	}
	switch {
	case be.Uint64(p[8:]) != 0 || be.Uint32(p[16:]) != 0:
		return artifact.NewError(artifact.BackingFile, "the image needs a backing file")
	case be.Uint32(p[32:]) != 0:
		return artifact.NewError(artifact.Encrypted, "the image is encrypted")
	case needed&^(dirty|compression) != 0:
		return artifact.NewError(artifact.UnknownIncompatBit, fmt.Sprintf("the image needs the features %#x, which are not read here", needed))
	case h.compression != withDeflate && h.compression != withZstd:
		return artifact.NewError(artifact.BadHeader, fmt.Sprintf("compression method %d", h.compression))
	}
	return nil
}

// geometry checks the numbers that memory and offsets are computed from.
func (h header) geometry(size uint64) error {
	switch {
	case h.clusterBits < minClusterBits || h.clusterBits > maxClusterBits:
		return artifact.NewError(artifact.BadHeader, fmt.Sprintf("clusters of 2^%d bytes", h.clusterBits))
	case size == 0 || size%disk.Sector != 0 || size > 1<<62:
		return artifact.NewError(artifact.BadHeader, fmt.Sprintf("a virtual size of %d bytes", size))
	case uint64(h.l1Entries)*8 > maxL1:
		return artifact.NewError(artifact.BadHeader, fmt.Sprintf("an L1 table of %d entries", h.l1Entries))
	case uint64(h.l1Entries) < (size-1)/h.covered()+1:
		return artifact.NewError(artifact.BadHeader, "the L1 table is too short for the virtual size")
	}
	return nil
}

func (h header) cluster() int64 { return 1 << h.clusterBits }

// covered is how much of the disk one L2 table maps.
func (h header) covered() uint64 { return 1 << (2*h.clusterBits - 3) }
