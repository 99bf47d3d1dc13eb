package inspect

import (
	"encoding/binary"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// countedUse checks that no cluster in use is counted as free: the next write would hand it out again. The counts of an image
// that was not closed cleanly may lag behind and are left alone.
func (q *qcow2) countedUse() (bool, error) {
	if q.incompatible&qcowDirty != 0 {
		return true, nil
	}
	used := q.data.with(q.meta)
	perBlock := int64(q.cluster()) * 8 >> q.refOrder
	var fault error
	first := int64(0)
	err := q.in.table(int64(q.refTableAt), int64(q.refClusters)<<q.clusterBits, func(piece []byte) bool {
		for ; len(piece) > 0 && fault == nil && !q.report.rejected(); piece = piece[8:] {
			fault = q.countedBlock(used, binary.BigEndian.Uint64(piece), first, perBlock)
			first += perBlock
		}
		return fault == nil && !q.report.rejected() && first<<q.clusterBits < q.in.size
	})
	if err == nil {
		err = fault
	}
	if next := used.next(first); err == nil && !q.report.rejected() && next >= 0 {
		q.uncounted(next)
	}
	return err == nil, err
}

func (q *qcow2) uncounted(cluster int64) {
	q.report.reject(artifact.BadTable, "the cluster at byte %d is in use and has the refcount 0", cluster<<q.clusterBits)
}

// countedBlock compares the refcount block at a place, 0 for none, with the use of n clusters from first on.
func (q *qcow2) countedBlock(used bitset, at uint64, first, n int64) error {
	next := used.next(first)
	if next < 0 || next >= first+n {
		return nil
	}
	if at == 0 {
		q.uncounted(next)
		return nil
	}
	bits := int64(1) << q.refOrder
	from := int64(0)
	return q.in.table(int64(at), int64(q.cluster()), func(piece []byte) bool {
		end := first + (from+int64(len(piece)))*8/bits
		for ; next >= 0 && next < end; next = used.next(next + 1) {
			bit := (next-first)*bits - from*8
			var count byte
			for _, b := range piece[bit/8 : (bit+bits+7)/8] {
				count |= b
			}
			if bits < 8 {
				count = count >> (bit % 8) & (1<<bits - 1)
			}
			if count == 0 {
				q.uncounted(next)
				return false
			}
		}
		from += int64(len(piece))
		return next >= 0
	})
}
