package images

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	vhdBlock   = 2 << 20
	vhdDynamic = 3
	vhdUnused  = 0xffffffff
	vhdEpoch   = 946684800 // 2000-01-01 in Unix seconds, where VHD time begins
	vhdMade    = 1704067200
)

// DynamicVHD writes a dynamic VHD with blocks of 2 MiB as XenServer's tools make it. Blocks of zeros are left out.
// VirtualSize is in bytes, a multiple of 512.
func DynamicVHD(w io.Writer, virtualSize int64, content Content) error {
	d, err := newDisk(content, virtualSize, vhdBlock)
	if err != nil {
		return fmt.Errorf("making VHD: %w", err)
	}
	footer := vhdFooter(virtualSize)
	table := vhdTable(d)
	for _, part := range [][]byte{footer, vhdDynamicHeader(len(d.stored)), table} {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("writing VHD: %w", err)
		}
	}
	bitmap := make([]byte, sector)
	for i := range bitmap {
		bitmap[i] = 0xff
	}
	err = d.each(func(_ int64, data []byte) error {
		if _, err := w.Write(bitmap); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("writing VHD: %w", err)
	}
	_, err = w.Write(footer)
	return err
}

func vhdFooter(virtualSize int64) []byte {
	be := binary.BigEndian
	b := make([]byte, sector)
	copy(b, "conectix")
	be.PutUint32(b[8:], 2)        // reserved bit, always set
	be.PutUint32(b[12:], 0x10000) // version 1.0
	be.PutUint64(b[16:], sector)  // the dynamic header follows the copy of the footer
	be.PutUint32(b[24:], vhdMade-vhdEpoch)
	copy(b[28:], "tap\x00")
	be.PutUint32(b[32:], 0x10003)
	be.PutUint64(b[40:], uint64(virtualSize))
	be.PutUint64(b[48:], uint64(virtualSize))
	cylinders, heads, sectors := geometry(virtualSize / sector)
	be.PutUint16(b[56:], uint16(cylinders))
	b[58], b[59] = byte(heads), byte(sectors)
	be.PutUint32(b[60:], vhdDynamic)
	copy(b[68:], "made by capcat..") // a UUID: any 16 bytes
	be.PutUint32(b[64:], checksum(b))
	return b
}

func vhdDynamicHeader(blocks int) []byte {
	be := binary.BigEndian
	b := make([]byte, 1024)
	copy(b, "cxsparse")
	be.PutUint64(b[8:], 1<<64-1) // no next header
	be.PutUint64(b[16:], sector+1024)
	be.PutUint32(b[24:], 0x10000)
	be.PutUint32(b[28:], uint32(blocks))
	be.PutUint32(b[32:], vhdBlock)
	be.PutUint32(b[36:], checksum(b))
	return b
}

// vhdTable gives each block the sector at which its bitmap begins.
func vhdTable(d *disk) []byte {
	b := make([]byte, ceil(int64(len(d.stored))*4, sector)*sector)
	for i := range b {
		b[i] = 0xff
	}
	next := uint32(3 + len(b)/sector)
	for i, stored := range d.stored {
		if stored {
			binary.BigEndian.PutUint32(b[i*4:], next)
			next += 1 + vhdBlock/sector
		}
	}
	return b
}

// checksum of a VHD structure whose checksum field is still zero: the complement of the sum of its bytes.
func checksum(b []byte) uint32 {
	var sum uint32
	for _, c := range b {
		sum += uint32(c)
	}
	return ^sum
}

// geometry is the drive geometry that the VHD specification derives from a number of sectors.
func geometry(total int64) (cylinders, heads, sectors int64) {
	total = min(total, 65535*16*255)
	if total >= 65535*16*63 {
		return total / 255 / 16, 16, 255
	}
	sectors = 17
	heads = max(ceil(total/sectors, 1024), 4)
	if total/sectors >= heads*1024 || heads > 16 {
		sectors, heads = 31, 16
	}
	if total/sectors >= heads*1024 {
		sectors, heads = 63, 16
	}
	return total / sectors / heads, heads, sectors
}
