package bzip2

import (
	"encoding/binary"
	"math/bits"
)

const (
	runStart    = 4 // equal bytes after which a count of further ones follows
	runMost     = runStart + 255
	literalSize = 16

	ones  = 0x0101010101010101
	highs = 0x8080808080808080
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
		switch {
		case x.repeat > 0:
			k := min(x.repeat, len(out)-n)
			fill(out[n:n+k], x.last)
			n += k
			x.repeat -= k
		case x.equal == runStart:
			if len(x.in) == 0 {
				return n, corrupt("block ends where the length of a run is due")
			}
			x.repeat, x.equal = int(x.in[0]), 0
			x.in = x.in[1:]
		case len(x.in) == 0:
			return n, nil
		default:
			if x.equal == 0 {
				n += x.bulk(out[n:])
			}
			n += x.literal(out[n:])
		}
	}
	return n, nil
}

// literal copies bytes, at least one if there is one, until a run has begun, or some bytes on where none is in progress.
func (x *expander) literal(out []byte) int {
	in := x.in[:min(len(x.in), len(out))]
	n := 0
	for n < len(in) && x.equal < runStart {
		c := in[n]
		if c != x.last {
			if x.equal = 0; n >= literalSize {
				break
			}
			x.last = c
		}
		out[n] = c
		n++
		x.equal++
	}
	x.in = x.in[n:]
	return n
}

// bulk expands what can be expanded eight bytes at a time, with no regard for the ends of in and out. No run must be in progress, and
// none is when it returns.
func (x *expander) bulk(out []byte) int {
	in, n := x.in, 0
	for len(in) >= 8+runStart && len(out)-n >= 8+runMost+8 {
		to := out[n : n+8+runMost+8]
		a, b := binary.LittleEndian.Uint64(in), binary.LittleEndian.Uint64(in[1:])
		c, d := binary.LittleEndian.Uint64(in[2:]), binary.LittleEndian.Uint64(in[3:])
		binary.LittleEndian.PutUint64(to, a)
		// A byte of differ is zero where a run begins. Of the bits marked, the lowest is certain.
		differ := (a ^ b) | (b ^ c) | (c ^ d)
		runs := (differ - ones) &^ differ & highs
		if runs == 0 {
			in, n = in[8:], n+8
			continue
		}
		at := bits.TrailingZeros64(runs) / 8
		size := runStart + int(in[at+runStart])
		repeated := uint64(in[at]) * ones
		for i := 0; i < size; i += 8 {
			binary.LittleEndian.PutUint64(to[at+i:], repeated)
		}
		in, n = in[at+runStart+1:], n+at+size
	}
	x.in = in
	return n
}

func fill(p []byte, c byte) {
	for i := range p {
		p[i] = c
	}
}
