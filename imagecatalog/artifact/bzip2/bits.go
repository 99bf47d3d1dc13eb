package bzip2

import "encoding/binary"

// padding is how many readable bytes must follow the data of a bitReader: what one group of symbols can run past its end,
// and the width of one load.
const padding = groupSize*maxCodeLen/8 + 32

// bitReader reads data from its most significant bit on. Reading past the end yields the bytes of the padding, whatever they
// are; past tells that it happened.
type bitReader struct {
	data []byte // with padding bytes after size
	size int
	pos  int    // next byte to load
	acc  uint64 // loaded bits, left aligned
	have uint   // how many of acc count
}

func newBitReader(data []byte, size int, skip uint) bitReader {
	b := bitReader{data: data, size: size}
	b.read(skip)
	return b
}

// read returns the next n bits, 32 at most.
func (b *bitReader) read(n uint) uint32 {
	if b.have < n {
		if b.pos+8 > len(b.data) {
			b.pos = b.size + 1 // far past the end: keep saying so
			b.have = 0
			return 0
		}
		b.acc |= binary.BigEndian.Uint64(b.data[b.pos:]) >> b.have
		b.pos += int((63 - b.have) >> 3)
		b.have |= 56
	}
	v := uint32(b.acc >> (64 - n))
	b.acc <<= n
	b.have -= n
	return v
}

// offset is the number of bits read since the start of data.
func (b *bitReader) offset() int { return b.pos*8 - int(b.have) }

// past tells whether more was read than there is.
func (b *bitReader) past() bool { return b.offset() > b.size*8 }
