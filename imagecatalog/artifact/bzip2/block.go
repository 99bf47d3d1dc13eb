package bzip2

// decoder decodes one block after another. It takes some 7 MB.
type decoder struct {
	entropy entropy
	inverse inverse
}

// block is a decoded block, its first run-length encoding still in place.
type block struct {
	bytes []byte // as many as the block has; room for maxBlock+blockSlack
	crc   uint32 // what the expanded block must have
	bits  int    // where the block ends in the data of its job
	err   error
}

// decode sets the block of a job.
func (d *decoder) decode(j *job) {
	b := &j.block
	if b.bytes == nil {
		b.bytes = make([]byte, maxBlock+blockSlack)
	}
	room := b.bytes[:maxBlock+blockSlack]
	n, err := d.entropy.decode(j.data, j.size, uint(j.start%8), room)
	if b.err = err; err != nil {
		return
	}
	b.bytes = room[:n]
	b.crc = d.entropy.crc
	b.bits = d.entropy.bits.offset()
	d.inverse.decode(b.bytes, &d.entropy.counts, d.entropy.origin)
}
