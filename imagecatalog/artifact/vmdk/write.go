package vmdk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/zlib"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
)

const (
	// MaxSize is the largest disk that VMware runs, in bytes: 62 TiB.
	MaxSize = 62 << 40

	grainSize    = 64 << 10
	grainSectors = grainSize / disk.Sector
	inPiece      = disk.PieceSize / grainSize
	inTable      = 512 // grains
	tableSize    = inTable * 4
	markerSize   = 12
	level        = 6
)

// Written says what was written.
type Written struct {
	// Bytes is the length of the file.
	Bytes int64
	// PopulatedBytes is how much of the disk is in it, before compression.
	PopulatedBytes int64
}

// VirtualSize is the size that a guest sees of a disk of so many bytes: whole MiB, in which VMware counts. What is added is
// zeros.
func VirtualSize(size int64) int64 { return disk.RoundUp(size, disk.MiB) }

// Write writes the disk as a streamOptimized VMDK, from the first byte to the last, reading it once. Grains of 64 KiB are
// deflated one by one; those of zeros are left out. The same disk gives the same file. Name is that of the file, which its
// text mentions.
func Write(ctx context.Context, w io.Writer, img disk.Image, name string) (Written, error) {
	size := VirtualSize(img.Size())
	if size > MaxSize {
		return Written{}, fmt.Errorf("a VMDK holds at most %d bytes, the disk has %d", int64(MaxSize), img.Size())
	}
	f := &file{w: w, capacity: size / disk.Sector, directory: make([]uint32, (size-1)/(grainSize*inTable)+1)}
	if err := f.write(ctx, img, name); err != nil {
		return Written{}, fmt.Errorf("writing the VMDK: %w", err)
	}
	return Written{Bytes: f.at * disk.Sector, PopulatedBytes: f.grains * grainSize}, nil
}

// file is a VMDK while it is written. Places are in sectors.
type file struct {
	w         io.Writer
	capacity  int64
	at        int64
	grains    int64
	current   int64 // number of the table that is being filled
	table     [inTable]uint32
	directory []uint32
}

func (f *file) write(ctx context.Context, img disk.Image, name string) error {
	text, err := descriptor(f.capacity, name)
	if err != nil {
		return err
	}
	if err := f.put(header(f.capacity, directoryAtEnd), text); err != nil {
		return err
	}
	deflaters := &sync.Pool{}
	err = disk.Each(ctx, img, func(piece int64, data []byte) ([inPiece][]byte, error) {
		return deflate(deflaters, piece, data)
	}, f.piece)
	if err != nil {
		return err
	}
	return f.finish()
}

// deflate makes grains of a piece, each with its marker in front and filled up to a sector; none for one of zeros.
func deflate(deflaters *sync.Pool, piece int64, data []byte) (out [inPiece][]byte, err error) {
	z, pooled := deflaters.Get().(*zlib.Writer)
	if !pooled {
		if z, err = zlib.NewWriterLevel(io.Discard, level); err != nil {
			return out, err
		}
	}
	defer deflaters.Put(z)
	for i := range out {
		grain := data[i*grainSize : (i+1)*grainSize]
		if disk.IsZero(grain) {
			continue
		}
		var b bytes.Buffer
		b.Write(make([]byte, markerSize))
		z.Reset(&b)
		if _, err := z.Write(grain); err != nil {
			return out, err
		}
		if err := z.Close(); err != nil {
			return out, err
		}
		size := b.Len() - markerSize
		b.Write(make([]byte, -b.Len()&(disk.Sector-1)))
		out[i] = b.Bytes()
		binary.LittleEndian.PutUint64(out[i], uint64((piece*inPiece+int64(i))*grainSectors))
		binary.LittleEndian.PutUint32(out[i][8:], uint32(size))
	}
	return out, nil
}

// piece writes the grains of a piece and notes where they are.
func (f *file) piece(piece int64, grains [inPiece][]byte) error {
	if table := piece * inPiece / inTable; table != f.current {
		if err := f.flush(); err != nil {
			return err
		}
		f.current = table
	}
	for i, grain := range grains {
		if grain == nil {
			continue
		}
		place, err := f.place()
		if err != nil {
			return err
		}
		f.table[(piece*inPiece+int64(i))%inTable] = place
		f.grains++
		if err := f.put(grain); err != nil {
			return err
		}
	}
	return nil
}

// place is where the next thing goes, as the tables write it.
func (f *file) place() (uint32, error) {
	if f.at > math.MaxUint32 {
		return 0, errors.New("the file grows above 2 TiB, which its tables cannot say")
	}
	return uint32(f.at), nil
}

// flush writes the table that is being filled, unless it is empty.
func (f *file) flush() error {
	b := make([]byte, tableSize)
	for i, at := range f.table {
		binary.LittleEndian.PutUint32(b[i*4:], at)
	}
	if disk.IsZero(b) {
		return nil
	}
	clear(f.table[:])
	if err := f.put(marker(len(b), grainTable)); err != nil {
		return err
	}
	place, err := f.place()
	if err != nil {
		return err
	}
	f.directory[f.current] = place
	return f.put(b)
}

// finish writes the last table, the directory of tables and the footer, which says where the directory is.
func (f *file) finish() error {
	if err := f.flush(); err != nil {
		return err
	}
	b := make([]byte, disk.RoundUp(int64(len(f.directory))*4, disk.Sector))
	for i, at := range f.directory {
		binary.LittleEndian.PutUint32(b[i*4:], at)
	}
	if err := f.put(marker(len(b), grainDirectory)); err != nil {
		return err
	}
	at := f.at
	return f.put(b, marker(disk.Sector, footer), header(f.capacity, uint64(at)), marker(0, endOfStream))
}

func (f *file) put(parts ...[]byte) error {
	for _, b := range parts {
		if _, err := f.w.Write(b); err != nil {
			return err
		}
		f.at += int64(len(b) / disk.Sector)
	}
	return nil
}
