package inspect

import (
	"encoding/binary"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	qcowHeaderV2 = 72
	qcowHeaderV3 = 104

	qcowDirty       = 1 << 0
	qcowCorrupt     = 1 << 1
	qcowDataFile    = 1 << 2
	qcowCompression = 1 << 3
	qcowExtendedL2  = 1 << 4
	qcowKnown       = 1<<5 - 1

	qcowAutoclearBitmaps = 1 << 0

	qcowMaxL1        = 32 << 20
	qcowMaxRefTable  = 8 << 20
	qcowMaxSnapshots = 65536
	qcowMaxExts      = 256

	qcowExtEnd       = 0
	qcowExtBacking   = 0xe2792aca
	qcowExtDataFile  = 0x44415441
	qcowExtEncrypted = 0x0537be77
	qcowExtBitmaps   = 0x23852875
)

// qcow2 is the header of an image, numbers as they stand there. Fields that version 2 lacks have its fixed values.
type qcow2 struct {
	*inspection
	version      uint32
	backingAt    uint64
	backingLen   uint32
	clusterBits  uint32
	virtual      uint64
	crypt        uint32
	l1Entries    uint32
	l1At         uint64
	refTableAt   uint64
	refClusters  uint32
	snapshots    uint32
	snapshotsAt  uint64
	incompatible uint64
	autoclear    uint64
	refOrder     uint32
	headerLen    uint32
	compression  byte

	// meta marks the clusters that hold tables.
	meta bitset
	// data marks the clusters that hold data.
	data bitset
}

func (q *qcow2) cluster() uint64 { return 1 << q.clusterBits }

// qcow2 inspects an image of version 2 or 3.
func (x *inspection) qcow2() error {
	q := &qcow2{inspection: x}
	if ok, err := q.header(); !ok {
		return err
	}
	q.report.VirtualSizeBytes = int64(min(q.virtual, 1<<63-1))
	q.features()
	if !q.geometry() {
		return nil
	}
	if ok, err := q.extensions(); !ok {
		return err
	}
	if q.report.rejected() || !q.virtualSize(q.virtual) || !q.places() {
		return nil
	}
	for _, step := range []func() (bool, error){q.refcounts, q.snapshotTable, q.mapping, q.countedUse} {
		if ok, err := step(); !ok {
			return err
		}
	}
	return nil
}

// header reads the fixed fields; false when there are none.
func (q *qcow2) header() (bool, error) {
	h, err := q.in.at(0, qcowHeaderV3+1)
	if err != nil {
		return false, err
	}
	be := binary.BigEndian
	if len(h) < 8 {
		q.report.reject(artifact.TruncatedHeader, "the file ends inside the qcow2 header, at byte %d", len(h))
		return false, nil
	}
	q.version = be.Uint32(h[4:])
	need := map[uint32]int{2: qcowHeaderV2, 3: qcowHeaderV3}[q.version]
	if need == 0 {
		q.report.reject(artifact.UnsupportedVersion, "qcow2 version %d; 2 and 3 are known", q.version)
		return false, nil
	}
	if len(h) < need {
		q.report.reject(artifact.TruncatedHeader, "the file ends inside the qcow2 header, at byte %d", len(h))
		return false, nil
	}
	q.backingAt, q.backingLen, q.clusterBits = be.Uint64(h[8:]), be.Uint32(h[16:]), be.Uint32(h[20:])
	q.virtual, q.crypt, q.l1Entries, q.l1At = be.Uint64(h[24:]), be.Uint32(h[32:]), be.Uint32(h[36:]), be.Uint64(h[40:])
	q.refTableAt, q.refClusters = be.Uint64(h[48:]), be.Uint32(h[56:])
	q.snapshots, q.snapshotsAt = be.Uint32(h[60:]), be.Uint64(h[64:])
	q.refOrder, q.headerLen = 4, qcowHeaderV2
	if q.version == 3 {
		q.incompatible, q.autoclear = be.Uint64(h[72:]), be.Uint64(h[88:])
		q.refOrder, q.headerLen = be.Uint32(h[96:]), be.Uint32(h[100:])
		if q.headerLen > qcowHeaderV3 && len(h) > qcowHeaderV3 {
			q.compression = h[qcowHeaderV3]
		}
	}
	return true, nil
}

// features judges everything that says by itself what the image needs.
func (q *qcow2) features() {
	r, bits := q.report, q.incompatible
	if q.backingAt != 0 || q.backingLen != 0 {
		r.reject(artifact.BackingFile, "the image needs a backing file (name at byte %d, %d bytes long)", q.backingAt, q.backingLen)
	}
	if bits&qcowDataFile != 0 {
		r.reject(artifact.ExternalDataFile, "the image keeps its data in another file (incompatible bit 2)")
	}
	if q.crypt != 0 {
		r.reject(artifact.Encrypted, "the image is encrypted (method %d)", q.crypt)
	}
	if bits&^qcowKnown != 0 {
		r.reject(artifact.UnknownIncompatBit, "incompatible feature bits %#x are set, which nobody defined", bits&^qcowKnown)
	}
	if bits&qcowCorrupt != 0 {
		r.reject(artifact.CorruptBit, "the image is marked as corrupt")
	}
	if bits&qcowExtendedL2 != 0 {
		r.reject(artifact.ExtendedL2, "the image has extended L2 entries, which CloudStack refuses")
	}
	if bits&qcowDirty != 0 {
		r.warn(artifact.DirtyBit, "the image was not closed cleanly")
	}
	if marked := bits&qcowCompression != 0; marked != (q.compression != 0) || q.compression > 1 {
		r.reject(artifact.BadHeader, "compression type %d and the feature bit for it do not fit", q.compression)
	} else if marked {
		r.warn(artifact.ZstdCompression, "clusters are compressed with zstd: the hosts need qemu 5.1")
	}
	if q.snapshots != 0 {
		r.warn(artifact.InternalSnapshot, "the image carries %d internal snapshots", q.snapshots)
	}
}

// geometry checks the numbers that everything else is computed with.
func (q *qcow2) geometry() bool {
	r := q.report
	switch {
	case q.clusterBits < 9 || q.clusterBits > 21:
		r.reject(artifact.BadHeader, "clusters of 2^%d bytes; 2^9 to 2^21 are possible", q.clusterBits)
	case q.refOrder > 6:
		r.reject(artifact.BadHeader, "refcounts of 2^%d bits; 64 bits are the most", q.refOrder)
	case q.version == 3 && (q.headerLen < qcowHeaderV3 || q.headerLen%8 != 0 || uint64(q.headerLen) > q.cluster()):
		r.reject(artifact.BadHeader, "a header length of %d bytes", q.headerLen)
	case q.virtual == 0 || q.virtual%sectorSize != 0:
		r.reject(artifact.BadHeader, "a virtual size of %d bytes, which is no positive multiple of 512", q.virtual)
	default:
		return true
	}
	return false
}

// extensions walks the header extensions, which lie between the header and the end of the first cluster. An end of the
// file in there is a cut header only inside an extension: a file may be shorter than its first cluster.
func (q *qcow2) extensions() (bool, error) {
	end := min(q.cluster(), uint64(q.in.size))
	if q.backingAt > uint64(q.headerLen) && q.backingAt < end {
		end = q.backingAt
	}
	off := uint64(q.headerLen)
	for range qcowMaxExts {
		if off+8 > end {
			return true, nil
		}
		h, err := q.in.at(int64(off), 8)
		if err != nil {
			return false, err
		}
		id, n := binary.BigEndian.Uint32(h), uint64(binary.BigEndian.Uint32(h[4:]))
		if id == qcowExtEnd {
			return true, nil
		}
		off += 8
		if n > end-off {
			code := artifact.BadHeader
			if off+n <= q.cluster() && q.backingAt == 0 {
				code = artifact.TruncatedHeader
			}
			q.report.reject(code, "header extension %#08x of %d bytes does not fit in", id, n)
			return false, nil
		}
		if err := q.extension(id, off, n); err != nil {
			return false, err
		}
		off += (n + 7) &^ 7
	}
	q.report.reject(artifact.TooManyEntries, "the header has more than %d extensions", qcowMaxExts)
	return false, nil
}

// extension judges one header extension; those nobody knows are harmless by definition.
func (q *qcow2) extension(id uint32, off, n uint64) error {
	switch id {
	case qcowExtDataFile:
		q.report.reject(artifact.ExternalDataFile, "the image names an external data file")
	case qcowExtEncrypted:
		q.report.reject(artifact.Encrypted, "the image has an encryption header")
	case qcowExtBacking:
		if q.backingAt == 0 && q.backingLen == 0 {
			q.report.warn(artifact.BackingFormatWithoutName, "the image names the format of a backing file, but no backing file")
		}
	case qcowExtBitmaps:
		if q.autoclear&qcowAutoclearBitmaps == 0 || n < 24 {
			return nil
		}
		h, err := q.in.at(int64(off), 24)
		if err != nil {
			return err
		}
		size, at := binary.BigEndian.Uint64(h[8:]), binary.BigEndian.Uint64(h[16:])
		if !q.in.holds(at, size) {
			q.report.reject(artifact.TruncatedImage, "the bitmap directory at byte %d lies outside the file", at)
		}
	}
	return nil
}

// places checks where the tables lie and whether they are large enough.
func (q *qcow2) places() bool {
	r, mask := q.report, q.cluster()-1
	l1Bytes, refBytes := uint64(q.l1Entries)*8, uint64(q.refClusters)<<q.clusterBits
	covered := q.cluster() / 8 << q.clusterBits
	need := (q.virtual-1)/covered + 1
	switch {
	case q.l1At&mask != 0, q.l1At == 0:
		r.reject(artifact.BadHeader, "the L1 table at byte %d does not start a cluster of its own", q.l1At)
	case l1Bytes > qcowMaxL1:
		r.reject(artifact.BadHeader, "an L1 table of %d bytes; %d are the most", l1Bytes, qcowMaxL1)
	case !q.in.holds(q.l1At, l1Bytes):
		r.reject(artifact.L1OutsideFile, "the L1 table at byte %d, %d bytes long, lies outside the file of %d bytes", q.l1At, l1Bytes, q.in.size)
	case uint64(q.l1Entries) < need:
		r.reject(artifact.BadHeader, "an L1 table of %d entries; the virtual size needs %d", q.l1Entries, need)
	case q.refTableAt&mask != 0, q.refTableAt == 0:
		r.reject(artifact.BadHeader, "the refcount table at byte %d does not start a cluster of its own", q.refTableAt)
	case q.refClusters == 0 || refBytes > qcowMaxRefTable:
		r.reject(artifact.BadHeader, "a refcount table of %d bytes; 1 to %d are possible", refBytes, qcowMaxRefTable)
	case !q.in.holds(q.refTableAt, refBytes):
		r.reject(artifact.TruncatedImage, "the refcount table at byte %d lies outside the file", q.refTableAt)
	default:
		return true
	}
	return false
}
