package bzip2

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	oracle "github.com/dsnet/compress/bzip2"
)

// forced returns a Reader that uses the block decoder whatever the size of the input.
func forced(data []byte, workers int) *Reader {
	z := NewReader(bytes.NewReader(data), Options{Workers: workers})
	z.opened = true
	return z
}

// agree decodes by the oracle and by ours. Both must deliver the same bytes before they end or fail, and both must fail or neither.
// Small input, which goes to the oracle's own code, must have the same error from the block decoder.
func agree(t *testing.T, data []byte) error {
	t.Helper()
	return agreeOn(t, data, enough)
}

// agreeOn is agree for the first bytes only.
func agreeOn(t *testing.T, data []byte, limit int) error {
	t.Helper()
	want, err := oracle.NewReader(bytes.NewReader(data), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := forced(data, 1+len(data)/2000%3)
	defer got.Close()
	errs := compare(t, want, got, limit)
	if (errs[0] == io.EOF) != (errs[1] == io.EOF) {
		t.Fatalf("error %v, the oracle says %v", errs[1], errs[0])
	}
	err = errs[1]
	if err == io.EOF {
		return nil
	}
	if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTrailing) {
		t.Fatalf("error of no kind: %v", err)
	}
	_, small := io.Copy(io.Discard, NewReader(bytes.NewReader(data), Options{Workers: 1}))
	if small == nil || small.Error() != err.Error() {
		t.Fatalf("error %v of the public reader, %v of the block decoder", small, err)
	}
	return err
}

// enough bytes compared.
const enough = 16 << 20

// compare reads both to their ends, or to the limit, and returns the errors there.
func compare(t *testing.T, want, got io.Reader, limit int) [2]error {
	t.Helper()
	bufs := [2][]byte{make([]byte, 100_000), make([]byte, 100_000)}
	for offset := 0; ; {
		var errs [2]error
		var data [2][]byte
		for i, r := range []io.Reader{want, got} {
			n := 0
			for n < len(bufs[i]) && errs[i] == nil {
				var m int
				m, errs[i] = r.Read(bufs[i][n:])
				n += m
			}
			data[i] = bufs[i][:n]
		}
		if !bytes.Equal(data[0], data[1]) {
			t.Fatalf("bytes differ from the oracle's after %d: %d and %d more", offset, len(data[1]), len(data[0]))
		}
		if errs[0] != nil || errs[1] != nil {
			return errs
		}
		if offset += len(data[0]); offset > limit {
			return [2]error{io.EOF, io.EOF}
		}
	}
}

// decodes fails the test unless data decode to want, and do so by the oracle.
func decodes(t *testing.T, data, want []byte) {
	t.Helper()
	if err := agree(t, data); err != nil {
		t.Fatal(err)
	}
	z := NewReader(bytes.NewReader(data), Options{})
	defer z.Close()
	if errs := compare(t, bytes.NewReader(want), z, enough); errs[1] != io.EOF {
		t.Fatal(errs[1])
	}
}

func compress(t testing.TB, level int, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := NewWriter(&out, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// text is compressible data of many blocks at level 1.
func text(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, 0, n+16)
	for len(out) < n {
		switch r.IntN(4) {
		case 0:
			out = append(out, bytes.Repeat([]byte{byte(r.IntN(4))}, r.IntN(300))...)
		default:
			for range r.IntN(40) {
				out = append(out, "etaoin shrdlu\n"[r.IntN(14)])
			}
		}
	}
	return out[:n]
}

func noise(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(out)
	return out
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestValid(t *testing.T) {
	small, large, random := text(5000), text(700_000), noise(250_000)
	empty := new(forge).header(9).end().buf
	cases := map[string]struct {
		data []byte
		want []byte
	}{
		"one small stream":             {compress(t, 9, small), small},
		"one byte":                     {compress(t, 1, []byte("x")), []byte("x")},
		"many blocks":                  {compress(t, 1, large), large},
		"noise":                        {compress(t, 1, random), random},
		"streams of different levels":  {join(compress(t, 1, large), compress(t, 9, small), compress(t, 2, random)), join(large, small, random)},
		"empty stream":                 {empty, nil},
		"empty stream of our writer":   {compress(t, 9, nil), nil},
		"empty, data, empty":           {join(empty, compress(t, 1, large), empty), large},
		"several empty streams":        {join(empty, empty, empty), nil},
		"runs of every length":         {compress(t, 1, runs()), runs()},
		"zeros longer than any buffer": {compress(t, 9, make([]byte, 2<<20)), make([]byte, 2<<20)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			decodes(t, c.data, c.want)
		})
	}
}

func runs() []byte {
	var out []byte
	for n := range 600 {
		out = append(out, bytes.Repeat([]byte{byte(n % 3)}, n)...)
	}
	return out
}

func TestFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bz2")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	corpus, err := filepath.Glob("../../../test/corpus/*.bz2")
	if err != nil || len(corpus) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, file := range append(files, corpus...) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_ = agreeOn(t, data, 4<<20)
		})
	}
}
