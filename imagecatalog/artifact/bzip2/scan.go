package bzip2

import "encoding/binary"

const (
	magicBits   = 48
	magicMask   = 1<<magicBits - 1
	blockMagic  = 0x314159265359
	endMagic    = 0x177245385090
	magicWindow = 7 // bytes that hold a magic at any bit of the first
)

// scanner finds the magics of blocks and ends of streams at any bit. What it finds are candidates: the bits may also be data.
type scanner struct {
	// pairs has a bit for every two neighbouring bytes that lie whole in a magic, shifted by any number of bits, at one of four places
	// in a row: of four pairs in a row within a magic one lies at each place modulo four.
	pairs [1 << 16 / 64]uint64
}

func newScanner() *scanner {
	var s scanner
	for _, magic := range []uint64{blockMagic, endMagic} {
		for shift := range 8 {
			window := magic << shift // at the low end of 7 bytes
			for byteAt := 1; byteAt <= 4; byteAt++ {
				pair := uint16(window >> (8 * byteAt))
				s.pairs[pair/64] |= 1 << (pair % 64)
			}
		}
	}
	return &s
}

// find returns the first magic that begins in data at or after the bit from. If there is none, it returns the byte from which to
// search on when there is more data.
func (s *scanner) find(data []byte, from int) (bit int, isEnd bool, resume int, ok bool) {
	for i := from / 8; i+1 < len(data); i += 4 {
		pair := binary.BigEndian.Uint16(data[i:])
		if s.pairs[pair/64]>>(pair%64)&1 == 0 {
			continue
		}
		for at := max(i-4, from/8); at <= i && at+magicWindow <= len(data); at++ {
			window := binary.BigEndian.Uint64(append(data[at:at+magicWindow:at+magicWindow], 0)) >> 8
			for shift := 8; shift > 0; shift-- {
				magic := window >> shift & magicMask
				bit := at*8 + 8 - shift
				if bit >= from && (magic == blockMagic || magic == endMagic) {
					return bit, magic == endMagic, 0, true
				}
			}
		}
	}
	return 0, false, max(from/8, len(data)-magicWindow+1), false
}
