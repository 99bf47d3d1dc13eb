package qcow2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/disk"
)

const (
	offsetMask = 0x00fffffffffffe00
	compressed = 1 << 62
	zeroFlag   = 1 << 0
	// maxTables is how many L2 tables are kept: at most 64 MiB of the largest.
	maxTables = 32
)

// Image is the disk in a qcow2 file. It may be read by several goroutines at once.
type Image struct {
	header
	r        io.ReaderAt
	l1       []uint64
	decoders sync.Pool // of *zstd.Decoder

	mu     sync.Mutex
	tables map[uint64][]uint64 // L2 tables by their place in the file
}

// Open reads the tables of the image in r. An image that cannot be read without another file or a key is refused with an
// *artifact.Error. The data is checked as it is read: let inspect.Inspect look at a file of strangers first.
func Open(r io.ReaderAt) (*Image, error) {
	h, err := parseHeader(r)
	if err != nil {
		return nil, err
	}
	i := &Image{header: h, r: r, tables: map[uint64][]uint64{}}
	if i.l1, err = i.table(h.l1At, int(h.l1Entries)); err != nil {
		return nil, err
	}
	return i, nil
}

// Size is the virtual size in bytes.
func (i *Image) Size() int64 { return i.size }

// table reads big-endian numbers.
func (i *Image) table(at uint64, entries int) ([]uint64, error) {
	p := make([]byte, entries*8)
	if _, err := readAt(i.r, p, at); err != nil {
		return nil, fmt.Errorf("reading the table at byte %d: %w", at, err)
	}
	out := make([]uint64, entries)
	for n := range out {
		out[n] = binary.BigEndian.Uint64(p[n*8:])
	}
	return out, nil
}

// readAt reads all of p; the end of the file inside it is a truncated image.
func readAt(r io.ReaderAt, p []byte, at uint64) (int, error) {
	if at > 1<<62 {
		return 0, artifact.NewError(artifact.TruncatedImage, fmt.Sprintf("byte %d lies outside the file", at))
	}
	n, err := r.ReadAt(p, int64(at))
	if n == len(p) {
		return n, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = artifact.NewError(artifact.TruncatedImage, fmt.Sprintf("the file ends at byte %d, inside what its tables speak of", int64(at)+int64(n)))
	}
	return n, err
}

// entry is what the tables say about a cluster of the disk; 0 when it was never written. The second value is how many
// clusters, this one included, are known to be like it when it is 0.
func (i *Image) entry(cluster int64) (uint64, int64, error) {
	perTable := i.cluster() / 8
	at := i.l1[cluster/perTable] & offsetMask
	if at == 0 {
		return 0, perTable - cluster%perTable, nil
	}
	table, err := i.l2(at, int(perTable))
	if err != nil {
		return 0, 0, err
	}
	e := table[cluster%perTable]
	if e&compressed == 0 && (e&offsetMask == 0 || i.version == 3 && e&zeroFlag != 0) {
		return 0, 1, nil
	}
	return e, 1, nil
}

// l2 is the L2 table at a place of the file. Few are kept, which is enough for reading along the disk.
func (i *Image) l2(at uint64, entries int) ([]uint64, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if t, known := i.tables[at]; known {
		return t, nil
	}
	t, err := i.table(at, entries)
	if err != nil {
		return nil, err
	}
	if len(i.tables) >= maxTables {
		clear(i.tables)
	}
	i.tables[at] = t
	return t, nil
}

// Next is the first stretch at or after offset that was ever written.
func (i *Image) Next(offset int64) (begin, end int64, err error) {
	last := (i.size - 1) / i.cluster()
	for c := offset / i.cluster(); c <= last; {
		e, same, err := i.entry(c)
		if err != nil {
			return 0, 0, err
		}
		if e != 0 {
			return max(offset, c*i.cluster()), min((c+1)*i.cluster(), i.size), nil
		}
		c += same
	}
	return i.size, i.size, nil
}

// ReadAt reads the disk as the guest sees it. Reading compressed clusters in parts decodes them for each part; whole
// clusters, in stretches of disk.PieceSize, are best.
func (i *Image) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, fmt.Errorf("reading the disk at byte %d", offset)
	}
	done := 0
	for done < len(p) && offset < i.size {
		within := offset % i.cluster()
		n := min(int64(len(p)-done), i.cluster()-within, i.size-offset)
		if err := i.readCluster(p[done:done+int(n)], offset/i.cluster(), within); err != nil {
			return done, fmt.Errorf("reading the disk at byte %d: %w", offset, err)
		}
		done += int(n)
		offset += n
	}
	if done < len(p) {
		return done, io.EOF
	}
	return done, nil
}

// readCluster fills p from one cluster.
func (i *Image) readCluster(p []byte, cluster, within int64) error {
	e, _, err := i.entry(cluster)
	switch {
	case err != nil:
		return err
	case e == 0:
		clear(p)
		return nil
	case e&compressed != 0:
		return i.decode(p, e, within)
	}
	_, err = readAt(i.r, p, e&offsetMask+uint64(within))
	return err
}

var _ disk.Mapped = (*Image)(nil)
