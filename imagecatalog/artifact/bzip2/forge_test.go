package bzip2

import (
	"bytes"
	"slices"
	"testing"

	oracle "github.com/dsnet/compress/bzip2"
)

// forge writes bzip2 streams bit by bit, also such as no compressor writes.
type forge struct {
	buf  []byte
	free int // bits not yet used of the last byte
	sum  uint32
}

func (f *forge) bits(v uint64, n int) *forge {
	for n--; n >= 0; n-- {
		if f.free == 0 {
			f.buf, f.free = append(f.buf, 0), 8
		}
		f.free--
		f.buf[len(f.buf)-1] |= byte(v>>n&1) << f.free
	}
	return f
}

func (f *forge) header(level int) *forge {
	f.free, f.sum = 0, 0
	f.buf = append(f.buf, 'B', 'Z', 'h', '0'+byte(level))
	return f
}

func (f *forge) end() *forge {
	f.bits(endMagic, 48).bits(uint64(f.sum), 32)
	f.free = 0
	return f
}

// body is what a block holds behind its checksum.
type body struct {
	randomised bool
	origin     int
	alphabet   []byte  // in ascending order
	lengths    [][]int // of codes, a list for each tree
	order      []int   // of trees
	symbols    []int   // without the end
	noEnd      bool
	groups     int // how many selectors, if not as many as needed
	detours    int // pointless steps before the first code length
}

// block adds a block with the checksum given, or the right one if that is zero.
func (f *forge) block(t testing.TB, b body, crc uint32) *forge {
	t.Helper()
	if crc == 0 {
		crc = b.crc(t)
	}
	f.sum = (f.sum<<1 | f.sum>>31) ^ crc
	f.bits(blockMagic, 48).bits(uint64(crc), 32)
	b.write(f)
	return f
}

// crc decodes the block with the oracle, whose complaint about the checksum comes last.
func (b body) crc(t testing.TB) uint32 {
	t.Helper()
	f := new(forge).header(9).bits(blockMagic, 48).bits(0xdeadbeef, 32)
	b.write(f)
	f.end()
	var out bytes.Buffer
	z, err := oracle.NewReader(bytes.NewReader(f.buf), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = out.ReadFrom(z)
	var c checksum
	c.update(out.Bytes())
	return c.sum()
}

func (b body) write(f *forge) {
	flag := uint64(0)
	if b.randomised {
		flag = 1
	}
	f.bits(flag, 1).bits(uint64(b.origin), 24)
	b.writeAlphabet(f)
	f.bits(uint64(len(b.lengths)), 3)
	b.writeOrder(f)
	for _, lengths := range b.lengths {
		b.writeLengths(f, lengths)
	}
	symbols := b.symbols
	if !b.noEnd {
		symbols = append(symbols[:len(symbols):len(symbols)], len(b.alphabet)+1)
	}
	codes := make([][]uint64, len(b.lengths))
	for i, lengths := range b.lengths {
		codes[i] = canonical(lengths)
	}
	for i, s := range symbols {
		tree := b.tree(i / groupSize)
		f.bits(codes[tree][s], b.lengths[tree][s])
	}
}

func (b body) tree(group int) int {
	if group < len(b.order) {
		return b.order[group]
	}
	return 0
}

func (b body) writeAlphabet(f *forge) {
	var used [256]bool
	for _, c := range b.alphabet {
		used[c] = true
	}
	var high uint64
	var low []uint64
	for i := range 16 {
		v := uint64(0)
		for j := range 16 {
			if used[i*16+j] {
				v |= 1 << (15 - j)
			}
		}
		if v != 0 {
			high |= 1 << (15 - i)
			low = append(low, v)
		}
	}
	f.bits(high, 16)
	for _, v := range low {
		f.bits(v, 16)
	}
}

// writeOrder writes enough selectors for all symbols.
func (b body) writeOrder(f *forge) {
	groups := max(len(b.order), len(b.symbols)/groupSize+1)
	if b.groups > 0 {
		groups = b.groups
	}
	f.bits(uint64(groups), 15)
	recent := []int{0, 1, 2, 3, 4, 5, 6}
	for i := range groups {
		tree, rank := b.tree(i), 0
		for recent[rank] != tree {
			rank++
		}
		copy(recent[1:rank+1], recent[:rank])
		recent[0] = tree
		f.bits(1<<(rank+1)-2, rank+1)
	}
}

func (b body) writeLengths(f *forge, lengths []int) {
	at := lengths[0]
	f.bits(uint64(at), 5)
	for range b.detours {
		if at < maxCodeLen {
			f.bits(0b10_11, 4)
		} else {
			f.bits(0b11_10, 4)
		}
	}
	for _, l := range lengths {
		for ; at < l; at++ {
			f.bits(0b10, 2)
		}
		for ; at > l; at-- {
			f.bits(0b11, 2)
		}
		f.bits(0, 1)
	}
}

// canonical gives each symbol its code. Codes that do not fit are cut.
func canonical(lengths []int) []uint64 {
	codes := make([]uint64, len(lengths))
	code := uint64(0)
	for l := 1; l <= maxCodeLen; l++ {
		for s := range lengths {
			if lengths[s] == l {
				codes[s] = code
				code++
			}
		}
		code <<= 1
	}
	return codes
}

// bytewise is a body whose symbols are bytes of data, each with the code of its own value: what is in data, 0xff excepted, is found
// in the stream bit for bit.
func bytewise(data []byte) body {
	b := body{lengths: slices.Repeat([][]int{slices.Repeat([]int{8}, 256)}, 2)}
	for c := range 254 {
		b.alphabet = append(b.alphabet, byte(c))
	}
	for _, c := range data {
		b.symbols = append(b.symbols, int(c))
	}
	return b
}
