package bzip2

const (
	nodes    = 1 << 20 // room for maxBlock, a power of two so that a mask proves an index good
	nodeMask = nodes - 1
)

// inverse undoes the Burrows-Wheeler transform.
type inverse struct {
	next [nodes]uint32
}

// decode turns block, the last column of the sorted rotations with the counts of its bytes, into the original.
func (v *inverse) decode(block []byte, counts *[256]uint32, origin int) {
	sum := uint32(0)
	for i, c := range counts {
		counts[i] = sum
		sum += c
	}
	for i, c := range block {
		p := counts[c]
		counts[c] = p + 1
		v.next[p&nodeMask] = uint32(i)<<8 | uint32(c)
	}
	p := uint32(origin)
	for i := range block {
		e := v.next[p&nodeMask]
		block[i] = byte(e)
		p = e >> 8
	}
}
