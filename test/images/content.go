package images

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// Content is what a disk holds from its first byte on; the rest of the disk is zero. A bytes.Reader and an io.SectionReader
// are contents.
type Content interface {
	io.ReaderAt
	Size() int64
}

const (
	sector = 512
	// maxVirtualSize keeps the metadata of each format within one table that fits in memory.
	maxVirtualSize = 1 << 40
)

// disk is a content as a row of units (clusters, blocks, grains) of which those of zeros are not stored.
type disk struct {
	content Content
	unit    int64
	stored  []bool
	count   int // how many are stored
}

// newDisk reads the content once to learn which units are worth storing.
func newDisk(c Content, virtualSize, unit int64) (*disk, error) {
	if virtualSize <= 0 || virtualSize%sector != 0 || virtualSize > maxVirtualSize {
		return nil, fmt.Errorf("virtual size %d is not a multiple of %d between 1 and %d", virtualSize, sector, int64(maxVirtualSize))
	}
	if c.Size() > virtualSize {
		return nil, fmt.Errorf("content of %d bytes does not fit a disk of %d bytes", c.Size(), virtualSize)
	}
	d := &disk{content: c, unit: unit, stored: make([]bool, ceil(virtualSize, unit))}
	buf := make([]byte, unit)
	zero := make([]byte, unit)
	for i := range ceil(c.Size(), unit) {
		if err := d.read(buf, i); err != nil {
			return nil, err
		}
		if !bytes.Equal(buf, zero) {
			d.stored[i] = true
			d.count++
		}
	}
	return d, nil
}

// read fills buf with unit i, zeros after the end of the content.
func (d *disk) read(buf []byte, i int64) error {
	n, err := d.content.ReadAt(buf, i*d.unit)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading content: %w", err)
	}
	clear(buf[n:])
	return nil
}

// each calls f with every stored unit in order.
func (d *disk) each(f func(unit int64, data []byte) error) error {
	buf := make([]byte, d.unit)
	for i, stored := range d.stored {
		if !stored {
			continue
		}
		if err := d.read(buf, int64(i)); err != nil {
			return err
		}
		if err := f(int64(i), buf); err != nil {
			return err
		}
	}
	return nil
}

func ceil(n, unit int64) int64 { return (n + unit - 1) / unit }

// log2 of a power of two.
func log2(n int64) uint32 { return uint32(bits.TrailingZeros64(uint64(n))) }
