package images

import (
	"context"
	"fmt"
	"io"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
	"github.com/capcat/capcat/imagecatalog/artifact/ova"
	"github.com/capcat/capcat/imagecatalog/artifact/qcow2"
	"github.com/capcat/capcat/imagecatalog/artifact/vhd"
)

// maxVirtualSize keeps the tables of each format small.
const maxVirtualSize = 1 << 40

// QCOW2 writes a qcow2 whose clusters are not compressed. VirtualSize is in bytes, a multiple of 512.
func QCOW2(w io.Writer, virtualSize int64, content Content) error {
	d, err := newDisk(virtualSize, content)
	if err != nil {
		return fmt.Errorf("making qcow2: %w", err)
	}
	return qcow2.Write(context.Background(), w, d)
}

// QCOW2WithBacking writes an image that wants another file for what it does not hold: the classic hostile image.
func QCOW2WithBacking(w io.Writer, virtualSize int64, content Content, backingFile string) error {
	return QCOW2(&backed{w: w, name: backingFile}, virtualSize, content)
}

// DynamicVHD writes a dynamic VHD as XenServer's tools make it. VirtualSize is in bytes, a multiple of 512.
func DynamicVHD(w io.Writer, virtualSize int64, content Content) error {
	d, err := newDisk(virtualSize, content)
	if err != nil {
		return fmt.Errorf("making VHD: %w", err)
	}
	return vhd.Write(context.Background(), w, d, vhd.Options{})
}

// OVA writes an appliance of one machine with one streamOptimized disk. The name is that of the machine. VirtualSize is in
// bytes, a multiple of 512. The appliance is held in memory.
func OVA(w io.Writer, name string, virtualSize int64, content Content) error {
	d, err := newDisk(virtualSize, content)
	if err != nil {
		return fmt.Errorf("making OVA: %w", err)
	}
	var m memory
	if err := ova.Write(context.Background(), &m, d, ova.Options{Machine: ova.Machine{Name: name}}); err != nil {
		return err
	}
	_, err = w.Write(m.data)
	return err
}

// Content is what a disk holds from its first byte on; the rest of the disk is zero. A bytes.Reader and an io.SectionReader
// are contents.
type Content interface {
	io.ReaderAt
	Size() int64
}

// padded is a content with zeros behind it.
type padded struct {
	Content
	virtual int64
}

func newDisk(virtualSize int64, c Content) (disk.Mapped, error) {
	if virtualSize <= 0 || virtualSize%disk.Sector != 0 || virtualSize > maxVirtualSize {
		return nil, fmt.Errorf("virtual size %d is not a multiple of %d between 1 and %d", virtualSize, disk.Sector, int64(maxVirtualSize))
	}
	if c.Size() > virtualSize {
		return nil, fmt.Errorf("content of %d bytes does not fit a disk of %d bytes", c.Size(), virtualSize)
	}
	return padded{c, virtualSize}, nil
}

// Size is the virtual size.
func (p padded) Size() int64 { return p.virtual }

// ReadAt reads the content, and zeros behind it.
func (p padded) ReadAt(b []byte, offset int64) (int, error) {
	want := min(int64(len(b)), p.virtual-offset)
	have := max(min(want, p.Content.Size()-offset), 0)
	if have > 0 {
		if n, err := p.Content.ReadAt(b[:have], offset); int64(n) < have {
			return n, err
		}
	}
	clear(b[have:max(want, 0)])
	if want < int64(len(b)) {
		return int(max(want, 0)), io.EOF
	}
	return len(b), nil
}

// Next is the rest of the content.
func (p padded) Next(offset int64) (begin, end int64, err error) {
	if offset >= p.Content.Size() {
		return p.virtual, p.virtual, nil
	}
	return offset, p.Content.Size(), nil
}
