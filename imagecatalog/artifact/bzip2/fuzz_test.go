package bzip2

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzDecode compares with the oracle, what is delivered before an error included.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(compress(f, 1, nil))
	f.Add(join(compress(f, 9, text(100)), compress(f, 1, runs()[:2000])))
	f.Add(compress(f, 1, noise(1000)))
	f.Add(new(forge).header(9).block(f, bytewise(falseMagic(blockMagic, 3)), 0).end().buf)
	odd := body{alphabet: []byte("ab"), lengths: [][]int{{2, 2, 3, 1}, {20, 1, 19, 20}}, symbols: []int{0, 1}}
	f.Add(new(forge).header(9).block(f, odd, 0).end().buf)
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
		if len(data) < 100_000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { _ = agree(t, data) })
}
