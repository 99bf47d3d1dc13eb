package disk

import (
	"errors"
	"fmt"
	"io"
)

const (
	// Sector is the unit of every disk, in bytes.
	Sector = 512
	// MiB is the unit to which the virtual sizes of VHD and VMDK are rounded up: XenServer and VMware count in it.
	MiB = 1 << 20
)

// Image is a disk as the guest sees it. ReadAt may be called by several goroutines at once.
type Image interface {
	io.ReaderAt
	// Size is the virtual size in bytes, a positive multiple of Sector.
	Size() int64
}

// Mapped is an Image that knows what was never written, so that nobody has to read zeros.
type Mapped interface {
	Image
	// Next is the first stretch at or after offset that may hold something else than zeros; begin and end are Size when
	// there is none.
	Next(offset int64) (begin, end int64, err error)
}

// raw is a raw disk.
type raw struct {
	io.ReaderAt
	size int64
}

// Size is the size of the disk in bytes.
func (r raw) Size() int64 { return r.size }

// Raw is the disk whose size bytes r holds as they are. A size that is no positive multiple of Sector is an error.
func Raw(r io.ReaderAt, size int64) (Image, error) {
	if size <= 0 || size%Sector != 0 {
		return nil, fmt.Errorf("a disk of %d bytes; a positive multiple of %d is needed", size, Sector)
	}
	return raw{ReaderAt: r, size: size}, nil
}

// RoundUp is the smallest multiple of unit that is not below n; both are positive.
func RoundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// Read fills p with the disk from offset on, and with zeros what lies after its end.
func Read(img Image, p []byte, offset int64) error {
	have := int64(len(p))
	if left := max(img.Size()-offset, 0); left < have {
		have = left
	}
	n, err := img.ReadAt(p[:have], offset)
	if int64(n) < have {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("reading the disk at byte %d: %w", offset+int64(n), err)
	}
	clear(p[have:])
	return nil
}
