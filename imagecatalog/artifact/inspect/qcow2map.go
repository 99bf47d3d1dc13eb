package inspect

import (
	"encoding/binary"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	qcowOffsetMask   = 0x00fffffffffffe00
	qcowCompressed   = 1 << 62
	qcowZero         = 1 << 0
	qcowL1Reserved   = 0x7f000000000001ff
	qcowL2Reserved   = 0x3f000000000001fe
	qcowSnapshotSize = 40
	qcowRefReserved  = 0x1ff
)

// claim marks the clusters of a table; false when one of them already belongs to another.
func (q *qcow2) claim(off, n uint64, what string) bool {
	for i := off >> q.clusterBits; i <= (off+max(n, 1)-1)>>q.clusterBits; i++ {
		if !q.meta.add(int64(i)) {
			q.report.reject(artifact.BadTable, "%s at byte %d lies in a cluster of another table", what, off)
			return false
		}
	}
	return true
}

// refcounts checks that every refcount block lies inside the file, on its own.
func (q *qcow2) refcounts() (bool, error) {
	q.meta, q.data = q.in.newBitset(int64(q.cluster())), q.in.newBitset(int64(q.cluster()))
	size := uint64(q.refClusters) << q.clusterBits
	if !q.claim(0, 1, "the header") || !q.claim(q.l1At, uint64(q.l1Entries)*8, "the L1 table") || !q.claim(q.refTableAt, size, "the refcount table") {
		return false, nil
	}
	err := q.in.table(int64(q.refTableAt), int64(size), func(piece []byte) bool {
		for ; len(piece) > 0; piece = piece[8:] {
			at := binary.BigEndian.Uint64(piece)
			switch {
			case at == 0:
				continue
			case at&qcowRefReserved != 0, at&(q.cluster()-1) != 0:
				q.report.reject(artifact.BadTable, "a refcount block at byte %d does not start a cluster", at)
			case !q.in.holds(at, q.cluster()):
				q.report.reject(artifact.TruncatedImage, "a refcount block at byte %d lies outside the file", at)
			default:
				q.claim(at, q.cluster(), "a refcount block")
			}
			if q.report.rejected() {
				return false
			}
		}
		return true
	})
	return err == nil && !q.report.rejected(), err
}

// snapshotTable walks the records of internal snapshots.
func (q *qcow2) snapshotTable() (bool, error) {
	if q.snapshots == 0 {
		return true, nil
	}
	if q.snapshots > qcowMaxSnapshots {
		q.report.reject(artifact.TooManyEntries, "%d internal snapshots; %d are the most", q.snapshots, qcowMaxSnapshots)
		return false, nil
	}
	if q.snapshotsAt == 0 || q.snapshotsAt&(q.cluster()-1) != 0 {
		q.report.reject(artifact.BadHeader, "the snapshot table at byte %d does not start a cluster", q.snapshotsAt)
		return false, nil
	}
	off := q.snapshotsAt
	for range q.snapshots {
		if !q.in.holds(off, qcowSnapshotSize) {
			q.report.reject(artifact.TruncatedImage, "the snapshot table at byte %d ends outside the file", q.snapshotsAt)
			return false, nil
		}
		h, err := q.in.at(int64(off), qcowSnapshotSize)
		if err != nil {
			return false, err
		}
		be := binary.BigEndian
		l1At, l1Bytes := be.Uint64(h), uint64(be.Uint32(h[8:]))*8
		if l1Bytes > 0 && (l1At&(q.cluster()-1) != 0 || l1Bytes > qcowMaxL1 || !q.in.holds(l1At, l1Bytes)) {
			q.report.reject(artifact.L1OutsideFile, "the L1 table of a snapshot, at byte %d, lies outside the file", l1At)
			return false, nil
		}
		off += qcowSnapshotSize + uint64(be.Uint32(h[36:])) + uint64(be.Uint16(h[12:])) + uint64(be.Uint16(h[14:]))
		off = (off + 7) &^ 7
	}
	return true, nil
}

// mapping checks the L1 table and then every L2 table it names.
func (q *qcow2) mapping() (bool, error) {
	err := q.in.table(int64(q.l1At), int64(q.l1Entries)*8, func(piece []byte) bool {
		for ; len(piece) > 0 && !q.report.rejected(); piece = piece[8:] {
			q.l1Entry(binary.BigEndian.Uint64(piece))
		}
		return !q.report.rejected()
	})
	if err != nil || q.report.rejected() {
		return false, err
	}
	var fault error
	index := uint64(0)
	err = q.in.table(int64(q.l1At), int64(q.l1Entries)*8, func(piece []byte) bool {
		for ; len(piece) > 0 && fault == nil && !q.report.rejected(); piece = piece[8:] {
			if at := binary.BigEndian.Uint64(piece) & qcowOffsetMask; at != 0 {
				fault = q.l2Table(at, index)
			}
			index++
		}
		return fault == nil && !q.report.rejected()
	})
	if err == nil {
		err = fault
	}
	return err == nil, err
}

// l1Entry checks one pointer to an L2 table. A table that two entries share is refused: it would also let a small file
// ask for endless reading.
func (q *qcow2) l1Entry(entry uint64) {
	at := entry & qcowOffsetMask
	switch {
	case entry&qcowL1Reserved != 0, at&(q.cluster()-1) != 0:
		q.report.reject(artifact.BadTable, "L1 entry %#x has reserved bits set or points into a cluster", entry)
	case at == 0:
	case !q.in.holds(at, q.cluster()):
		q.report.reject(artifact.TruncatedImage, "the L2 table at byte %d lies outside the file of %d bytes", at, q.in.size)
	default:
		q.claim(at, q.cluster(), "the L2 table")
	}
}

// l2Table checks the entries of one L2 table.
func (q *qcow2) l2Table(at, index uint64) error {
	perTable := q.cluster() / 8
	guest := index * perTable
	return q.in.table(int64(at), int64(q.cluster()), func(piece []byte) bool {
		for ; len(piece) > 0 && !q.report.rejected(); piece = piece[8:] {
			q.l2Entry(binary.BigEndian.Uint64(piece), guest)
			guest++
		}
		return !q.report.rejected()
	})
}

// l2Entry checks one pointer to data. What the guest sees of the cluster must be in the file; the rest may be missing at
// its end.
func (q *qcow2) l2Entry(entry, guest uint64) {
	if entry == 0 {
		return
	}
	if entry&qcowCompressed != 0 {
		q.compressedEntry(entry)
		return
	}
	at := entry & qcowOffsetMask
	switch {
	case entry&qcowL2Reserved != 0, q.version == 2 && entry&qcowZero != 0:
		q.report.reject(artifact.BadTable, "L2 entry %#x has reserved bits set", entry)
		return
	case at == 0:
		return
	case at&(q.cluster()-1) != 0:
		q.report.reject(artifact.BadTable, "L2 entry %#x points into a cluster", entry)
		return
	}
	visible := uint64(0)
	if begin := guest << q.clusterBits; begin < q.virtual {
		visible = min(q.cluster(), q.virtual-begin)
	}
	if entry&qcowZero != 0 {
		visible = 0
	}
	switch {
	case !q.in.holds(at, visible):
		q.report.reject(artifact.TruncatedImage, "data at byte %d lies outside the file of %d bytes", at, q.in.size)
	case q.meta.has(int64(at >> q.clusterBits)):
		q.report.reject(artifact.BadTable, "data at byte %d lies in a cluster of a table", at)
	case visible > 0:
		q.data.add(int64(at >> q.clusterBits))
	}
}

// compressedEntry checks a pointer to compressed data: an offset to the byte and a number of further sectors, the last
// of which the end of the file may cut.
func (q *qcow2) compressedEntry(entry uint64) {
	shift := 62 - (q.clusterBits - 8)
	at := entry & (1<<shift - 1)
	more := entry & (qcowCompressed - 1) >> shift
	end := at&^(sectorSize-1) + (more+1)*sectorSize
	rounded := (uint64(q.in.size) + sectorSize - 1) &^ (sectorSize - 1)
	switch {
	case at >= uint64(q.in.size) || end > rounded:
		q.report.reject(artifact.TruncatedImage, "compressed data at byte %d lies outside the file of %d bytes", at, q.in.size)
	case q.meta.has(int64(at >> q.clusterBits)):
		q.report.reject(artifact.BadTable, "compressed data at byte %d lies in a cluster of a table", at)
	default:
		q.data.add(int64(at >> q.clusterBits))
		q.data.add(int64((end - 1) >> q.clusterBits))
	}
}
