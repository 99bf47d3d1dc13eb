package qcow2

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
)

const (
	// window is how far back qemu looks while it inflates a cluster, in bytes.
	window = 4096
	// sectorsAt is the bit where the number of further sectors of a compressed cluster begins.
	sectorsAt = 62 - (clusterBits - 8)
)

// WriteCompressed writes the disk as a qcow2 of version 3 with clusters of 64 KiB, each deflated by itself, in the way that
// all versions of qemu read. It reads the disk once; the tables stand behind the data, and the header is written last. The
// same disk gives the same file. W is at its begin.
func WriteCompressed(ctx context.Context, w io.WriteSeeker, img disk.Image) error {
	p := &packer{w: w, size: img.Size(), tables: map[int64][]uint64{}}
	if err := p.write(ctx, img); err != nil {
		return fmt.Errorf("writing the qcow2: %w", err)
	}
	return nil
}

// packer is an image that is written. Places are in bytes.
type packer struct {
	w      io.WriteSeeker
	size   int64
	at     int64
	counts []uint16           // how many things use each cluster of the file
	tables map[int64][]uint64 // L2 tables by L1 index
}

func (p *packer) write(ctx context.Context, img disk.Image) error {
	if err := p.put(make([]byte, clusterSize)); err != nil { // the header, later
		return err
	}
	deflaters := &sync.Pool{}
	err := disk.Each(ctx, img, func(_ int64, data []byte) ([inPiece]cluster, error) {
		return deflate(deflaters, data)
	}, p.piece)
	if err != nil {
		return err
	}
	h, err := p.finish()
	if err != nil {
		return err
	}
	if _, err := p.w.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = p.w.Write(h)
	return err
}

// cluster is what is stored of a cluster: nothing, its bytes, or its bytes deflated.
type cluster struct {
	data     []byte
	deflated bool
}

// deflate makes what is stored of a piece.
func deflate(deflaters *sync.Pool, data []byte) (out [inPiece]cluster, err error) {
	z, pooled := deflaters.Get().(*flate.Writer)
	if !pooled {
		if z, err = flate.NewWriterWindow(io.Discard, window); err != nil {
			return out, err
		}
	}
	defer deflaters.Put(z)
	for i, used := range usedClusters(data) {
		if !used {
			continue
		}
		plain := data[i*clusterSize : (i+1)*clusterSize]
		var b bytes.Buffer
		z.Reset(&b)
		if _, err := z.Write(plain); err != nil {
			return out, err
		}
		if err := z.Close(); err != nil {
			return out, err
		}
		out[i] = cluster{data: b.Bytes(), deflated: true}
		if b.Len() >= clusterSize {
			out[i] = cluster{data: bytes.Clone(plain)}
		}
	}
	return out, nil
}

// piece writes the clusters of a piece.
func (p *packer) piece(piece int64, clusters [inPiece]cluster) error {
	for i, c := range clusters {
		if c.data == nil {
			continue
		}
		guest := piece*inPiece + int64(i)
		entry, err := p.cluster(c)
		if err != nil {
			return err
		}
		if p.tables[guest/l2Entries] == nil {
			p.tables[guest/l2Entries] = make([]uint64, l2Entries)
		}
		p.tables[guest/l2Entries][guest%l2Entries] = entry
	}
	return nil
}

// cluster writes one cluster and gives its entry.
func (p *packer) cluster(c cluster) (uint64, error) {
	if !c.deflated {
		at, err := p.aligned(c.data)
		return uint64(at) | onlyUse, err
	}
	at, end := p.at, p.at+int64(len(c.data))
	more := (end-1)/disk.Sector - at/disk.Sector
	for i := at / clusterSize; i <= (end-1)/clusterSize; i++ {
		p.count(i)
	}
	return compressed | uint64(more)<<sectorsAt | uint64(at), p.put(c.data)
}

// aligned writes whole clusters at the begin of a cluster and gives the place.
func (p *packer) aligned(data []byte) (int64, error) {
	at := disk.RoundUp(p.at, clusterSize)
	if err := p.put(make([]byte, at-p.at)); err != nil {
		return 0, err
	}
	for i := range int64(len(data)) / clusterSize {
		p.count(at/clusterSize + i)
	}
	return at, p.put(data)
}

// count notes one more use of a cluster of the file.
func (p *packer) count(i int64) {
	for int64(len(p.counts)) <= i {
		p.counts = append(p.counts, 0)
	}
	p.counts[i]++
}

func (p *packer) put(data []byte) error {
	n, err := p.w.Write(data)
	p.at += int64(n)
	return err
}

// finish writes the tables and gives the header.
func (p *packer) finish() ([]byte, error) {
	be := binary.BigEndian
	p.count(0)
	entries := ((p.size-1)/clusterSize)/l2Entries + 1
	l1 := make([]byte, disk.RoundUp(entries*8, clusterSize))
	for i := range entries {
		if p.tables[i] == nil {
			continue
		}
		at, err := p.aligned(bigEndian(p.tables[i]))
		if err != nil {
			return nil, err
		}
		be.PutUint64(l1[i*8:], uint64(at)|onlyUse)
	}
	l1At, err := p.aligned(l1)
	if err != nil {
		return nil, err
	}
	tableAt, tableClusters, err := p.referenceCounts()
	h := newHeader(p.size)
	be.PutUint32(h[36:], uint32(entries))
	be.PutUint64(h[40:], uint64(l1At))
	be.PutUint64(h[48:], uint64(tableAt))
	be.PutUint32(h[56:], uint32(tableClusters))
	return h, err
}

func bigEndian(entries []uint64) []byte {
	b := make([]byte, 0, len(entries)*8)
	for _, e := range entries {
		b = binary.BigEndian.AppendUint64(b, e)
	}
	return b
}

// referenceCounts writes the blocks of counts and then the table that says where they are; both count themselves.
func (p *packer) referenceCounts() (tableAt, tableClusters int64, err error) {
	be := binary.BigEndian
	tableClusters, blocks := countReferences(p.at / clusterSize)
	first := p.at / clusterSize
	for i := range blocks + tableClusters {
		p.count(first + i)
	}
	counts := make([]byte, blocks*clusterSize)
	for i, n := range p.counts {
		be.PutUint16(counts[i*2:], n)
	}
	table := make([]byte, tableClusters*clusterSize)
	for i := range blocks {
		be.PutUint64(table[i*8:], uint64((first+i)*clusterSize))
	}
	if err := p.put(counts); err != nil {
		return 0, 0, err
	}
	tableAt = p.at
	return tableAt, tableClusters, p.put(table)
}
