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

// link sorts the bytes of the block: the nodes of equal bytes are neighbours, in the order of the block. It works from both ends of
// the block, because two independent counters of the same byte make less wait than one.
func (v *inverse) link(block []byte, counts *[256]uint32) {
	var ends [256]uint32
	sum := uint32(0)
	for i, c := range counts {
		counts[i] = sum
		sum += c
		ends[i] = sum
	}
	i, j := 0, len(block)-1
	for ; i < j && uint(j) < uint(len(block)); i, j = i+1, j-1 {
		b, c := block[i], block[j]
		at, end := counts[b], ends[c]-1
		counts[b], ends[c] = at+1, end
		v.next[at&nodeMask] = uint32(i)<<8 | uint32(b)
		v.next[end&nodeMask] = uint32(j)<<8 | uint32(c)
	}
	if i == j {
		v.next[counts[block[i]]&nodeMask] = uint32(i)<<8 | uint32(block[i])
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
