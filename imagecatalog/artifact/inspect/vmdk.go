package inspect

import (
	"encoding/binary"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	vmdkNewlineTest = 1 << 0
	vmdkRedundant   = 1 << 1
	vmdkZeroGrains  = 1 << 2
	vmdkCompressed  = 1 << 16
	vmdkMarkers     = 1 << 17

	vmdkGDAtEnd     = 1<<64 - 1
	vmdkGTEntries   = 512
	vmdkGTSize      = vmdkGTEntries * 4
	vmdkMinGrain    = 8
	vmdkMaxGrain    = 2048
	vmdkMaxText     = 1 << 20
	vmdkMarkerLen   = 12
	vmdkFooterType  = 3
	vmdkNewlines    = "\n \r\n"
	vmdkTrailerSize = 3 * sectorSize
)

// vmdkHeader is the header of a sparse extent; lengths and places are in sectors.
type vmdkHeader struct {
	version   uint32
	flags     uint32
	capacity  uint64
	grain     uint64
	textAt    uint64
	textSize  uint64
	gtEntries uint32
	redundant uint64
	gd        uint64
	overhead  uint64
	unclean   byte
	newlines  string
	deflate   uint16
}

func parseVMDKHeader(p []byte) vmdkHeader {
	le := binary.LittleEndian
	return vmdkHeader{
		version: le.Uint32(p[4:]), flags: le.Uint32(p[8:]), capacity: le.Uint64(p[12:]), grain: le.Uint64(p[20:]),
		textAt: le.Uint64(p[28:]), textSize: le.Uint64(p[36:]), gtEntries: le.Uint32(p[44:]),
		redundant: le.Uint64(p[48:]), gd: le.Uint64(p[56:]), overhead: le.Uint64(p[64:]),
		unclean: p[72], newlines: string(p[73:77]), deflate: le.Uint16(p[77:]),
	}
}

// vmdk is a disk in one sparse extent.
type vmdk struct {
	*inspection
	vmdkHeader
	createType string
	// used marks the sectors where a grain table or a grain starts.
	used bitset
}

// streamed says whether the header is that of a streamOptimized disk.
func (h vmdkHeader) streamed() bool {
	return h.flags&vmdkCompressed != 0 && h.flags&vmdkMarkers != 0 && h.deflate == 1
}

func (x *inspection) vmdk(found kind) error {
	if isDescriptor(found.head) {
		return x.descriptorOnly()
	}
	if len(found.head) < sectorSize {
		x.report.reject(artifact.TruncatedHeader, "the file ends inside the VMDK header, at byte %d", len(found.head))
		return nil
	}
	if string(found.head[:4]) != vmdkMagic {
		x.report.reject(artifact.UnsupportedVersion, "an extent of the old ESX kind (COWD)")
		return nil
	}
	v := &vmdk{inspection: x, vmdkHeader: parseVMDKHeader(found.head)}
	if !v.judge() {
		return nil
	}
	if x.in.size%sectorSize != 0 {
		x.report.reject(artifact.TruncatedImage, "the file of %d bytes ends inside a sector", x.in.size)
		return nil
	}
	for _, step := range []func() (bool, error){v.text, v.footer, v.directory} {
		if ok, err := step(); !ok {
			return err
		}
	}
	return nil
}

// consistentFlags says whether compression, markers and method go together.
func (h vmdkHeader) consistentFlags() bool {
	if h.flags&vmdkCompressed == 0 {
		return h.deflate == 0 && h.flags&vmdkMarkers == 0
	}
	return h.deflate == 1
}

// plausibleGrain says whether grains are of a size that a disk can have.
func (h vmdkHeader) plausibleGrain() bool {
	return h.grain >= vmdkMinGrain && h.grain <= vmdkMaxGrain && h.grain&(h.grain-1) == 0
}

// judge checks what the header says by itself.
func (v *vmdk) judge() bool {
	r := v.report
	if v.capacity < 1<<54 {
		r.VirtualSizeBytes = int64(v.capacity * sectorSize)
	}
	switch {
	case v.version < 1 || v.version > 3:
		r.reject(artifact.UnsupportedVersion, "VMDK version %d; 1 to 3 are known", v.version)
	case v.flags&vmdkNewlineTest != 0 && v.newlines != vmdkNewlines:
		r.reject(artifact.BadHeader, "the line end test of the VMDK header fails: the file went through a text conversion")
	case v.capacity == 0:
		r.reject(artifact.BadHeader, "a capacity of 0 sectors")
	case !v.virtualSize(mulSat(v.capacity, sectorSize)):
	case !v.plausibleGrain():
		r.reject(artifact.BadHeader, "grains of %d sectors", v.grain)
	case v.gtEntries != vmdkGTEntries:
		r.reject(artifact.BadHeader, "grain tables of %d entries; 512 is the number", v.gtEntries)
	case !v.consistentFlags():
		r.reject(artifact.BadHeader, "the flags %#x and compression method %d do not fit together", v.flags, v.deflate)
	case !v.in.holds(0, mulSat(v.overhead, sectorSize)):
		r.reject(artifact.TruncatedImage, "the metadata, %d sectors long, does not fit into the file", v.overhead)
	default:
		if v.unclean != 0 {
			r.warn(artifact.DirtyBit, "the VMDK was not closed cleanly")
		}
		return true
	}
	return false
}

// text reads the embedded descriptor.
func (v *vmdk) text() (bool, error) {
	r := v.report
	at, size := mulSat(v.textAt, sectorSize), mulSat(v.textSize, sectorSize)
	switch {
	case v.textAt == 0 || v.textSize == 0:
		r.reject(artifact.MissingDescriptor, "the VMDK has no embedded descriptor: it is a part of a split disk")
		return false, nil
	case size > vmdkMaxText:
		r.reject(artifact.BadHeader, "a descriptor of %d bytes; %d are the most", size, vmdkMaxText)
		return false, nil
	case !v.in.holds(at, size):
		r.reject(artifact.TruncatedImage, "the descriptor at byte %d lies outside the file", at)
		return false, nil
	}
	p, err := v.in.at(int64(at), int(size))
	if err != nil {
		return false, err
	}
	d := parseDescriptor(p)
	v.createType = d.createType
	v.judgeDescriptor(d)
	if !v.streamed() || d.createType != "streamOptimized" {
		if v.inOVA {
			r.reject(artifact.NotStreamOptimized, "the disk in the OVA is %q, not streamOptimized", d.createType)
		} else {
			r.warn(artifact.NotStreamOptimized, "the VMDK is %q, not streamOptimized", d.createType)
		}
	}
	return !r.rejected(), nil
}

// judgeDescriptor refuses everything that points to another file.
func (v *vmdk) judgeDescriptor(d vmdkDescriptor) {
	r := v.report
	switch {
	case !d.valid:
		r.reject(artifact.MissingDescriptor, "the place of the descriptor holds none: the VMDK is a part of a split disk")
	case d.hasParent():
		r.reject(artifact.ParentHint, "the VMDK needs a parent (parentCID %.16q, hint %.80q)", d.parentCID, d.parentHint)
	case d.encrypted:
		r.reject(artifact.Encrypted, "the VMDK is encrypted")
	case len(d.extents) == 0:
		r.reject(artifact.BadHeader, "the descriptor names no extent")
	case d.tooMany || len(d.extents) > 1:
		r.reject(artifact.ExternalDataFile, "the descriptor names several extents; all but one are other files")
	case d.extents[0].kind != "SPARSE":
		r.reject(artifact.ExternalDataFile, "the extent is of kind %.16q, which lies in another file", d.extents[0].kind)
	case d.extents[0].outside():
		r.reject(artifact.ExternalDataFile, "the extent is named %.80q, which is a path", d.extents[0].file)
	case d.extents[0].sectors != v.capacity:
		r.reject(artifact.BadHeader, "the extent has %d sectors, the header says %d", d.extents[0].sectors, v.capacity)
	}
}

// footer reads the copy of the header at the end, which alone knows where the grain directory of a streamed disk is.
func (v *vmdk) footer() (bool, error) {
	if v.gd != vmdkGDAtEnd {
		return true, nil
	}
	if v.in.size < vmdkTrailerSize+sectorSize {
		v.report.reject(artifact.TruncatedImage, "the VMDK ends without its footer")
		return false, nil
	}
	p, err := v.in.at(v.in.size-vmdkTrailerSize, vmdkTrailerSize)
	if err != nil {
		return false, err
	}
	marker, foot, end := p[:sectorSize], p[sectorSize:2*sectorSize], p[2*sectorSize:]
	if string(foot[:4]) != vmdkMagic || !allZero(end[:16]) || binary.LittleEndian.Uint32(marker[12:]) != vmdkFooterType {
		v.report.reject(artifact.TruncatedImage, "the VMDK ends without footer and end marker")
		return false, nil
	}
	f := parseVMDKHeader(foot)
	switch {
	case f.capacity != v.capacity || f.grain != v.grain || f.flags != v.flags || f.gtEntries != v.gtEntries || f.version != v.version:
		v.report.reject(artifact.BadHeader, "header and footer of the VMDK disagree")
	case f.gd == vmdkGDAtEnd || f.gd == 0:
		v.report.reject(artifact.BadHeader, "the footer does not say where the grain directory is")
	default:
		v.gd = f.gd
	}
	return !v.report.rejected(), nil
}

// directory checks the grain directory and everything below it.
func (v *vmdk) directory() (bool, error) {
	tables := (v.capacity-1)/(v.grain*vmdkGTEntries) + 1
	if v.gd == 0 || !v.in.holds(mulSat(v.gd, sectorSize), tables*4) {
		v.report.reject(artifact.TruncatedImage, "the grain directory at sector %d, %d entries long, lies outside the file", v.gd, tables)
		return false, nil
	}
	if v.flags&vmdkRedundant != 0 && v.redundant != 0 && !v.in.holds(mulSat(v.redundant, sectorSize), tables*4) {
		v.report.reject(artifact.TruncatedImage, "the second grain directory at sector %d lies outside the file", v.redundant)
		return false, nil
	}
	v.used = v.in.newBitset(sectorSize)
	var fault error
	grain := uint64(0)
	err := v.in.table(int64(v.gd*sectorSize), int64(tables*4), func(piece []byte) bool {
		for ; len(piece) > 0 && fault == nil && !v.report.rejected(); piece = piece[4:] {
			if at := binary.LittleEndian.Uint32(piece); at != 0 {
				fault = v.grainTable(uint64(at), grain)
			}
			grain += vmdkGTEntries
		}
		return fault == nil && !v.report.rejected()
	})
	if err == nil {
		err = fault
	}
	return err == nil, err
}

// grainTable checks one table of 512 grains. A table or grain that is used twice is refused: it would also let a small
// file ask for endless reading.
func (v *vmdk) grainTable(sector, first uint64) error {
	at := sector * sectorSize
	if !v.in.holds(at, vmdkGTSize) {
		v.report.reject(artifact.TruncatedImage, "the grain table at sector %d lies outside the file", sector)
		return nil
	}
	if !v.used.add(int64(sector)) {
		v.report.reject(artifact.BadTable, "the grain table at sector %d is used twice", sector)
		return nil
	}
	var fault error
	err := v.in.table(int64(at), vmdkGTSize, func(piece []byte) bool {
		for ; len(piece) > 0 && fault == nil && !v.report.rejected(); piece = piece[4:] {
			entry := uint64(binary.LittleEndian.Uint32(piece))
			if entry != 0 && (entry != 1 || v.flags&vmdkZeroGrains == 0) {
				fault = v.grainAt(entry, first)
			}
			first++
		}
		return fault == nil && !v.report.rejected()
	})
	if err == nil {
		err = fault
	}
	return err
}

// grainAt checks one grain: inside the file, and with the marker in front if there are markers.
func (v *vmdk) grainAt(sector, index uint64) error {
	at := sector * sectorSize
	begin := index * v.grain
	visible := uint64(0)
	if begin < v.capacity {
		visible = min(v.grain, v.capacity-begin) * sectorSize
	}
	if v.flags&vmdkCompressed != 0 {
		visible = vmdkMarkerLen
	}
	switch {
	case !v.in.holds(at, visible):
		v.report.reject(artifact.TruncatedImage, "the grain at sector %d lies outside the file of %d bytes", sector, v.in.size)
		return nil
	case !v.used.add(int64(sector)):
		v.report.reject(artifact.BadTable, "the grain at sector %d is used twice", sector)
		return nil
	case v.flags&vmdkCompressed == 0:
		return nil
	}
	var m [vmdkMarkerLen]byte
	if err := v.in.read(m[:], int64(at)); err != nil {
		return err
	}
	lba, size := binary.LittleEndian.Uint64(m[:]), uint64(binary.LittleEndian.Uint32(m[8:]))
	switch {
	case lba != begin || size == 0:
		v.report.reject(artifact.BadTable, "the grain marker at sector %d is for sector %d with %d bytes; the table says sector %d", sector, lba, size, begin)
	case size > 2*v.grain*sectorSize+sectorSize:
		v.report.reject(artifact.BadTable, "the grain at sector %d has %d compressed bytes", sector, size)
	case !v.in.holds(at+vmdkMarkerLen, size):
		v.report.reject(artifact.TruncatedImage, "the grain at sector %d ends outside the file", sector)
	}
	return nil
}
