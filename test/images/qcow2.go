package images

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	cluster       = 64 << 10
	l2Entries     = cluster / 8
	refsPerBlock  = cluster / 2 // 16 bit reference counts
	qcow2Header   = 104
	copiedOnWrite = 1 << 63 // the only reference to the cluster: it may be written in place
)

// QCOW2 writes a qcow2 version 3 image with clusters of 64 KiB. Clusters of zeros are left out. VirtualSize is in bytes,
// a multiple of 512.
func QCOW2(w io.Writer, virtualSize int64, content Content) error {
	return qcow2(w, virtualSize, content, "")
}

// QCOW2WithBacking writes an image that wants another file for what it does not hold: the classic hostile image.
func QCOW2WithBacking(w io.Writer, virtualSize int64, content Content, backingFile string) error {
	return qcow2(w, virtualSize, content, backingFile)
}

// qcow2Layout says at which cluster each part begins. They follow one another: header, refcount table, refcount blocks, L1
// table, L2 tables, data.
type qcow2Layout struct {
	refBlocks, l1, l2, data, end int64
	l1Entries                    int64
	l2Tables                     []int64 // L1 indexes that have a table
}

func layOut(d *disk) qcow2Layout {
	var lay qcow2Layout
	lay.l1Entries = ceil(int64(len(d.stored)), l2Entries)
	for i := range lay.l1Entries {
		end := min((i+1)*l2Entries, int64(len(d.stored)))
		for _, stored := range d.stored[i*l2Entries : end] {
			if stored {
				lay.l2Tables = append(lay.l2Tables, i)
				break
			}
		}
	}
	l1 := ceil(lay.l1Entries*8, cluster)
	rest := 2 + l1 + int64(len(lay.l2Tables)) + int64(d.count)
	blocks := ceil(rest, refsPerBlock)
	for blocks < ceil(rest+blocks, refsPerBlock) {
		blocks++
	}
	lay.refBlocks = 2
	lay.l1 = lay.refBlocks + blocks
	lay.l2 = lay.l1 + l1
	lay.data = lay.l2 + int64(len(lay.l2Tables))
	lay.end = lay.data + int64(d.count)
	return lay
}

func qcow2(w io.Writer, virtualSize int64, content Content, backingFile string) error {
	d, err := newDisk(content, virtualSize, cluster)
	if err != nil {
		return fmt.Errorf("making qcow2: %w", err)
	}
	lay := layOut(d)
	meta := make([]byte, lay.data*cluster)
	lay.header(meta, virtualSize, backingFile)
	lay.refcounts(meta)
	lay.tables(meta, d)
	if _, err := w.Write(meta); err != nil {
		return fmt.Errorf("writing qcow2: %w", err)
	}
	return d.each(func(_ int64, data []byte) error {
		_, err := w.Write(data)
		return err
	})
}

func (lay *qcow2Layout) header(meta []byte, virtualSize int64, backingFile string) {
	be := binary.BigEndian
	copy(meta, "QFI\xfb")
	be.PutUint32(meta[4:], 3)
	if backingFile != "" {
		at := qcow2Header + 8 // after the end of the extensions
		be.PutUint64(meta[8:], uint64(at))
		be.PutUint32(meta[16:], uint32(copy(meta[at:1023], backingFile)))
	}
	be.PutUint32(meta[20:], log2(cluster))
	be.PutUint64(meta[24:], uint64(virtualSize))
	be.PutUint32(meta[36:], uint32(lay.l1Entries))
	be.PutUint64(meta[40:], uint64(lay.l1*cluster))
	be.PutUint64(meta[48:], cluster) // refcount table
	be.PutUint32(meta[56:], 1)       // of one cluster
	be.PutUint32(meta[96:], 4)       // 1<<4 bits a reference count
	be.PutUint32(meta[100:], qcow2Header)
}

func (lay *qcow2Layout) refcounts(meta []byte) {
	be := binary.BigEndian
	for i := range lay.l1 - lay.refBlocks {
		be.PutUint64(meta[cluster+i*8:], uint64((lay.refBlocks+i)*cluster))
	}
	for i := range lay.end {
		be.PutUint16(meta[lay.refBlocks*cluster+i*2:], 1)
	}
}

func (lay *qcow2Layout) tables(meta []byte, d *disk) {
	be := binary.BigEndian
	next := lay.data
	for t, l1 := range lay.l2Tables {
		table := lay.l2 + int64(t)
		be.PutUint64(meta[lay.l1*cluster+l1*8:], uint64(table*cluster)|copiedOnWrite)
		for i := range min(l2Entries, int64(len(d.stored))-l1*l2Entries) {
			if d.stored[l1*l2Entries+i] {
				be.PutUint64(meta[table*cluster+i*8:], uint64(next*cluster)|copiedOnWrite)
				next++
			}
		}
	}
}
