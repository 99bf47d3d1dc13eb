package bzip2

const nearRanks = 8

// recency is the list of a block's bytes, the latest first, but for the first nearRanks of them. Those are in one word, the latest
// lowest, which the decoding loop holds: most ranks are found there.
type recency [256]byte

// reset makes the list of an alphabet and returns the near ranks.
func (m *recency) reset(alphabet []byte) uint64 {
	var near uint64
	for i, b := range alphabet[:min(nearRanks, len(alphabet))] {
		near |= uint64(b) << (i * 8)
	}
	copy(m[:], alphabet[min(nearRanks, len(alphabet)):])
	return near
}

// toFront moves the byte of a near rank to the front.
func toFront(near uint64, rank uint) uint64 {
	shift := rank * 8 & 63
	above := ^uint64(0) << shift
	return near&(above<<8) | near&^above<<8 | near>>shift&0xff
}

// take moves the byte of a rank that is not near to the front.
func (m *recency) take(near uint64, rank uint) uint64 {
	at := (rank - nearRanks) % uint(len(m))
	c := m[at]
	copy(m[1:], m[:at])
	m[0] = byte(near >> 56)
	return near<<8 | uint64(c)
}
