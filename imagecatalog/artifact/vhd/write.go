package vhd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
)

const (
	// MaxSize is the largest virtual size that the format holds, in bytes: 2040 GiB.
	MaxSize = 2040 << 30

	blockSize    = disk.PieceSize
	blockSectors = blockSize / disk.Sector
	pageSectors  = 8 // what a block's data is aligned to
	unused       = 0xffffffff
)

// Options are what does not follow from the disk.
type Options struct {
	// ID of the disk; made from the bytes of the disk when zero, so that the same disk gives the same file.
	ID [16]byte
	// Created is the date in the footer, between 2000 and 2136; 2000-01-01 when zero, so that the same disk gives the same
	// file.
	Created time.Time
}

// VirtualSize is the size that a guest sees of a disk of so many bytes: whole MiB, because that is the unit in which
// XenServer reads sizes. What is added is zeros.
func VirtualSize(size int64) int64 { return disk.RoundUp(size, disk.MiB) }

// Write writes the disk as a dynamic VHD, from the first byte to the last. It reads the disk twice: the table of blocks
// stands in front of the blocks. Blocks of 2 MiB that are all zeros are left out.
//
// The creator of the file is given as "tap", XenServer's: its tools, qemu and CloudStack then all take the size from the
// field for it and none of them from the geometry, which cannot say most sizes exactly.
func Write(ctx context.Context, w io.Writer, img disk.Image, o Options) error {
	size := VirtualSize(img.Size())
	if size > MaxSize {
		return fmt.Errorf("a VHD holds at most %d bytes, the disk has %d", int64(MaxSize), img.Size())
	}
	f := &file{w: w, size: size, blocks: int((size-1)/blockSize + 1), options: o}
	if err := f.plan(ctx, img); err != nil {
		return fmt.Errorf("reading the disk: %w", err)
	}
	if err := f.write(ctx, img); err != nil {
		return fmt.Errorf("writing the VHD: %w", err)
	}
	return nil
}

// file is a VHD while it is written.
type file struct {
	w       io.Writer
	size    int64
	blocks  int
	options Options
	table   []uint32 // the sector at which the bitmap of each block begins
	written int64    // sectors
	stored  []int64  // the blocks with content, in order
}

// plan finds out which blocks are stored, and what to call the disk.
func (f *file) plan(ctx context.Context, img disk.Image) error {
	sum := sha256.New()
	err := disk.Each(ctx, img, func(block int64, data []byte) ([sha256.Size]byte, error) {
		return sha256.Sum256(data), nil
	}, func(block int64, digest [sha256.Size]byte) error {
		f.stored = append(f.stored, block)
		return binary.Write(sum, binary.BigEndian, struct {
			Block  int64
			Digest [sha256.Size]byte
		}{block, digest})
	})
	if err != nil {
		return err
	}
	if f.options.ID == [16]byte{} {
		if err := binary.Write(sum, binary.BigEndian, f.size); err != nil {
			return err
		}
		copy(f.options.ID[:], sum.Sum(nil))
		f.options.ID[6] = f.options.ID[6]&0x0f | 0x80 // version 8: of the maker's own kind
		f.options.ID[8] = f.options.ID[8]&0x3f | 0x80
	}
	return nil
}

// write writes the parts in the order of the file: footer copy, header, table of blocks, map of full blocks, blocks, footer.
func (f *file) write(ctx context.Context, img disk.Image) error {
	footer := f.footer()
	table := f.blockTable()
	for _, part := range [][]byte{footer, f.header(), table, f.batmap()} {
		if err := f.put(part); err != nil {
			return err
		}
	}
	full := bytes.Repeat([]byte{0xff}, disk.Sector)
	err := disk.Each(ctx, img, func(_ int64, data []byte) ([]byte, error) {
		return bytes.Clone(data), nil
	}, func(block int64, data []byte) error {
		gap := int64(f.table[block]) - f.written
		if f.table[block] == unused || gap < 0 || gap >= pageSectors {
			return fmt.Errorf("the disk changed while it was read, at block %d", block)
		}
		return f.put(make([]byte, gap*disk.Sector), full, data)
	})
	if err != nil {
		return err
	}
	if want := f.end(); f.written != want {
		return fmt.Errorf("the disk changed while it was read: %d sectors, %d planned", f.written, want)
	}
	return f.put(footer)
}

func (f *file) put(parts ...[]byte) error {
	for _, p := range parts {
		if _, err := f.w.Write(p); err != nil {
			return err
		}
		f.written += int64(len(p) / disk.Sector)
	}
	return nil
}

// bitmapAt is where the bitmap of a block may begin at the earliest sector after at: its data, one sector later, starts a
// page.
func bitmapAt(at int64) int64 { return disk.RoundUp(at+1, pageSectors) - 1 }

// end is the sector behind the last block.
func (f *file) end() int64 {
	if len(f.stored) == 0 {
		return f.firstBlock()
	}
	return int64(f.table[f.stored[len(f.stored)-1]]) + 1 + blockSectors
}
