package inspect

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	vhdFooterSize = 512
	vhdHeaderSize = 1024
	vhdVersion    = 0x00010000
	vhdSparse     = "cxsparse"
	vhdNoBlock    = 0xffffffff

	vhdFixed        = 2
	vhdDynamic      = 3
	vhdDifferencing = 4

	vhdMinBlock = 4096
	vhdMaxBlock = 1 << 30
	// vhdMaxCompared bounds how many block places are kept to look for overlaps: 8 TiB of the usual blocks.
	vhdMaxCompared = 4 << 20
)

// vhdFooter is the footer, or its copy in front.
type vhdFooter struct {
	raw      []byte
	version  uint32
	headerAt uint64
	creator  string
	virtual  uint64
	kind     uint32
	uuid     []byte
	sumRight bool
}

func parseVHDFooter(p []byte) vhdFooter {
	be := binary.BigEndian
	return vhdFooter{
		raw: p, version: be.Uint32(p[12:]), headerAt: be.Uint64(p[16:]), creator: string(p[28:32]),
		virtual: be.Uint64(p[48:]), kind: be.Uint32(p[60:]), uuid: p[68:84], sumRight: vhdSum(p, 64) == be.Uint32(p[64:]),
	}
}

// vhdSum is the ones' complement of the sum of all bytes but the four of the sum itself.
func vhdSum(p []byte, at int) uint32 {
	var sum uint32
	for i, b := range p {
		if i < at || i >= at+4 {
			sum += uint32(b)
		}
	}
	return ^sum
}

// vhdDisk is a dynamic disk.
type vhdDisk struct {
	*inspection
	front   vhdFooter
	entries uint32
	batAt   uint64
	block   uint64
	bitmap  uint64
	// end is where the last known thing in the file ends.
	end uint64
}

func (x *inspection) vhd(found kind) error {
	if !bytes.HasPrefix(found.head, []byte(vhdCookie)) {
		return x.vhdFooterOnly()
	}
	if len(found.head) < vhdFooterSize {
		x.report.reject(artifact.TruncatedHeader, "the file ends inside the VHD footer copy, at byte %d", len(found.head))
		return nil
	}
	d := &vhdDisk{inspection: x, front: parseVHDFooter(found.head[:vhdFooterSize])}
	if !d.judge(d.front) {
		return nil
	}
	for _, step := range []func() (bool, error){d.sparseHeader, d.allocation, d.footer} {
		if ok, err := step(); !ok {
			return err
		}
	}
	if strings.HasPrefix(d.front.creator, "qem") && (x.hypervisor == "" || strings.EqualFold(x.hypervisor, "XenServer")) {
		x.report.warn(artifact.QemuCreatedVHD, "the disk was written by qemu, which XenServer was seen to refuse; vhd-util is the safe tool")
	}
	return nil
}

// vhdFooterOnly is for a file whose only footer is at its end.
func (x *inspection) vhdFooterOnly() error {
	tail, err := x.in.at(x.in.size-vhdFooterSize, vhdFooterSize)
	if err != nil {
		return err
	}
	f := parseVHDFooter(tail)
	x.report.VirtualSizeBytes = int64(min(f.virtual, 1<<63-1))
	switch f.kind {
	case vhdFixed:
		x.report.reject(artifact.FixedVHD, "the VHD is fixed, which CloudStack refuses; convert it to a dynamic one")
	case vhdDifferencing:
		x.report.reject(artifact.DifferencingDisk, "the VHD is a differencing disk and lacks the footer copy in front")
	default:
		x.report.reject(artifact.BadMagic, "the VHD lacks the footer copy in front")
	}
	return nil
}

// judge checks what a footer says by itself.
func (d *vhdDisk) judge(f vhdFooter) bool {
	r := d.report
	r.VirtualSizeBytes = int64(min(f.virtual, 1<<63-1))
	switch {
	case !f.sumRight:
		r.reject(artifact.BadFooterChecksum, "the leading footer copy fails its checksum")
	case f.kind == vhdDifferencing:
		r.reject(artifact.DifferencingDisk, "the VHD is a differencing disk: it needs a parent")
	case f.kind == vhdFixed:
		r.reject(artifact.FixedVHD, "the VHD is fixed, which CloudStack refuses; convert it to a dynamic one")
	case f.version != vhdVersion:
		r.reject(artifact.UnsupportedVersion, "VHD version %#x; %#x is known", f.version, vhdVersion)
	case f.kind != vhdDynamic:
		r.reject(artifact.BadHeader, "VHD type %d; 3 (dynamic) is the one to have", f.kind)
	case f.virtual == 0 || f.virtual%sectorSize != 0:
		r.reject(artifact.BadHeader, "a virtual size of %d bytes, which is no positive multiple of 512", f.virtual)
	case !slices.ContainsFunc(f.uuid, func(b byte) bool { return b != 0 }):
		r.reject(artifact.BadHeader, "the UUID of the VHD is zero")
	default:
		return d.virtualSize(f.virtual)
	}
	return false
}

// sparseHeader reads the header of a dynamic disk.
func (d *vhdDisk) sparseHeader() (bool, error) {
	r, at := d.report, d.front.headerAt
	switch {
	case at < vhdFooterSize || at%sectorSize != 0 || at == 1<<64-1:
		r.reject(artifact.BadHeader, "the dynamic header at byte %d overlaps the footer copy or starts no sector", at)
		return false, nil
	case !d.in.holds(at, vhdHeaderSize):
		code := artifact.TruncatedImage
		if d.in.size < vhdFooterSize+vhdHeaderSize {
			code = artifact.TruncatedHeader
		}
		r.reject(code, "the dynamic header at byte %d lies outside the file", at)
		return false, nil
	}
	h, err := d.in.at(int64(at), vhdHeaderSize)
	if err != nil {
		return false, err
	}
	be := binary.BigEndian
	d.batAt, d.entries, d.block = be.Uint64(h[16:]), be.Uint32(h[28:]), uint64(be.Uint32(h[32:]))
	switch {
	case string(h[:8]) != vhdSparse:
		r.reject(artifact.BadHeader, "there is no dynamic header at byte %d", at)
	case vhdSum(h, 36) != be.Uint32(h[36:]):
		r.reject(artifact.BadFooterChecksum, "the dynamic header fails its checksum")
	case be.Uint32(h[24:]) != vhdVersion:
		r.reject(artifact.UnsupportedVersion, "dynamic header version %#x; %#x is known", be.Uint32(h[24:]), vhdVersion)
	case !allZero(h[40:56]), !allZero(h[64:768]):
		r.reject(artifact.DifferencingDisk, "the dynamic header names a parent")
	default:
		return d.blockTable(), nil
	}
	return false, nil
}

// blockTable checks where the block table lies and whether it is large enough.
func (d *vhdDisk) blockTable() bool {
	r, at, size := d.report, d.front.headerAt, uint64(d.entries)*4
	switch {
	case d.block < vhdMinBlock || d.block > vhdMaxBlock || d.block&(d.block-1) != 0:
		r.reject(artifact.BadHeader, "blocks of %d bytes", d.block)
	case uint64(d.entries)*d.block < d.front.virtual:
		r.reject(artifact.BadHeader, "%d blocks of %d bytes are fewer than the virtual size of %d bytes needs", d.entries, d.block, d.front.virtual)
	case !d.in.holds(d.batAt, size):
		r.reject(artifact.TruncatedImage, "the block table at byte %d, %d entries long, lies outside the file", d.batAt, d.entries)
	case d.batAt%sectorSize != 0, overlap(d.batAt, size, 0, vhdFooterSize), overlap(d.batAt, size, at, vhdHeaderSize):
		r.reject(artifact.BadHeader, "the block table at byte %d overlaps a header or starts no sector", d.batAt)
	default:
		d.bitmap = (d.block/sectorSize/8 + sectorSize - 1) &^ (sectorSize - 1)
		d.end = max(at+vhdHeaderSize, (d.batAt+size+sectorSize-1)&^(sectorSize-1))
		return true
	}
	return false
}

// overlap says whether two stretches share a byte; neither may reach beyond the largest number.
func overlap(a, aLen, b, bLen uint64) bool { return a < b+bLen && b < a+aLen }

func allZero(p []byte) bool {
	return !slices.ContainsFunc(p, func(b byte) bool { return b != 0 })
}

// allocation checks that every block lies inside the file, behind the tables and apart from the others.
func (d *vhdDisk) allocation() (bool, error) {
	var places []uint32
	span := d.bitmap + d.block
	err := d.in.table(int64(d.batAt), int64(d.entries)*4, func(piece []byte) bool {
		for ; len(piece) > 0 && !d.report.rejected(); piece = piece[4:] {
			sector := binary.BigEndian.Uint32(piece)
			if sector == vhdNoBlock {
				continue
			}
			at := uint64(sector) * sectorSize
			switch {
			case overlap(at, span, 0, vhdFooterSize), overlap(at, span, d.front.headerAt, vhdHeaderSize), overlap(at, span, d.batAt, uint64(d.entries)*4):
				d.report.reject(artifact.BadTable, "the block at byte %d overlaps a table", at)
			case !d.in.holds(at, span):
				d.report.reject(artifact.TruncatedImage, "the block at byte %d lies outside the file of %d bytes", at, d.in.size)
			}
			d.end = max(d.end, at+span)
			if len(places) < vhdMaxCompared {
				places = append(places, sector)
			}
		}
		return !d.report.rejected()
	})
	if err != nil || d.report.rejected() {
		return false, err
	}
	slices.Sort(places)
	for i := 1; i < len(places); i++ {
		if uint64(places[i]-places[i-1])*sectorSize < span {
			d.report.reject(artifact.BadTable, "the block at byte %d overlaps another", uint64(places[i])*sectorSize)
			return false, nil
		}
	}
	return true, nil
}

// footer compares the footer at the end with the copy in front.
func (d *vhdDisk) footer() (bool, error) {
	r := d.report
	tail, err := d.in.at(d.in.size-vhdFooterSize, vhdFooterSize)
	if err != nil {
		return false, err
	}
	if !bytes.HasPrefix(tail, []byte(vhdCookie)) || uint64(d.in.size) < d.end+vhdFooterSize {
		return false, d.noFooter()
	}
	f := parseVHDFooter(tail)
	switch {
	case !f.sumRight:
		r.reject(artifact.BadFooterChecksum, "the footer at the end fails its checksum")
	case f.virtual != d.front.virtual, f.kind != d.front.kind, !bytes.Equal(f.uuid, d.front.uuid), f.headerAt != d.front.headerAt:
		r.reject(artifact.BadHeader, "the footer at the end and its copy in front disagree on size, type or UUID")
	}
	return !r.rejected(), nil
}

// noFooter tells a file that was cut from one that goes on behind its footer.
func (d *vhdDisk) noFooter() error {
	p, err := d.in.at(int64(d.end), vhdFooterSize)
	if err != nil {
		return err
	}
	if len(p) == vhdFooterSize && bytes.HasPrefix(p, []byte(vhdCookie)) {
		d.report.reject(artifact.TrailingGarbage, "%d bytes follow the VHD footer", d.in.size-int64(d.end)-vhdFooterSize)
		return nil
	}
	d.report.reject(artifact.TruncatedImage, "the VHD ends without its footer")
	return nil
}
