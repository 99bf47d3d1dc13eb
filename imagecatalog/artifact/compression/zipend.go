package compression

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	zipEnd       = "PK\x05\x06"
	zipEnd64     = "PK\x06\x06"
	zipLocator64 = "PK\x06\x07"
	zipUnixHost  = 3
	zipTypeMask  = 0o170000
	zipTypeLink  = 0o120000
	zipTypeFile  = 0o100000
	zipTypeDir   = 0o040000
	// zipTypePipe is what zip notes for a member that it read from its standard input.
	zipTypePipe   = 0o010000
	zipEnd64Fixed = 56
)

// centralDirectory compares the list at the end of the archive with the members that were read, up to the last byte.
func (z *zipReader) centralDirectory() error {
	start := z.pos()
	for i := range z.entries {
		if err := z.centralEntry(&z.entries[i]); err != nil {
			return err
		}
	}
	return z.end(uint64(start), uint64(z.pos()-start))
}

// centralEntry reads one record and compares it with the member.
func (z *zipReader) centralEntry(e *zipEntry) error {
	var h [46]byte
	if err := z.full(h[:]); err != nil {
		return err
	}
	if string(h[:4]) != zipCentral {
		return corrupt("the central directory of the zip archive lists fewer members than there are")
	}
	le := binary.LittleEndian
	name, rest := make([]byte, le.Uint16(h[28:])), make([]byte, int(le.Uint16(h[30:]))+int(le.Uint16(h[32:])))
	if err := errors.Join(z.full(name), z.full(rest)); err != nil {
		return err
	}
	packed, unpacked, offset := uint64(le.Uint32(h[20:])), uint64(le.Uint32(h[24:])), uint64(le.Uint32(h[42:]))
	sizes := takeZip64(&unpacked, zip64Sizes(rest[:le.Uint16(h[30:])]))
	sizes = takeZip64(&packed, sizes)
	takeZip64(&offset, sizes)
	mode := le.Uint32(h[38:]) >> 16 & zipTypeMask
	if h[5] != zipUnixHost {
		mode = 0
	}
	switch {
	case mode == zipTypeLink:
		return artifact.NewError(artifact.LinkEntry, "the zip member is a symbolic link")
	case mode != 0 && mode != zipTypeFile && mode != zipTypeDir && mode != zipTypePipe:
		return artifact.NewError(artifact.SpecialEntry, "the zip member is no regular file")
	case string(name) != e.name, le.Uint16(h[10:]) != e.method, offset != e.offset:
		return corrupt("the central directory of the zip archive does not fit its members")
	case le.Uint32(h[16:]) != e.crc, packed != e.packed, unpacked != e.unpacked:
		return corrupt("CRC or size in the central directory of the zip archive differ from the member")
	case le.Uint16(h[8:])&zipFlagEncrypted != 0:
		return artifact.NewError(artifact.Encrypted, "the zip member is encrypted")
	}
	return nil
}

// end reads the end records and the comment, behind which nothing may stand.
func (z *zipReader) end(start, size uint64) error {
	head, err := z.in.Peek(4)
	if len(head) < 4 {
		return unexpected(err)
	}
	count := uint64(len(z.entries))
	switch string(head) {
	case zipCentral:
		return corrupt("the central directory of the zip archive lists more members than there are")
	case zipEnd64:
		if err := z.end64(count, start, size); err != nil {
			return err
		}
	}
	var h [22]byte
	if err := z.full(h[:]); err != nil {
		return err
	}
	le := binary.LittleEndian
	switch {
	case string(h[:4]) != zipEnd:
		return corrupt("the zip archive has no end record behind its central directory")
	case le.Uint16(h[4:]) != 0 && le.Uint16(h[4:]) != 1<<16-1:
		return corrupt("the zip archive is a part of a split one")
	case !fits(uint64(le.Uint16(h[10:])), count, 1<<16-1),
		!fits(uint64(le.Uint32(h[12:])), size, 1<<32-1),
		!fits(uint64(le.Uint32(h[16:])), start, 1<<32-1):
		return corrupt("the end record of the zip archive does not fit its central directory")
	}
	comment := make([]byte, le.Uint16(h[20:]))
	if err := z.full(comment); err != nil {
		return err
	}
	if _, err := z.in.Peek(1); err == nil {
		return trailing("zip")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// fits compares a field with the truth; a field with all bits set refers to the zip64 record.
func fits(field, truth, refers uint64) bool { return field == truth || field == refers }

// end64 reads the zip64 end record and its locator.
func (z *zipReader) end64(count, start, size uint64) error {
	at := uint64(z.pos())
	var h [zipEnd64Fixed]byte
	if err := z.full(h[:]); err != nil {
		return err
	}
	le := binary.LittleEndian
	if le.Uint64(h[4:]) != zipEnd64Fixed-12 || le.Uint64(h[32:]) != count || le.Uint64(h[40:]) != size || le.Uint64(h[48:]) != start {
		return corrupt("the zip64 end record does not fit the central directory")
	}
	var l [20]byte
	if err := z.full(l[:]); err != nil {
		return err
	}
	if !strings.HasPrefix(string(l[:]), zipLocator64) || le.Uint64(l[8:]) != at {
		return corrupt("the zip64 locator does not point to its record")
	}
	return nil
}
