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
		b.acc, b.have, b.pos = refill(b.data, b.acc, b.have, b.pos)
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

// refill loads bits until acc counts 56 or more.
func refill(data []byte, acc uint64, have uint, pos int) (uint64, uint, int) {
	acc |= binary.BigEndian.Uint64(data[pos:]) >> (have & 63)
	return acc, have | 56, pos + int((63-have)>>3)
}
