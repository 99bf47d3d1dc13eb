package images

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
)

const (
	grain         = 64 << 10
	grainSectors  = grain / sector
	grainsInTable = 512
	overhead      = 128 // sectors before the first grain
	markEnd       = 0
	markTable     = 1
	markDirectory = 2
	markFooter    = 3
)

// VMDK writes a streamOptimized VMDK: grains of 64 KiB, each deflated. Grains of zeros are left out. VirtualSize is in
// bytes, a multiple of 64 KiB.
func VMDK(w io.Writer, virtualSize int64, content Content) error {
	if virtualSize%grain != 0 {
		return fmt.Errorf("making VMDK: virtual size %d is not a multiple of %d", virtualSize, grain)
	}
	d, err := newDisk(content, virtualSize, grain)
	if err != nil {
		return fmt.Errorf("making VMDK: %w", err)
	}
	v := &vmdk{w: w, capacity: virtualSize / sector, directory: make([]uint32, ceil(virtualSize/grain, grainsInTable))}
	if err := v.write(d); err != nil {
		return fmt.Errorf("writing VMDK: %w", err)
	}
	return nil
}

// vmdk is a VMDK while it is written; at counts sectors.
type vmdk struct {
	w         io.Writer
	capacity  int64
	at        uint32
	table     [grainsInTable]uint32
	directory []uint32
	deflated  bytes.Buffer
}

func (v *vmdk) write(d *disk) error {
	const atEnd = 1<<64 - 1 // the directory is found through the footer
	if err := v.put(v.header(atEnd), v.descriptor()); err != nil {
		return err
	}
	current := int64(0)
	err := d.each(func(i int64, data []byte) error {
		if i/grainsInTable != current {
			if err := v.flush(current); err != nil {
				return err
			}
			current = i / grainsInTable
		}
		v.table[i%grainsInTable] = v.at
		return v.grain(i, data)
	})
	if err != nil {
		return err
	}
	if err := v.flush(current); err != nil {
		return err
	}
	return v.finish()
}

// finish writes the grain directory, the footer and the end of the stream.
func (v *vmdk) finish() error {
	directory := make([]byte, ceil(int64(len(v.directory))*4, sector)*sector)
	for i, at := range v.directory {
		binary.LittleEndian.PutUint32(directory[i*4:], at)
	}
	if err := v.put(marker(len(directory)/sector, markDirectory)); err != nil {
		return err
	}
	at := v.at
	return v.put(directory, marker(1, markFooter), v.header(uint64(at)), marker(0, markEnd))
}

// flush writes the grain table number i if a grain is in it.
func (v *vmdk) flush(i int64) error {
	b := make([]byte, grainsInTable*4)
	used := uint32(0)
	for j, at := range v.table {
		binary.LittleEndian.PutUint32(b[j*4:], at)
		used |= at
	}
	if used == 0 {
		return nil
	}
	clear(v.table[:])
	if err := v.put(marker(len(b)/sector, markTable)); err != nil {
		return err
	}
	v.directory[i] = v.at
	return v.put(b)
}

// grain writes one deflated grain behind its marker: the sector it belongs to and its size.
func (v *vmdk) grain(i int64, data []byte) error {
	v.deflated.Reset()
	v.deflated.Write(make([]byte, 12))
	z := zlib.NewWriter(&v.deflated)
	if _, err := z.Write(data); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	size := v.deflated.Len() - 12
	v.deflated.Write(make([]byte, -v.deflated.Len()&(sector-1)))
	b := v.deflated.Bytes()
	binary.LittleEndian.PutUint64(b, uint64(i*grainSectors))
	binary.LittleEndian.PutUint32(b[8:], uint32(size))
	return v.put(b)
}

func (v *vmdk) put(parts ...[]byte) error {
	for _, b := range parts {
		if _, err := v.w.Write(b); err != nil {
			return err
		}
		v.at += uint32(len(b) / sector)
	}
	return nil
}

func (v *vmdk) header(directory uint64) []byte {
	le := binary.LittleEndian
	b := make([]byte, sector)
	copy(b, "KDMV")
	le.PutUint32(b[4:], 3)
	le.PutUint32(b[8:], 0x30001) // newline test, compressed grains, markers
	le.PutUint64(b[12:], uint64(v.capacity))
	le.PutUint64(b[20:], grainSectors)
	le.PutUint64(b[28:], 1) // descriptor: one sector in,
	le.PutUint64(b[36:], overhead-1)
	le.PutUint32(b[44:], grainsInTable)
	le.PutUint64(b[56:], directory)
	le.PutUint64(b[64:], overhead)
	copy(b[73:], "\n \r\n")
	le.PutUint16(b[77:], 1) // deflate
	return b
}

func (v *vmdk) descriptor() []byte {
	b := make([]byte, (overhead-1)*sector)
	copy(b, fmt.Sprintf(`# Disk DescriptorFile
version=1
CID=5f3759df
parentCID=ffffffff
createType="streamOptimized"

# Extent description
RW %d SPARSE "disk.vmdk"

# The Disk Data Base
#DDB

ddb.adapterType = "lsilogic"
ddb.geometry.cylinders = "%d"
ddb.geometry.heads = "255"
ddb.geometry.sectors = "63"
ddb.virtualHWVersion = "11"
`, v.capacity, ceil(v.capacity, 255*63)))
	return b
}

// marker opens a metadata block of so many sectors.
func marker(sectors int, kind uint32) []byte {
	b := make([]byte, sector)
	binary.LittleEndian.PutUint64(b, uint64(sectors))
	binary.LittleEndian.PutUint32(b[12:], kind)
	return b
}
