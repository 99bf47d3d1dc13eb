package bzip2

const (
	nodes    = 1 << 20 // room for maxBlock; a power of two, so that a mask proves an index good
	nodeMask = nodes - 1
)

// inverse undoes the Burrows-Wheeler transform: a walk from node to node through next.
type inverse struct {
	next [nodes]uint32 // the number of the next node, above the byte of this node
	walk walk
}

// decode turns block, the last column of the sorted rotations, into the original. Counts says how often each byte occurs in it
// and is used up; origin is where the original is among the rotations.
func (v *inverse) decode(block []byte, counts *[256]uint32, origin int) {
	v.link(block, counts)
	if len(block) < lanes*spacing {
		v.follow(block, origin)
		return
	}
	v.walk.run(&v.next, block, uint32(origin))
}

func (v *inverse) link(block []byte, counts *[256]uint32) {
	sum := uint32(0)
	for i, c := range counts {
		counts[i] = sum
		sum += c
	}
	for i, c := range block {
		at := counts[c]
		counts[c] = at + 1
		v.next[at&nodeMask] = uint32(i)<<8 | uint32(c)
	}
}

// follow walks step by step. In a large block each step waits for memory.
func (v *inverse) follow(block []byte, origin int) {
	at := uint32(origin)
	for i := range block {
		e := v.next[at&nodeMask]
		block[i] = byte(e)
		at = e >> 8
	}
}
