package compression

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"hash/crc32"
)

// endStream reads the index, whose indicator was read already, and the footer.
func (x *xzReader) endStream() error {
	crc := crc32.NewIEEE()
	crc.Write([]byte{0})
	begin := x.pos - 1
	blocks, err := x.varint(crc)
	if err != nil {
		return err
	}
	if blocks != x.blocks {
		return corrupt("the xz index counts %d blocks, the stream has %d", blocks, x.blocks)
	}
	index := sha256.New()
	for range blocks {
		packed, err := x.varint(crc)
		if err != nil {
			return err
		}
		unpacked, err := x.varint(crc)
		if err != nil {
			return err
		}
		x.note(index, packed, unpacked)
	}
	if string(index.Sum(nil)) != string(x.seen.Sum(nil)) {
		return corrupt("the xz index does not fit the blocks")
	}
	for (x.pos-begin)%4 != 0 {
		pad, err := x.byte()
		if err != nil {
			return err
		}
		if pad != 0 {
			return corrupt("the xz index has bytes where padding must be")
		}
		crc.Write([]byte{0})
	}
	return x.footer(crc.Sum32(), x.pos+4-begin)
}

// footer compares the end of a stream with its index and header.
func (x *xzReader) footer(indexCRC uint32, indexLen int64) error {
	var f [16]byte
	if err := x.full(f[:]); err != nil {
		return err
	}
	le := binary.LittleEndian
	switch {
	case le.Uint32(f[:]) != indexCRC:
		return corrupt("the xz index fails its check")
	case le.Uint32(f[4:]) != crc32.ChecksumIEEE(f[8:14]), string(f[14:]) != xzFooterMagic, string(f[12:14]) != string(x.flags[:]):
		return corrupt("the footer of an xz stream is damaged")
	case (int64(le.Uint32(f[8:]))+1)*4 != indexLen:
		return corrupt("the footer of an xz stream gives a wrong index size")
	}
	return nil
}

// varint reads a number of the index and adds its bytes to the check.
func (x *xzReader) varint(crc hash.Hash32) (uint64, error) {
	var raw [9]byte
	for i := range raw {
		b, err := x.byte()
		if err != nil {
			return 0, err
		}
		raw[i] = b
		if b&0x80 != 0 {
			continue
		}
		crc.Write(raw[:i+1])
		if v, n := xzVarint(raw[:i+1]); n > 0 {
			return v, nil
		}
		break
	}
	return 0, corrupt("the xz index holds an impossible number")
}

// xzVarint reads a number of at most nine bytes; n is 0 when there is none.
func xzVarint(p []byte) (v uint64, n int) {
	for i, b := range p[:min(len(p), 9)] {
		v |= uint64(b&0x7f) << (7 * i)
		if b&0x80 == 0 {
			if b == 0 && i > 0 {
				return 0, 0
			}
			return v, i + 1
		}
	}
	return 0, 0
}
