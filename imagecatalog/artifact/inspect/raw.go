package inspect

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	mbrTableAt   = 446
	gptMagic     = "EFI PART"
	mbrProtected = 0xee
	extSuperAt   = 1024
	extMagic     = 0xef53
)

// diskName names the partition table or file system of a raw disk, "" when there is none that we know.
func diskName(c *content, head []byte) (string, error) {
	btrfs, err := c.at(65536+64, 8)
	if err != nil {
		return "", err
	}
	gpt, err := c.at(4096, len(gptMagic))
	if err != nil {
		return "", err
	}
	has := func(at int, magic string) bool {
		return len(head) >= at+len(magic) && string(head[at:at+len(magic)]) == magic
	}
	switch {
	case has(512, gptMagic), string(gpt) == gptMagic:
		return "GPT", nil
	case has(0, "XFSB"):
		return "XFS", nil
	case has(3, "NTFS    "):
		return "NTFS", nil
	case has(54, "FAT"), has(82, "FAT"):
		return "FAT", nil
	case has(510, "\x55\xaa"):
		return "MBR", nil
	case len(head) >= extSuperAt+58 && binary.LittleEndian.Uint16(head[extSuperAt+56:]) == extMagic:
		return "ext2/3/4", nil
	case string(btrfs) == "_BHRfS_M":
		return "Btrfs", nil
	case has(512, "LABELONE"):
		return "LVM", nil
	case has(4086, "SWAPSPACE2"):
		return "swap", nil
	}
	return "", nil
}

// raw checks what a raw disk says about its own length.
func (x *inspection) raw(found kind) error {
	size := uint64(x.in.size)
	if !x.virtualSize(size) {
		return nil
	}
	if size < sectorSize {
		x.report.reject(artifact.TruncatedHeader, "the disk is smaller than one sector")
		return nil
	}
	if size%sectorSize != 0 {
		x.report.warn(artifact.UnalignedSize, "the size of the disk, %d bytes, is no multiple of 512", size)
	}
	if found.unknown {
		x.report.warn(artifact.UnknownContent, "the disk has no partition table or file system that we know")
		return nil
	}
	end, what, err := x.rawEnd(found.head)
	if err == nil && end > size {
		x.report.reject(artifact.TruncatedImage, "%s ends at byte %d, the disk at %d", what, end, size)
	}
	return err
}

// rawEnd is where the last thing ends that the tables of the disk speak of.
func (x *inspection) rawEnd(head []byte) (end uint64, what string, err error) {
	le := binary.LittleEndian
	for _, sector := range []uint64{512, 4096} {
		gpt, err := x.in.at(int64(sector), sectorSize)
		if err != nil {
			return 0, "", err
		}
		if len(gpt) >= 40 && bytes.HasPrefix(gpt, []byte(gptMagic)) {
			return mulSat(addSat(le.Uint64(gpt[32:]), 1), sector), "the GPT", nil
		}
	}
	if end := partitionsEnd(head); end > 0 {
		return end, "a partition", nil
	}
	if len(head) >= extSuperAt+88 && le.Uint16(head[extSuperAt+56:]) == extMagic {
		super := head[extSuperAt:]
		if shift := le.Uint32(super[24:]); shift <= 6 {
			return uint64(le.Uint32(super[4:])) << (10 + shift), "the ext file system", nil
		}
	}
	return 0, "", nil
}

// partitionsEnd is the end of the last MBR partition, 0 when the sector holds no believable table.
func partitionsEnd(head []byte) (end uint64) {
	if len(head) < sectorSize || head[510] != 0x55 || head[511] != 0xaa || string(head[54:57]) == "FAT" || string(head[82:85]) == "FAT" {
		return 0
	}
	for i := range 4 {
		p := head[mbrTableAt+16*i:]
		if p[0]&0x7f != 0 {
			return 0
		}
		start, n := uint64(binary.LittleEndian.Uint32(p[8:])), uint64(binary.LittleEndian.Uint32(p[12:]))
		if p[4] != 0 && p[4] != mbrProtected && start > 0 {
			end = max(end, (start+n)*sectorSize)
		}
	}
	return end
}

// addSat and mulSat stop at the largest number instead of wrapping.
func addSat(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

func mulSat(a, b uint64) uint64 {
	if b != 0 && a > math.MaxUint64/b {
		return math.MaxUint64
	}
	return a * b
}
