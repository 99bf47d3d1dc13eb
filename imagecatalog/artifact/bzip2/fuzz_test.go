package bzip2

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	oracle "github.com/dsnet/compress/bzip2"
)

// fuzzed is how many bytes of output are compared.
const fuzzed = 1 << 20

// large tells of files that would take the oracle long.
func large(data []byte) bool {
	z := NewReader(bytes.NewReader(data), Options{})
	defer z.Close()
	n, _ := io.CopyN(io.Discard, z, 2*fuzzed)
	return n == 2*fuzzed
}

// FuzzDecode compares whole files with the oracle, what is delivered before an error included.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(compress(f, 1, nil))
	f.Add(join(compress(f, 9, text(100)), compress(f, 1, runs()[:2000])))
	f.Add(new(forge).header(9).block(f, bytewise(falseMagic(blockMagic, 3)), 0).end().buf)
	files, err := filepath.Glob("testdata/*.bz2")
	if err != nil {
		f.Fatal(err)
	}
	corpus, err := filepath.Glob("../../../test/corpus/*.bz2")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, corpus...) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 100_000 && !large(data) {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { _ = agreeOn(t, data, fuzzed) })
}

// FuzzBlock compares what is made of a single block, given from behind its checksum on, so that no checksum hides what happens to
// damaged ones.
func FuzzBlock(f *testing.F) {
	bodies := []body{
		bytewise(text(60)),
		{alphabet: []byte("ab"), lengths: [][]int{{2, 2, 3, 1}, {20, 1, 19, 20}}, symbols: []int{0, 1}},
		{alphabet: []byte("abc"), origin: 2, lengths: [][]int{{3, 3, 3, 3, 3}, {1, 2, 3, 4, 4}}, order: []int{1, 0}, symbols: []int{0, 0, 3, 2, 1}},
		{alphabet: []byte("z"), lengths: [][]int{{2, 2, 2}, {1, 1, 1}}, symbols: []int{0, 1, 1, 0, 1, 1, 0, 1, 1, 0}},
	}
	for _, b := range bodies {
		var stream forge
		b.write(&stream)
		f.Add(stream.buf)
	}
	const before = 4 + 6 + 4
	for _, content := range [][]byte{text(200), runs()[:1000], noise(300), make([]byte, 100_000)} {
		f.Add(compress(f, 9, content)[before:])
	}
	d, j := new(decoder), new(job)
	f.Fuzz(func(t *testing.T, data []byte) {
		stream := append(new(forge).header(9).bits(blockMagic, 48).bits(0xdeadbeef, 32).buf, data...)
		j.load(stream[4:])
		d.decode(j)
		got := expandAll(&j.block)
		if slowForOracle(&d.entropy) || len(got) > 200_000 {
			return
		}
		theirs, err := oracle.NewReader(bytes.NewReader(stream), nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := io.ReadAll(theirs)
		if err == nil {
			t.Fatal("the checksum was right")
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, %v; the oracle has %d, %v", len(got), j.block.err, len(want), err)
		}
	})
}

// expandAll returns what a block delivers, up to a bound.
func expandAll(b *block) []byte {
	if b.err != nil {
		return nil
	}
	var x expander
	x.reset(b.bytes)
	out := make([]byte, 300_000)
	n, _ := x.expand(out)
	return out[:n]
}

// slowForOracle tells of prefix codes with gaps and long codes, of which the oracle tries every bit pattern.
func slowForOracle(e *entropy) bool {
	for i := range e.treeCount {
		limit := e.trees[i%maxTrees].limit
		if limit[maxCodeLen] < 1<<maxCodeLen && limit[12] != limit[maxCodeLen] {
			return true
		}
	}
	return false
}
