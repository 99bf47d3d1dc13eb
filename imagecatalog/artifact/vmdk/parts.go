package vmdk

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
)

const (
	overhead       = 128 // sectors in front of the first grain
	directoryAtEnd = 1<<64 - 1
	// flags say that line ends can be tested, that grains are deflated, and that markers stand in front of everything.
	flags = 1<<0 | 1<<16 | 1<<17

	endOfStream    = 0
	grainTable     = 1
	grainDirectory = 2
	footer         = 3
)

// header stands at the begin, without the place of the directory, and again at the end with it.
func header(capacity int64, directory uint64) []byte {
	le := binary.LittleEndian
	b := make([]byte, disk.Sector)
	copy(b, "KDMV")
	le.PutUint32(b[4:], 3)
	le.PutUint32(b[8:], flags)
	le.PutUint64(b[12:], uint64(capacity))
	le.PutUint64(b[20:], grainSectors)
	le.PutUint64(b[28:], 1) // the text follows in the next sector
	le.PutUint64(b[36:], overhead-1)
	le.PutUint32(b[44:], inTable)
	le.PutUint64(b[56:], directory)
	le.PutUint64(b[64:], overhead)
	copy(b[73:], "\n \r\n")
	le.PutUint16(b[77:], 1) // deflate
	return b
}

// marker opens something of so many bytes.
func marker(size int, kind uint32) []byte {
	b := make([]byte, disk.Sector)
	binary.LittleEndian.PutUint64(b, uint64(size/disk.Sector))
	binary.LittleEndian.PutUint32(b[12:], kind)
	return b
}

// descriptor is the text that VMware reads first. The id of the content only has to differ from the one that means "no
// parent"; it is made from the name, so that the same disk gives the same file.
func descriptor(capacity int64, name string) ([]byte, error) {
	if name == "" || strings.ContainsAny(name, "\"\\/\n\r\x00") || len(name) > 255 {
		return nil, fmt.Errorf("%q cannot be the name of a VMDK", name)
	}
	id := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s %d", name, capacity)))
	heads, sectors := geometry(capacity)
	b := make([]byte, (overhead-1)*disk.Sector)
	copy(b, fmt.Sprintf(`# Disk DescriptorFile
version=1
encoding="UTF-8"
CID=0%s
parentCID=ffffffff
createType="streamOptimized"

# Extent description
RW %d SPARSE "%s"

# The Disk Data Base
#DDB

ddb.adapterType = "lsilogic"
ddb.geometry.cylinders = "%d"
ddb.geometry.heads = "%d"
ddb.geometry.sectors = "%d"
ddb.longContentID = "%s0%s"
ddb.virtualHWVersion = "13"
`, id[:7], capacity, name, max(capacity/(heads*sectors), 1), heads, sectors, id[8:32], id[:7]))
	return b, nil
}

// geometry is how VMware counts the heads and sectors of SCSI disks.
func geometry(capacity int64) (heads, sectors int64) {
	const gib = 1 << 30 / disk.Sector
	switch {
	case capacity < gib:
		return 64, 32
	case capacity < 2*gib:
		return 128, 32
	default:
		return 255, 63
	}
}
