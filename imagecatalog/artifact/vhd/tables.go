package vhd

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
)

const (
	headerSize = 1024
	version    = 0x00010000
	// creatorVersion is that of blktap, from which on a map of full blocks follows the table of blocks.
	creatorVersion = 0x00010003
	batmapVersion  = 0x00010002
	dynamic        = 3
	tableAt        = disk.Sector + headerSize
)

// footer is the last sector of the file, and the first.
func (f *file) footer() []byte {
	be := binary.BigEndian
	b := make([]byte, disk.Sector)
	copy(b, "conectix")
	be.PutUint32(b[8:], 2) // a reserved bit that is always set
	be.PutUint32(b[12:], version)
	be.PutUint64(b[16:], disk.Sector) // where the header is
	be.PutUint32(b[24:], timestamp(f.options.Created))
	copy(b[28:], "tap\x00")
	be.PutUint32(b[32:], creatorVersion)
	be.PutUint64(b[40:], uint64(f.size)) // original size
	be.PutUint64(b[48:], uint64(f.size)) // current size
	cylinders, heads, sectors := geometry(f.size / disk.Sector)
	be.PutUint16(b[56:], uint16(cylinders))
	b[58], b[59] = byte(heads), byte(sectors)
	be.PutUint32(b[60:], dynamic)
	copy(b[68:84], f.options.ID[:])
	be.PutUint32(b[64:], checksum(b))
	return b
}

// timestamp counts seconds since 2000 began.
func timestamp(t time.Time) uint32 {
	if t.IsZero() {
		return 0
	}
	epoch := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	return uint32(min(max(t.Unix()-epoch.Unix(), 0), 1<<32-1))
}

// header says where the table of blocks is.
func (f *file) header() []byte {
	be := binary.BigEndian
	b := make([]byte, headerSize)
	copy(b, "cxsparse")
	be.PutUint64(b[8:], 1<<64-1) // no further header
	be.PutUint64(b[16:], tableAt)
	be.PutUint32(b[24:], version)
	be.PutUint32(b[28:], uint32(f.blocks))
	be.PutUint32(b[32:], blockSize)
	be.PutUint32(b[36:], checksum(b))
	return b
}

func (f *file) tableSize() int64  { return disk.RoundUp(int64(f.blocks)*4, disk.Sector) }
func (f *file) batmapSize() int64 { return disk.RoundUp((int64(f.blocks)+7)/8, disk.Sector) }

// firstBlock is the first sector behind the tables.
func (f *file) firstBlock() int64 {
	return (tableAt + f.tableSize() + disk.Sector + f.batmapSize()) / disk.Sector
}

// blockTable gives every stored block its place.
func (f *file) blockTable() []byte {
	f.table = make([]uint32, f.blocks)
	for i := range f.table {
		f.table[i] = unused
	}
	next := f.firstBlock()
	for _, block := range f.stored {
		at := bitmapAt(next)
		f.table[block] = uint32(at)
		next = at + 1 + blockSectors
	}
	b := bytes.Repeat([]byte{0xff}, int(f.tableSize()))
	for i, at := range f.table {
		binary.BigEndian.PutUint32(b[i*4:], at)
	}
	return b
}

// batmap is a sector of header and then a bit for every block of which all sectors are there: all that are stored. Files of
// this creator have it, and XenServer does not open one without.
func (f *file) batmap() []byte {
	be := binary.BigEndian
	b := make([]byte, disk.Sector+f.batmapSize())
	bits := b[disk.Sector:]
	for _, block := range f.stored {
		bits[block/8] |= 0x80 >> (block % 8)
	}
	copy(b, "tdbatmap")
	be.PutUint64(b[8:], uint64(tableAt+f.tableSize()+disk.Sector))
	be.PutUint32(b[16:], uint32(f.batmapSize()/disk.Sector))
	be.PutUint32(b[20:], batmapVersion)
	be.PutUint32(b[24:], checksum(bits))
	return b
}

// checksum is the complement of the sum of all bytes, the field for it still being zero.
func checksum(b []byte) uint32 {
	var sum uint32
	for _, c := range b {
		sum += uint32(c)
	}
	return ^sum
}

// geometry is what the specification derives from a number of sectors. It is for old readers: it is mostly less than the
// size, and never more than 127 GiB.
func geometry(total int64) (cylinders, heads, sectors int64) {
	total = min(total, 65535*16*255)
	if total >= 65535*16*63 {
		return total / 255 / 16, 16, 255
	}
	sectors = 17
	heads = max((total/sectors+1023)/1024, 4)
	if total/sectors >= heads*1024 || heads > 16 {
		sectors, heads = 31, 16
	}
	if total/sectors >= heads*1024 {
		sectors, heads = 63, 16
	}
	return total / sectors / heads, heads, sectors
}
