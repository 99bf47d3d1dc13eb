package bzip2

// recency is the list of a block's bytes, the latest first, eight to a word: the lowest byte of a word is its first. The first word
// is kept apart by the decoding loop, which finds most ranks there.
type recency [256 / 8]uint64

const wordBytes = 8

func newRecency(alphabet []byte) recency {
	var m recency
	for i, b := range alphabet {
		m[i/wordBytes] |= uint64(b) << (i % wordBytes * 8)
	}
	return m
}

// toFront moves the byte at a shift of so many bits to the front of a word.
func toFront(word uint64, shift uint) uint64 {
	above := ^uint64(0) << (shift & 63)
	return word&(above<<8) | word&^above<<8 | word>>(shift&63)&0xff
}

// take moves the byte at a rank of at least wordBytes to the front of the list, whose first word it is given and returns.
func (m *recency) take(first uint64, rank uint) uint64 {
	last := rank / wordBytes % uint(len(m))
	shift := rank % wordBytes * 8
	carry := first >> 56
	for i := range m[1:last] {
		w := m[1+i]
		m[1+i] = w<<8 | carry
		carry = w >> 56
	}
	w := m[last]
	above := ^uint64(0) << shift
	m[last] = w&(above<<8) | w&^above<<8 | carry
	return first<<8 | w>>shift&0xff
}
