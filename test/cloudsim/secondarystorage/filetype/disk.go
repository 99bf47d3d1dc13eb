package filetype

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// qcow reads the header as file(1) does: once by the layout of version 1, which is wrong for the later ones, and for versions
// 2 and 3 once more by theirs.
func qcow(c content) string {
	if !c.has(0, "QFI\xfb") || len(c.head) < 5 {
		return ""
	}
	version, ok := c.at(4, 4)
	if !ok {
		return "QEMU QCOW Image (unknown version)"
	}
	v := int32(binary.BigEndian.Uint32(version))
	size := uint64(0)
	if b, ok := c.at(24, 8); ok {
		size = binary.BigEndian.Uint64(b)
	}
	first := fmt.Sprintf(" (v%d)%s, %d bytes%s", v, qcowBacking(c, true), int64(size), qcowCrypt(c, 36))
	if v != 2 && v != 3 {
		return "QEMU QCOW Image" + first
	}
	return "QEMU QCOW Image" + first + fmt.Sprintf(" (v%d)%s, %d bytes%s", v, qcowBacking(c, false), int64(size), qcowCrypt(c, 32))
}

func qcowBacking(c content, old bool) string {
	b, ok := c.at(8, 8)
	if !ok {
		return ""
	}
	offset, low := binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[4:])
	if offset == 0 || old && low == 0 {
		return ""
	}
	name := c.cString(int64(low))
	if !old {
		return fmt.Sprintf(", has backing file (path %s)", name)
	}
	mtime := uint32(0)
	if b, ok := c.at(20, 4); ok {
		mtime = binary.BigEndian.Uint32(b)
	}
	return fmt.Sprintf(", has backing file (path %s, mtime %s)", name, date(int64(mtime)))
}

func qcowCrypt(c content, offset int) string {
	if b, ok := c.at(offset, 4); ok && binary.BigEndian.Uint32(b) == 1 {
		return ", AES-encrypted"
	}
	return ""
}

// epoch2000 is where VHD begins to count seconds.
const epoch2000 = 946684800

func vhd(c content) string {
	if !c.has(0, "conectix") {
		return ""
	}
	h := make([]byte, 64)
	copy(h, c.head)
	if len(c.head) < 40 {
		return "Microsoft Disk Image, Virtual Server or Virtual PC"
	}
	system := fmt.Sprintf("0x%08x", binary.BigEndian.Uint32(h[36:]))
	switch string(h[36:40]) {
	case "Wi2k":
		system = "W2k"
	case "Mac ":
		system = "Mac"
	}
	creator, _, _ := bytes.Cut(h[28:32], []byte{0})
	return fmt.Sprintf("Microsoft Disk Image, Virtual Server or Virtual PC, Creator %-4s %x.%x (%s) %s, %d bytes, CHS %d/%d/%d",
		creator, binary.BigEndian.Uint16(h[32:]), binary.BigEndian.Uint16(h[34:]), system,
		date(epoch2000+int64(int32(binary.BigEndian.Uint32(h[24:])))), binary.BigEndian.Uint64(h[40:]),
		binary.BigEndian.Uint16(h[56:]), h[58], h[59])
}

func vhdx(c content) string {
	if !c.has(0, "vhdxfile") {
		return ""
	}
	d := "Microsoft Disk Image eXtended"
	if b, ok := c.at(8, 512); ok {
		var creator []uint16
		for i := 0; i+1 < len(b) && (b[i] != 0 || b[i+1] != 0); i += 2 {
			creator = append(creator, binary.LittleEndian.Uint16(b[i:]))
		}
		d += ", by " + string(utf16.Decode(creator))
	}
	if b, ok := c.at(0x10000, 16); ok && string(b[:4]) == "head" {
		d += fmt.Sprintf(", sequence %#x", binary.LittleEndian.Uint64(b[8:]))
	}
	if b, ok := c.at(0x100000, 12); ok && string(b[:4]) == "loge" {
		d += fmt.Sprintf("; LOG, EntryLength %d KB", binary.LittleEndian.Uint32(b[8:])>>10)
	} else {
		d += ", NO Log Signature"
	}
	return d + vhdxRegions(c)
}

func vhdxRegions(c content) string {
	const table, header, entry = 0x30000, 16, 32
	b, ok := c.at(table, header)
	if !ok || string(b[:4]) != "regi" {
		return ", 1st region INVALID"
	}
	n := binary.LittleEndian.Uint32(b[8:])
	d := fmt.Sprintf("; region, %d entries", n)
	for i := range int(min(n, 2)) {
		b, ok := c.at(table+header+i*entry, entry)
		if !ok {
			break
		}
		id := "BAT"
		if b[0] == 0x06 {
			id = "Metadata"
		}
		d += fmt.Sprintf(", id %s, at %#x, Required %d", id, binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint32(b[28:]))
	}
	return d
}

func vmdk(c content) string {
	switch {
	case c.has(0, "KDMV") && len(c.head) > 4:
		return "VMware4 disk image"
	case c.has(0, "COWD"):
		return "VMWare3"
	}
	return ""
}

const isoDescriptor = 32768

func isoImage(c content) string {
	if !c.has(isoDescriptor+1, "CD001") {
		return ""
	}
	d := "ISO 9660 CD-ROM filesystem data"
	if c.has(510, "\x55\xaa") {
		d += " (DOS/MBR boot sector)"
	}
	if b, ok := c.at(isoDescriptor+40, 32); ok {
		d += " '" + strings.TrimRight(strings.TrimRight(string(b), "\x00"), " ") + "'"
	}
	if c.has(isoDescriptor+2048+7, "EL TORITO SPECIFICATION") {
		d += " (bootable)"
	}
	return d
}

func bootSector(c content) string {
	if !c.has(510, "\x55\xaa") {
		return ""
	}
	d := "DOS/MBR boot sector"
	for i := range 4 {
		p := c.head[446+16*i:]
		start, sectors := binary.LittleEndian.Uint32(p[8:]), binary.LittleEndian.Uint32(p[12:])
		if p[0]&0x7f != 0 || p[4] == 0 || start == 0 || sectors == 0 {
			continue
		}
		d += fmt.Sprintf("; partition %d : ID=%#x, startsector %d, %d sectors", i+1, p[4], start, sectors)
	}
	return d
}

func extFilesystem(c content) string {
	sb, ok := c.at(1024, 256)
	if !ok || binary.LittleEndian.Uint16(sb[56:]) != 0xef53 {
		return ""
	}
	compat, incompat, ro := binary.LittleEndian.Uint32(sb[92:]), binary.LittleEndian.Uint32(sb[96:]), binary.LittleEndian.Uint32(sb[100:])
	generation := 2
	if compat&4 != 0 {
		generation = 3
		if incompat&^0x3f != 0 || ro&^7 != 0 {
			generation = 4
		}
	}
	d := fmt.Sprintf("Linux rev %d.%d ext%d filesystem data", binary.LittleEndian.Uint32(sb[76:]), binary.LittleEndian.Uint16(sb[62:]), generation)
	state := binary.LittleEndian.Uint16(sb[58:])
	if state&1 == 0 {
		d += " (mounted or unclean)"
	}
	u := sb[104:120]
	d += fmt.Sprintf(", UUID=%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	if name, _, _ := bytes.Cut(sb[120:136], []byte{0}); len(name) > 0 {
		d += fmt.Sprintf(", volume name %q", name)
	}
	for _, feature := range []struct {
		on   bool
		text string
	}{
		{incompat&4 != 0, " (needs journal recovery)"}, {state&2 != 0, " (errors)"}, {incompat&0x40 != 0, " (extents)"},
		{incompat&0x80 != 0, " (64bit)"}, {ro&2 != 0, " (large files)"}, {ro&8 != 0, " (huge files)"},
	} {
		if feature.on {
			d += feature.text
		}
	}
	return d
}
