package bzip2

import (
	"errors"
	"io"
)

// blocks delivers the blocks of all streams in order. It knows at which bit the next block must begin, because each block tells
// where it ends; what the workers made of a candidate is taken only if the candidate begins exactly there. Candidates therefore only
// save time: a wrong one is dropped, a missing one or one cut short is decoded here.
type blocks struct {
	in    window
	ahead lookahead
	at    int64 // bit at which the next block or end of stream begins
	level int   // size of the stream's blocks in 100 000 bytes
	sum   uint32
	own   *decoder // decodes what no worker did

	current  *job // whose block is being delivered
	expander expander
	check    checksum
}

func (r *blocks) init(source io.Reader, workers int) {
	r.in.source = source
	r.ahead.init(&r.in, workers)
}

// Read delivers bytes of the current block or of the next.
func (r *blocks) Read(p []byte) (int, error) {
	for {
		if r.current != nil {
			n, err := r.expander.expand(p)
			r.check.update(p[:n])
			if n > 0 || err != nil {
				return n, err
			}
			if err := r.finish(); err != nil {
				return 0, err
			}
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
}

// finish checks the block just delivered.
func (r *blocks) finish() error {
	crc := r.current.block.crc
	if r.check.sum() != crc {
		return corrupt("checksum of a block")
	}
	r.sum = (r.sum<<1 | r.sum>>31) ^ crc
	r.ahead.recycle(r.current)
	r.current = nil
	return nil
}

// next begins a block, or reads the end of a stream together with the header of the one that follows.
func (r *blocks) next() error {
	if r.at == 0 {
		return r.header()
	}
	var room [24]byte
	r.in.fill(r.at/8, (7+magicBits+32+7)/8)
	size := copy(room[:16], r.in.from(r.at/8))
	b := newBitReader(room[:], size, uint(r.at%8))
	magic := uint64(b.read(24))<<24 | uint64(b.read(24))
	switch {
	case b.past():
		return r.in.failure()
	case magic == blockMagic:
		return r.block()
	case magic != endMagic:
		return corrupt("neither a block nor an end of stream where one must be")
	}
	sum := b.read(32)
	if b.past() {
		return r.in.failure()
	}
	if sum != r.sum {
		return corrupt("checksum of a stream")
	}
	r.at = (r.at + magicBits + 32 + 7) / 8 * 8
	return r.header()
}

// header reads the header of the first or of a further stream. Only if a magic follows is it one.
func (r *blocks) header() error {
	const size, need = 4, 4 + magicBits/8
	first := r.at == 0
	complete := r.in.fill(r.at/8, need)
	if err := r.in.failure(); !complete && !errors.Is(err, ErrTruncated) {
		return err
	}
	head := r.in.from(r.at / 8)
	fits := beginsStream(head[:min(need, len(head))])
	switch {
	case len(head) == 0 && !first:
		return io.EOF
	case !fits && first:
		return corrupt("not bzip2")
	case !first && (!fits || len(head) <= size):
		return ErrTrailing
	case !complete:
		return ErrTruncated
	}
	r.level, r.sum = int(head[3]-'0'), 0
	r.at += size * 8
	return nil
}

// beginsStream tells whether a stream can begin with head.
func beginsStream(head []byte) bool {
	for _, magic := range []string{"1AY&SY", "\x17rE8P\x90"} {
		fits := true
		for i, c := range head {
			if i == 3 {
				fits = fits && c >= '1' && c <= '9'
			} else {
				fits = fits && c == ("BZh*" + magic)[i]
			}
		}
		if fits {
			return true
		}
	}
	return false
}

// block begins the block at r.at.
func (r *blocks) block() error {
	j, err := r.ahead.candidate(r.at)
	if err != nil {
		return err
	}
	if errors.Is(j.block.err, errShort) {
		if err := r.decode(j); err != nil {
			return err
		}
	}
	if j.block.err != nil {
		return j.block.err
	}
	if len(j.block.bytes) > r.level*100_000 {
		return corrupt("block of %d bytes in a stream of level %d", len(j.block.bytes), r.level)
	}
	r.at = j.start/8*8 + int64(j.block.bits)
	r.current = j
	r.expander.reset(j.block.bytes)
	r.check.reset()
	return nil
}

// decode decodes the block at j.start here, from as much input as a block can take.
func (r *blocks) decode(j *job) error {
	complete := r.in.fill(j.start/8, maxCompressed)
	data := r.in.from(j.start / 8)
	j.load(data[:min(len(data), maxCompressed)])
	if r.own == nil {
		r.own = new(decoder)
	}
	r.own.decode(j)
	if !errors.Is(j.block.err, errShort) {
		return nil
	}
	if complete {
		return corrupt("block of more than %d bytes compressed", maxCompressed)
	}
	return r.in.failure()
}
