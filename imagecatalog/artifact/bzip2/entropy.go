package bzip2

import (
	"encoding/binary"
	"errors"
)

const (
	runB       = 1 // the last of the two run symbols
	maxBlock   = 900_000
	maxRunBits = 20 // a run of more symbols is longer than any block
	blockSlack = 16 // writable bytes after a block, for wide stores
)

// errShort: the data given ends within the block.
var errShort = errors.New("data ends within the block")

// entropy is the first half of decoding a block: from bits to the bytes that the Burrows-Wheeler transform put out.
type entropy struct {
	bits      bitReader
	crc       uint32
	origin    int // where the original begins in the sorted rotations
	alphabet  []byte
	used      [256]byte // room for alphabet
	order     [1 << 15]uint8
	groups    int // how many of order count
	trees     [maxTrees]tree
	treeCount int
	list      recency
	counts    [256]uint32 // how often each byte occurs
}

// decode reads the block whose magic begins skip bits into data, of which size bytes are data and padding more can be read. It
// fills out, of maxBlock+blockSlack bytes, and returns how many bytes it is, 1 at least.
func (e *entropy) decode(data []byte, size int, skip uint, out []byte) (int, error) {
	e.bits = newBitReader(data, size, skip)
	n := 0
	err := e.header()
	if err == nil {
		n, err = e.symbols(out)
	}
	if e.bits.past() {
		return 0, errShort // whatever was found in bits that are not there
	}
	if err == nil && e.origin >= n {
		err = corrupt("origin %d of a block of %d bytes", e.origin, n)
	}
	return n, err
}

// header reads all that precedes the symbols.
func (e *entropy) header() error {
	b := &e.bits
	b.read(24)
	b.read(24)
	e.crc = b.read(32)
	if b.read(1) != 0 {
		return corrupt("randomised block: bzip2 0.9.0 and older wrote them, they are not supported")
	}
	e.origin = int(b.read(24))
	e.readAlphabet()
	if len(e.alphabet) == 0 {
		return corrupt("block without symbols")
	}
	e.treeCount = int(b.read(3))
	e.groups = int(b.read(15))
	if e.treeCount < 2 || e.treeCount > maxTrees {
		return corrupt("%d prefix codes", e.treeCount)
	}
	if err := e.readOrder(); err != nil {
		return err
	}
	for i := range e.treeCount {
		if err := e.readTree(&e.trees[i]); err != nil {
			return err
		}
	}
	return nil
}

// readAlphabet reads which bytes occur in the block.
func (e *entropy) readAlphabet() {
	e.alphabet = e.used[:0]
	high := e.bits.read(16)
	for i := range 16 {
		if high<<i&0x8000 == 0 {
			continue
		}
		low := e.bits.read(16)
		for j := range 16 {
			if low<<j&0x8000 != 0 {
				e.alphabet = append(e.alphabet, byte(i*16+j))
			}
		}
	}
}

// readOrder reads which tree decodes each group.
func (e *entropy) readOrder() error {
	recent := [maxTrees + 1]uint8{0, 1, 2, 3, 4, 5}
	for i := range e.groups {
		rank := 0
		for e.bits.read(1) == 1 {
			if rank++; rank >= e.treeCount {
				return corrupt("selector of a prefix code that is not there")
			}
		}
		tree := recent[rank]
		copy(recent[1:rank+1], recent[:rank])
		recent[0] = tree
		e.order[i] = tree
	}
	return nil
}

// readTree reads the code lengths of one tree, each as the difference from the one before.
func (e *entropy) readTree(t *tree) error {
	var lengths [maxSymbols]uint8
	symbols := len(e.alphabet) + 2
	length := int(e.bits.read(5))
	for i := range symbols {
		for {
			if length < 1 || length > maxCodeLen {
				return corrupt("prefix code of %d bits", length)
			}
			if e.bits.read(1) == 0 {
				break
			}
			length += 1 - 2*int(e.bits.read(1))
			if e.bits.past() {
				return errShort
			}
		}
		lengths[i] = uint8(length)
	}
	t.build(lengths[:symbols])
	return nil
}

// symbols decodes the block proper: prefix codes, runs and ranks in the list of recent bytes. The bits are kept in variables, and the
// next token is looked up before this one is used, so that the processor does both at a time.
func (e *entropy) symbols(out []byte) (int, error) {
	clear(e.counts[:])
	near, end := e.list.reset(e.alphabet), uint(len(e.alphabet)+1)
	data, acc, have, pos := e.bits.data, e.bits.acc, e.bits.have, e.bits.pos
	n, run, weight := 0, uint(0), uint(0) // bytes so far, and in the run that has begun, after so many symbols of it
	err := corrupt("no end of the block")
blocks:
	for _, choice := range e.order[:e.groups] {
		t := &e.trees[choice%maxTrees]
		if pos > e.bits.size+8 {
			break // past has the last word
		}
		acc, have, pos = refill(data, acc, have, pos)
		next := t.tokens[acc>>(64-fastBits)]
		for left := groupSize; left > 0; {
			k := next
			if k == 0 || k.count() > left {
				if k = t.slow(acc); k == 0 {
					err = corrupt("no such prefix code")
					break blocks
				}
			}
			left -= k.count()
			acc, have, pos = refill(data, acc<<(k.length()&63), have-k.length(), pos)
			next = t.tokens[acc>>(64-fastBits)]
			run += k.run() << (weight & 31)
			symbol := k.symbol()
			if symbol == 0 {
				if weight += uint(k.count()); weight <= maxRunBits {
					continue
				}
			}
			if room := uint(maxBlock - n); run > room || run == room && symbol != end {
				err = corrupt("block of more than %d bytes", maxBlock)
				break blocks
			}
			repeat(out[n:], byte(near), run)
			e.counts[byte(near)] += uint32(run)
			n += int(run)
			if symbol == end {
				err = nil
				break blocks
			}
			run, weight = 0, 0
			if rank := symbol - 1; rank < nearRanks {
				near = toFront(near, rank)
			} else {
				near = e.list.take(near, rank)
			}
			out[n] = byte(near)
			e.counts[byte(near)]++
			n++
		}
	}
	e.bits.acc, e.bits.have, e.bits.pos = acc, have, pos
	return n, err
}

// repeat writes c size times, and up to blockSlack times more.
func repeat(out []byte, c byte, size uint) {
	binary.LittleEndian.PutUint64(out, uint64(c)*ones)
	for i := uint(8); i < size; i += 8 {
		binary.LittleEndian.PutUint64(out[i:], uint64(c)*ones)
	}
}
