package inspect_test

import (
	"encoding/binary"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
)

// tinyQCOW2 is a whole image of six clusters of 512 bytes: header, refcount table, refcount block, L1, L2, data.
func tinyQCOW2() []byte {
	p := make([]byte, 6*512)
	be := binary.BigEndian
	copy(p, "QFI\xfb")
	be.PutUint32(p[4:], 3)
	be.PutUint32(p[20:], 9)
	be.PutUint64(p[24:], 8*512)
	be.PutUint32(p[36:], 1)
	be.PutUint64(p[40:], 3*512)
	be.PutUint64(p[48:], 512)
	be.PutUint32(p[56:], 1)
	be.PutUint32(p[96:], 4)
	be.PutUint32(p[100:], 112)
	be.PutUint64(p[512:], 2*512)
	for i := range 6 {
		be.PutUint16(p[2*512+2*i:], 1)
	}
	be.PutUint64(p[3*512:], 1<<63|4*512)
	be.PutUint64(p[4*512:], 1<<63|5*512)
	return p
}

// tinyVMDK is a whole sparse disk of one grain of 4 KiB, with a grain table for more.
func tinyVMDK() []byte {
	text := "# Disk DescriptorFile\nversion=1\nparentCID=ffffffff\ncreateType=\"monolithicSparse\"\nRW 64 SPARSE \"t.vmdk\"\n"
	p := make([]byte, 15*512)
	le := binary.LittleEndian
	copy(p, "KDMV")
	le.PutUint32(p[4:], 1)
	le.PutUint32(p[8:], 1)
	le.PutUint64(p[12:], 64)
	le.PutUint64(p[20:], 8)
	le.PutUint64(p[28:], 1)
	le.PutUint64(p[36:], 1)
	le.PutUint32(p[44:], 512)
	le.PutUint64(p[56:], 2)
	le.PutUint64(p[64:], 7)
	copy(p[73:], "\n \r\n")
	copy(p[512:], text)
	le.PutUint32(p[2*512:], 3)
	le.PutUint32(p[3*512:], 7)
	return p
}

func TestTinyImages(t *testing.T) {
	judge(t, tinyQCOW2(), inspect.Options{Declared: artifact.QCOW2}, "", false)
	judge(t, tinyVMDK(), inspect.Options{Declared: artifact.VMDK}, artifact.NotStreamOptimized, true)
}
