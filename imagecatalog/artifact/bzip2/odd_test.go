package bzip2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
)

// falseMagic is bytes that hold a magic shifted by some bits, none of them 0xff, with which a bytewise block cannot do.
func falseMagic(magic uint64, shift int) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], magic<<shift)
	return b[:]
}

func TestFalseMagics(t *testing.T) {
	cases := map[string]struct {
		count int
		magic uint64
	}{
		"one block magic":                {1, blockMagic},
		"one end magic":                  {1, endMagic},
		"two block magics":               {2, blockMagic},
		"280 block magics":               {280, blockMagic},
		"more block magics than a queue": {20_000, blockMagic},
		"many end magics":                {20_000, endMagic},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			data := bytes.Repeat([]byte{3, 4}, 200)
			for i := range c.count {
				data = append(data, falseMagic(c.magic, i%8)...)
				data = append(data, byte(i%200+2))
			}
			b := bytewise(data)
			b.origin = len(data) / 2
			f := new(forge).header(9).block(t, bytewise([]byte{5, 6, 7}), 0)
			f.block(t, b, 0).block(t, bytewise([]byte{9, 8, 7}), 0).end()
			if err := agree(t, f.buf); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFalseMagicsTakeNoMemory: what waits is bounded, however many candidates there are.
func TestFalseMagicsTakeNoMemory(t *testing.T) {
	var data []byte
	for range 110_000 {
		data = append(data, falseMagic(blockMagic, 7)[1:]...)
	}
	f := new(forge).header(9)
	f.block(t, bytewise(data), 0).end()
	z := forced(f.buf, 2)
	if _, err := io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	l := z.blocks.ahead
	if n := len(l.jobs) + len(l.spare); n > l.queue+1 {
		t.Errorf("%d jobs for a queue of %d", n, l.queue)
	}
}

// TestOddCodes: prefix codes need not be complete, as long as the data do not use what is missing.
func TestOddCodes(t *testing.T) {
	ab := []byte("ab")
	cases := map[string]struct {
		body body
		want error
	}{
		"complete": {
			body{alphabet: ab, lengths: [][]int{{1, 2, 3, 3}, {2, 2, 2, 2}}, symbols: []int{0, 2, 1, 2}}, nil},
		"gaps, as lbzip2 leaves them": {
			body{alphabet: ab[:1], lengths: [][]int{{2, 2, 2}, {3, 3, 3}}, symbols: []int{0, 0}}, nil},
		"gaps used": {
			body{alphabet: ab, lengths: [][]int{{3, 3, 3, 3}, {3, 3, 3, 3}}, noEnd: true, symbols: []int{0, 2}}, ErrCorrupt},
		"longer than any table": {
			body{alphabet: ab, lengths: [][]int{{20, 1, 19, 20}, {2, 2, 2, 2}}, symbols: []int{0, 1, 2, 0}}, nil},
		"too many short codes, the last unused": {
			body{alphabet: ab, lengths: [][]int{{1, 1, 1, 1}, {1, 1, 1, 1}}, noEnd: true, symbols: []int{0, 1, 0, 1}}, ErrCorrupt},
		"too many codes, the end among the good": {
			body{alphabet: ab, lengths: [][]int{{2, 2, 3, 1}, {2, 2, 3, 1}}, symbols: []int{0, 1}}, nil},
		"randomised": {
			body{randomised: true, alphabet: ab, lengths: [][]int{{1, 2, 3, 3}, {2, 2, 2, 2}}, symbols: []int{0, 2}}, ErrCorrupt},
		"no alphabet": {
			body{lengths: [][]int{{1, 2}, {1, 2}}, symbols: []int{0}}, ErrCorrupt},
		"one tree": {
			body{alphabet: ab, lengths: [][]int{{1, 2, 3, 3}}, symbols: []int{0, 2}}, ErrCorrupt},
		"seven trees": {
			body{alphabet: ab, lengths: slices.Repeat([][]int{{1, 2, 3, 3}}, 7), symbols: []int{0, 2}}, ErrCorrupt},
		"selector of no tree": {
			body{alphabet: ab, lengths: [][]int{{1, 2, 3, 3}, {2, 2, 2, 2}}, order: []int{0, 2}, symbols: []int{0, 2}}, ErrCorrupt},
		"no selectors left": {
			body{alphabet: ab, lengths: [][]int{{1, 2, 3, 3}, {2, 2, 2, 2}}, groups: 1, symbols: slices.Repeat([]int{2}, 60)}, ErrCorrupt},
		"origin outside": {
			body{alphabet: ab, origin: 5, lengths: [][]int{{1, 2, 3, 3}, {2, 2, 2, 2}}, symbols: []int{0, 2}}, ErrCorrupt},
		"nothing but the end": {
			body{alphabet: ab, lengths: [][]int{{1, 2, 3, 3}, {2, 2, 2, 2}}}, ErrCorrupt},
		"run without its count": {
			body{alphabet: ab, lengths: [][]int{{1, 2, 3, 3}, {2, 2, 2, 2}}, symbols: []int{1, 0}}, ErrCorrupt},
		"run of 2^20": {
			body{alphabet: ab, lengths: [][]int{{1, 2, 3, 3}, {2, 2, 2, 2}}, symbols: slices.Repeat([]int{1}, 20)}, ErrCorrupt},
		"run of 2^31": {
			body{alphabet: ab, lengths: [][]int{{1, 2, 3, 3}, {2, 2, 2, 2}}, symbols: slices.Repeat([]int{0}, 31)}, ErrCorrupt},
		"a code of 21 bits": {
			body{alphabet: ab, lengths: [][]int{{1, 21, 3, 3}, {2, 2, 2, 2}}, symbols: []int{0, 2}}, ErrCorrupt},
		"a long way to the first length": {
			body{alphabet: ab, lengths: [][]int{{1, 2, 3, 3}, {2, 2, 2, 2}}, symbols: []int{0, 2}, detours: 5000}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := new(forge).header(9).block(t, c.body, 0).end()
			if err := agree(t, f.buf); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// TestLargeBlocks: the largest blocks there can be, and larger ones.
func TestLargeBlocks(t *testing.T) {
	cases := map[string]struct {
		level, size int
		ok          bool
	}{
		"level 9, full":     {9, 900_000, true},
		"level 1, full":     {1, 100_000, true},
		"level 1, one more": {1, 100_001, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			data := make([]byte, c.size)
			for i := range data {
				data[i] = byte(2 + i*i%250)
			}
			f := new(forge).header(c.level)
			f.block(t, bytewise(data), 0).end()
			if err := agree(t, f.buf); (err == nil) != c.ok {
				t.Error(err)
			}
		})
	}
}

// TestLongestCodes: a block that takes as much room compressed as one can.
func TestLongestCodes(t *testing.T) {
	b := body{lengths: slices.Repeat([][]int{slices.Repeat([]int{20}, 102)}, 2), symbols: slices.Repeat([]int{100}, 900_000)}
	for c := range 100 {
		b.alphabet = append(b.alphabet, byte(c))
	}
	f := new(forge).header(9).block(t, b, 0xbad).end()
	if len(f.buf) < 2_250_000 {
		t.Fatalf("only %d bytes", len(f.buf))
	}
	n, err := io.Copy(io.Discard, forced(f.buf, 1))
	if n < 900_000 || err == nil || err.Error() != corrupt("checksum of a block").Error() {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestEndlessCodeLengths: what needs more input than any block is refused, not buffered.
func TestEndlessCodeLengths(t *testing.T) {
	b := body{alphabet: []byte("ab"), lengths: [][]int{{1, 2, 3, 3}, {2, 2, 2, 2}}, symbols: []int{0, 2}, detours: maxCompressed * 2}
	f := new(forge).header(9)
	f.block(t, b, 1).end()
	if _, err := io.ReadAll(forced(f.buf, 2)); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// TestWalk compares the walk of many lanes with the plain one, on blocks that fall into several cycles too.
func TestWalk(t *testing.T) {
	size := lanes*spacing + 12_345
	blocks := map[string][]byte{
		"noise":      noise(size),
		"text":       text(size),
		"zeros":      make([]byte, size),
		"two halves": append(bytes.Repeat([]byte{1}, size/2), bytes.Repeat([]byte{0}, size/2)...),
		"period 7":   bytes.Repeat([]byte("abcdefg"), size/7),
		"smallest":   noise(lanes * spacing),
		"largest":    noise(maxBlock),
	}
	v := new(inverse)
	for name, block := range blocks {
		for _, origin := range []int{0, 1, spacing, 5000, len(block) - 1} {
			t.Run(fmt.Sprint(name, " from ", origin), func(t *testing.T) {
				var counts [256]uint32
				for _, c := range block {
					counts[c]++
				}
				want, again := make([]byte, len(block)), counts
				v.link(block, &again)
				v.follow(want, origin)
				got := bytes.Clone(block)
				v.decode(got, &counts, origin)
				if !bytes.Equal(got, want) {
					t.Error("differs")
				}
			})
		}
	}
}

// TestScanner finds magics at every bit and in every place modulo four, also across what was read so far.
func TestScanner(t *testing.T) {
	s := newScanner()
	for _, magic := range []uint64{blockMagic, endMagic} {
		for bit := range 64 {
			f := new(forge)
			for range bit {
				f.bits(1, 1)
			}
			f.bits(magic, 48).bits(0, 20)
			for from := range bit + 1 {
				got, isEnd, _, ok := s.find(f.buf, from)
				if !ok || got != bit || isEnd != (magic == endMagic) {
					t.Fatalf("magic at bit %d, searched from %d: found %d %v %v", bit, from, got, isEnd, ok)
				}
			}
			if _, _, _, ok := s.find(f.buf, bit+1); ok {
				t.Fatalf("magic at bit %d found from the next on", bit)
			}
			for cut := range (bit + 48 + 7) / 8 {
				_, _, resume, ok := s.find(f.buf[:cut], 0)
				if ok || resume > bit/8 {
					t.Fatalf("magic at bit %d, cut at byte %d: %v, resumes at %d", bit, cut, ok, resume)
				}
			}
		}
	}
}

func TestChecksum(t *testing.T) {
	for text, want := range map[string]uint32{"": 0, "123456789": 0xfc891918} {
		var c checksum
		c.update([]byte(text))
		if c.sum() != want {
			t.Errorf("%q has %08x, want %08x", text, c.sum(), want)
		}
	}
}
