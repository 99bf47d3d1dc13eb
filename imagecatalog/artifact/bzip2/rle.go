package bzip2

import (
	"encoding/binary"
	"math/bits"
)

const (
	runStart = 4 // equal bytes after which a count of further ones follows
	highs    = 0x8080808080808080
)

// expander undoes the first run-length encoding of a block, piece by piece.
type expander struct {
	in     []byte // what is left of the block
	last   byte
	equal  int // how many bytes in a row were last, runStart at most
	repeat int // how many more of last are owed
}

func (x *expander) reset(block []byte) { *x = expander{in: block} }

// expand fills out as far as the block reaches. It returns fewer bytes than out has room for only at the end of the block.
func (x *expander) expand(out []byte) (int, error) {
	n := 0
	for n < len(out) {
		if x.repeat > 0 {
			k := min(x.repeat, len(out)-n)
			fill(out[n:n+k], x.last)
			n += k
			x.repeat -= k
			continue
		}
		if x.equal == runStart {
			if len(x.in) == 0 {
				return n, corrupt("block ends where the length of a run is due")
			}
			x.repeat, x.equal = int(x.in[0]), 0
			x.in = x.in[1:]
			continue
		}
		if len(x.in) == 0 {
			break
		}
		n += x.literal(out[n:])
	}
	return n, nil
}

// literal copies bytes up to and with the first run of runStart, at least one byte.
func (x *expander) literal(out []byte) int {
	in := x.in[:min(len(x.in), len(out))]
	n, last, equal := 0, x.last, x.equal
	if equal > 0 {
		for n < len(in) && equal < runStart && in[n] == last {
			out[n] = last
			n++
			equal++
		}
		if n < len(in) && equal < runStart {
			equal = 0
		}
	}
	if equal == 0 {
		n += skip(out[n:], in[n:])
		for n < len(in) && equal < runStart {
			c := in[n]
			out[n] = c
			n++
			if c != last {
				last, equal = c, 0
			}
			equal++
		}
	}
	x.last, x.equal = last, equal
	x.in = x.in[n:]
	return n
}

// skip copies a part of in to out that begins no run of runStart equal bytes and returns its length. The byte before it in the
// stream must not belong to a run in progress.
func skip(out, in []byte) int {
	n := 0
	for len(in) >= n+9 && len(out) >= n+9 {
		w := binary.LittleEndian.Uint64(in[n:])
		same := zeros(w ^ binary.LittleEndian.Uint64(in[n+1:]))
		binary.LittleEndian.PutUint64(out[n:], w)
		if three := same & (same >> 8) & (same >> 16); three != 0 {
			return n + bits.TrailingZeros64(three)/8
		}
		n += 6 // runs that begin in the last two bytes are not seen
	}
	return n
}

// zeros marks with 0x80 the bytes of w that are zero.
func zeros(w uint64) uint64 {
	return ^((w&^highs + ^uint64(highs)) | w) & highs
}
