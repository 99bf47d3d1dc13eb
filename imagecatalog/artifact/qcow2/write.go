package qcow2

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
)

const (
	clusterBits  = 16
	clusterSize  = 1 << clusterBits
	l2Entries    = clusterSize / 8
	refsPerBlock = clusterSize / 2 // reference counts have 16 bits
	headerLength = 112
	onlyUse      = 1 << 63 // nothing else uses the cluster: it may be written in place
	inPiece      = disk.PieceSize / clusterSize
)

// Write writes the disk as a qcow2 of version 3, from the first byte to the last, with clusters of 64 KiB that are not
// compressed: what a compressor should be given. It reads the disk twice, because the tables stand in front. Clusters that
// are all zeros are left out.
func Write(ctx context.Context, w io.Writer, img disk.Image) error {
	f := &file{size: img.Size(), stored: make([]bool, (img.Size()-1)/clusterSize+1)}
	if err := f.plan(ctx, img); err != nil {
		return fmt.Errorf("reading the disk: %w", err)
	}
	if err := f.write(ctx, w, img); err != nil {
		return fmt.Errorf("writing the qcow2: %w", err)
	}
	return nil
}

// file is an image that is written. Its parts follow one another: header, table of reference counts, blocks of reference
// counts, L1 table, L2 tables, data.
type file struct {
	size     int64
	stored   []bool // clusters with content
	count    int64
	l2Tables []int64 // L1 indexes that have a table

	refTable, refBlocks, l1, l2, data, end int64 // where each part begins, in clusters
}

// plan finds out which clusters are stored, and where.
func (f *file) plan(ctx context.Context, img disk.Image) error {
	err := disk.Each(ctx, img, func(_ int64, data []byte) ([inPiece]bool, error) {
		return usedClusters(data), nil
	}, func(piece int64, used [inPiece]bool) error {
		f.count += int64(copyUsed(f.stored[piece*inPiece:], used[:]))
		return nil
	})
	f.layOut()
	return err
}

// usedClusters says which clusters of a piece hold something.
func usedClusters(data []byte) (used [inPiece]bool) {
	for i := range used {
		used[i] = !disk.IsZero(data[i*clusterSize : (i+1)*clusterSize])
	}
	return used
}

// copyUsed copies and counts what is used.
func copyUsed(to, from []bool) (count int) {
	for _, used := range from[:copy(to, from)] {
		if used {
			count++
		}
	}
	return count
}

func (f *file) l1Entries() int64 { return (int64(len(f.stored))-1)/l2Entries + 1 }

func (f *file) layOut() {
	for i := range f.l1Entries() {
		end := min((i+1)*l2Entries, int64(len(f.stored)))
		for _, used := range f.stored[i*l2Entries : end] {
			if used {
				f.l2Tables = append(f.l2Tables, i)
				break
			}
		}
	}
	l1 := disk.RoundUp(f.l1Entries()*8, clusterSize) / clusterSize
	others := 1 + l1 + int64(len(f.l2Tables)) + f.count
	table, blocks := countReferences(others)
	f.refTable = 1
	f.refBlocks = f.refTable + table
	f.l1 = f.refBlocks + blocks
	f.l2 = f.l1 + l1
	f.data = f.l2 + int64(len(f.l2Tables))
	f.end = f.data + f.count
}

// countReferences says how many clusters the table and the blocks of reference counts need, which also count themselves.
func countReferences(others int64) (table, blocks int64) {
	for {
		t := max((blocks-1)/l2Entries+1, 1)
		b := (others+t+blocks-1)/refsPerBlock + 1
		if t == table && b == blocks {
			return table, blocks
		}
		table, blocks = t, b
	}
}

// write writes everything in order.
func (f *file) write(ctx context.Context, w io.Writer, img disk.Image) error {
	tables := make([]byte, f.data*clusterSize)
	copy(tables, f.header())
	f.referenceCounts(tables)
	f.mapping(tables)
	if _, err := w.Write(tables); err != nil {
		return err
	}
	left := f.count
	err := disk.Each(ctx, img, func(_ int64, data []byte) ([]byte, error) {
		return packed(data), nil
	}, func(piece int64, data []byte) error {
		left -= int64(len(data) / clusterSize)
		_, err := w.Write(data)
		return err
	})
	if err == nil && left != 0 {
		err = fmt.Errorf("the disk changed while it was read")
	}
	return err
}

// packed is a piece without its clusters of zeros.
func packed(data []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(data))
	for i, used := range usedClusters(data) {
		if used {
			out.Write(data[i*clusterSize : (i+1)*clusterSize])
		}
	}
	return out.Bytes()
}

func (f *file) header() []byte {
	h := newHeader(f.size)
	be := binary.BigEndian
	be.PutUint32(h[36:], uint32(f.l1Entries()))
	be.PutUint64(h[40:], uint64(f.l1*clusterSize))
	be.PutUint64(h[48:], uint64(f.refTable*clusterSize))
	be.PutUint32(h[56:], uint32(f.refBlocks-f.refTable))
	return h
}

// newHeader is a header without the places of the tables.
func newHeader(size int64) []byte {
	be := binary.BigEndian
	h := make([]byte, headerLength)
	copy(h, magic)
	be.PutUint32(h[4:], 3)
	be.PutUint32(h[20:], clusterBits)
	be.PutUint64(h[24:], uint64(size))
	be.PutUint32(h[96:], 4) // reference counts of 1<<4 bits
	be.PutUint32(h[100:], headerLength)
	return h
}

func (f *file) referenceCounts(tables []byte) {
	be := binary.BigEndian
	for i := range f.l1 - f.refBlocks {
		be.PutUint64(tables[f.refTable*clusterSize+i*8:], uint64((f.refBlocks+i)*clusterSize))
	}
	for i := range f.end {
		be.PutUint16(tables[f.refBlocks*clusterSize+i*2:], 1)
	}
}

func (f *file) mapping(tables []byte) {
	be := binary.BigEndian
	next := f.data
	for t, l1 := range f.l2Tables {
		table := f.l2 + int64(t)
		be.PutUint64(tables[f.l1*clusterSize+l1*8:], uint64(table*clusterSize)|onlyUse)
		for i := range min(l2Entries, int64(len(f.stored))-l1*l2Entries) {
			if f.stored[l1*l2Entries+i] {
				be.PutUint64(tables[table*clusterSize+i*8:], uint64(next*clusterSize)|onlyUse)
				next++
			}
		}
	}
}
