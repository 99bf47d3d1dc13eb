// Package islands is a disk for tests: some bytes in a sea of zeros.
package islands

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
)

// Disk has Bytes at their offsets and zeros everywhere else.
type Disk struct {
	Bytes   map[int64][]byte
	Virtual int64
}

// New puts an island of noise, so many bytes long, at every offset; what would lie behind the end is left out. The same
// arguments give the same disk.
func New(virtual int64, length int, offsets ...int64) Disk {
	d := Disk{Virtual: virtual, Bytes: map[int64][]byte{}}
	for _, at := range offsets {
		noise := rand.NewChaCha8([32]byte{byte(at), byte(at >> 8), byte(at >> 16), byte(at >> 24), 1})
		p := make([]byte, max(min(int64(length), virtual-at), 0))
		_, _ = noise.Read(p)
		for i := len(p) / 2; i < len(p); i++ { // half of it can be compressed
			p[i] = p[i%97]
		}
		d.Bytes[at] = p
	}
	return d
}

// Size is the virtual size in bytes.
func (d Disk) Size() int64 { return d.Virtual }

// ReadAt reads the disk.
func (d Disk) ReadAt(p []byte, offset int64) (int, error) {
	if offset >= d.Virtual {
		return 0, io.EOF
	}
	n := min(int64(len(p)), d.Virtual-offset)
	clear(p[:n])
	for at, bytes := range d.Bytes {
		if from, to := max(at, offset), min(at+int64(len(bytes)), offset+n); from < to {
			copy(p[from-offset:to-offset], bytes[from-at:])
		}
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// Next is the first island, or the rest of one, at or after offset.
func (d Disk) Next(offset int64) (begin, end int64, err error) {
	begin, end = d.Virtual, d.Virtual
	for at, bytes := range d.Bytes {
		if last := at + int64(len(bytes)); last > offset && max(at, offset) < begin {
			begin, end = max(at, offset), last
		}
	}
	return begin, end, nil
}

// Sectors are all sectors that are not zero, by number.
func (d Disk) Sectors() map[int64][disk.Sector]byte {
	s := Sectors{}
	for at, bytes := range d.Bytes {
		first := at / disk.Sector
		for i := first; i*disk.Sector < at+int64(len(bytes)); i++ {
			var p [disk.Sector]byte
			_, _ = d.ReadAt(p[:], i*disk.Sector)
			s.Add(i*disk.Sector, p[:])
		}
	}
	return s
}

// Sectors collects the sectors of a disk that are not zero, by number.
type Sectors map[int64][disk.Sector]byte

// Add notes what lies at an offset.
func (s Sectors) Add(offset int64, p []byte) {
	for sector := range slices.Chunk(p, disk.Sector) {
		if !disk.IsZero(sector) {
			s[offset/disk.Sector] = [disk.Sector]byte(sector)
		}
		offset += disk.Sector
	}
}

// Diff says where two disks differ first, "" when they do not.
func Diff(want, got map[int64][disk.Sector]byte) string {
	for i, w := range want {
		if g, found := got[i]; !found || g != w {
			return fmt.Sprintf("sector %d reads back differently (stored: %t)", i, found)
		}
	}
	for i := range got {
		if _, found := want[i]; !found {
			return fmt.Sprintf("sector %d is not zero", i)
		}
	}
	return ""
}
