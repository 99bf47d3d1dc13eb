package bzip2

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// checksum is bzip2's CRC-32. It is the usual one with the bits of each byte and of the result the other way round, so that
// turning the bits lets the processor's own instructions do the rest.
type checksum struct {
	crc    uint32
	turned [2048]byte
}

func (c *checksum) reset() { c.crc = 0 }

func (c *checksum) sum() uint32 { return bits.Reverse32(c.crc) }

func (c *checksum) update(p []byte) {
	for len(p) > 0 {
		n := min(len(p), len(c.turned))
		turn(c.turned[:n], p[:n])
		c.crc = crc32.Update(c.crc, crc32.IEEETable, c.turned[:n])
		p = p[n:]
	}
}

// turn reverses the bits of every byte of src into dst, which is as long.
func turn(dst, src []byte) {
	for len(src) >= 8 && len(dst) >= 8 {
		x := binary.LittleEndian.Uint64(src)
		x = x>>1&0x5555555555555555 | x&0x5555555555555555<<1
		x = x>>2&0x3333333333333333 | x&0x3333333333333333<<2
		x = x>>4&0x0f0f0f0f0f0f0f0f | x&0x0f0f0f0f0f0f0f0f<<4
		binary.LittleEndian.PutUint64(dst, x)
		src, dst = src[8:], dst[8:]
	}
	for i, b := range src {
		dst[i] = bits.Reverse8(b)
	}
}
