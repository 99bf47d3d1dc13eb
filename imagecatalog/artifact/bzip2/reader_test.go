package bzip2

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

// TestSources: how a source portions its bytes makes no difference.
func TestSources(t *testing.T) {
	want := text(250_000)
	data := join(compress(t, 1, want[:200_000]), compress(t, 9, want[200_000:]))
	small := compress(t, 9, want[:300])
	sources := map[string]func(io.Reader) io.Reader{
		"one byte at a time":        iotest.OneByteReader,
		"half of what is asked for": iotest.HalfReader,
		"end with the last bytes":   iotest.DataErrReader,
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			for _, c := range [][2][]byte{{data, want}, {small, want[:300]}} {
				z := NewReader(source(bytes.NewReader(c[0])), Options{Workers: 2})
				if err := iotest.TestReader(z, c[1]); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestBuffers(t *testing.T) {
	want := runs()
	data := compress(t, 1, want)
	for _, size := range []int{1, 2, 3, 5, 7, 100, 274, 275, 276, 1000, 1 << 20} {
		z := forced(data, 1)
		got, err := io.ReadAll(struct{ io.Reader }{&portions{z, size}})
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("buffers of %d bytes: %d bytes of %d, %v", size, len(got), len(want), err)
		}
	}
}

// portions reads at most size bytes at a time.
type portions struct {
	r    io.Reader
	size int
}

func (p *portions) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.size)]) }

func TestWriteTo(t *testing.T) {
	want := text(250_000)
	var got bytes.Buffer
	n, err := NewReader(bytes.NewReader(compress(t, 1, want)), Options{}).WriteTo(&got)
	if err != nil || n != int64(len(want)) || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes of %d, %v", n, len(want), err)
	}
	_, err = forced([]byte("BZh9"), 1).WriteTo(&got)
	if !errors.Is(err, ErrTruncated) {
		t.Error(err)
	}
}

var errSource = errors.New("source failed")

// TestSourceFails: the error of the source is passed on as it is, after what was good before it.
func TestSourceFails(t *testing.T) {
	data := compress(t, 1, text(350_000))
	for _, n := range []int{0, 3, 1000, len(data) / 2, len(data) - 3, len(data)} {
		z := NewReader(io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(errSource)), Options{Workers: 2})
		if _, err := io.ReadAll(z); !errors.Is(err, errSource) {
			t.Errorf("after %d bytes: %v", n, err)
		}
		if _, err := z.Read(make([]byte, 1)); !errors.Is(err, errSource) {
			t.Errorf("after %d bytes, again: %v", n, err)
		}
	}
	stuck := readerFunc(func([]byte) (int, error) { return 0, nil })
	if _, err := io.ReadAll(NewReader(stuck, Options{})); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestNothingStays: no goroutine outlives a reader, however it ends. A bubble fails when one does.
func TestNothingStays(t *testing.T) {
	good := compress(t, 1, text(900_000))
	broken := bytes.Clone(good)
	broken[len(broken)/2] ^= 1
	cases := map[string]func(*testing.T){
		"closed before the first read": func(t *testing.T) {
			z := forced(good, 4)
			if err := errors.Join(z.Close(), z.Close()); err != nil {
				t.Error(err)
			}
			if _, err := z.Read(make([]byte, 1)); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		},
		"closed early": func(t *testing.T) {
			z := forced(good, 4)
			if _, err := io.ReadFull(z, make([]byte, 1000)); err != nil {
				t.Error(err)
			}
			if err := z.Close(); err != nil {
				t.Error(err)
			}
			if _, err := z.Read(make([]byte, 1)); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		},
		"read to the end": func(t *testing.T) {
			if _, err := io.ReadAll(forced(good, 4)); err != nil {
				t.Error(err)
			}
		},
		"corrupt": func(t *testing.T) {
			if _, err := io.ReadAll(forced(broken, 4)); !errors.Is(err, ErrCorrupt) {
				t.Error(err)
			}
		},
		"source fails": func(t *testing.T) {
			z := NewReader(io.MultiReader(bytes.NewReader(good[:len(good)/2]), iotest.ErrReader(errSource)), Options{Workers: 3})
			if _, err := io.ReadAll(z); !errors.Is(err, errSource) {
				t.Error(err)
			}
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { synctest.Test(t, c) })
	}
}

// TestCloseWhileSourceHangs: Close does not wait for the source.
func TestCloseWhileSourceHangs(t *testing.T) {
	data := compress(t, 1, text(900_000))
	synctest.Test(t, func(t *testing.T) {
		source, feed := io.Pipe()
		z := NewReader(source, Options{Workers: 2})
		done := make(chan error)
		go func() {
			_, err := io.Copy(io.Discard, z)
			done <- err
		}()
		if _, err := feed.Write(data[:len(data)/2]); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := z.Close(); err != nil {
			t.Error(err)
		}
		if err := feed.CloseWithError(errSource); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, ErrClosed) && !errors.Is(err, errSource) {
			t.Error(err)
		}
	})
}

// TestCloseAnytime closes while another goroutine reads.
func TestCloseAnytime(t *testing.T) {
	data := compress(t, 1, text(900_000))
	for range 20 {
		z := forced(data, 2)
		begun := make(chan struct{})
		go func() {
			<-begun
			_ = z.Close()
		}()
		close(begun)
		if _, err := io.Copy(io.Discard, z); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
}

// TestMemory: a block that expands to 46 MB takes no more room than any other.
func TestMemory(t *testing.T) {
	// The block is 180 000 times four zeros and the count 255, as sorted by the transform.
	b := body{alphabet: []byte{0, 255}, lengths: [][]int{{2, 2, 2, 2}, {2, 2, 2, 2}}}
	b.symbols = slices.Concat([]int{2}, run(179_999), []int{2}, run(719_999))
	data := new(forge).header(9).block(t, b, 0).end().buf
	z := forced(data, 2)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := io.Copy(io.Discard, z)
	runtime.ReadMemStats(&after)
	if err != nil || n != 180_000*259 {
		t.Fatal(n, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 30<<20 {
		t.Errorf("%d bytes allocated", got)
	}
}

// run is the symbols of a run.
func run(n int) []int {
	var symbols []int
	for n++; n > 1; n >>= 1 {
		symbols = append(symbols, n&1)
	}
	return symbols
}

func TestWriterLevels(t *testing.T) {
	for level := range 10 {
		decodes(t, compress(t, level, []byte("some text")), []byte("some text"))
	}
	for _, level := range []int{-1, 10} {
		if _, err := NewWriter(io.Discard, level); err == nil {
			t.Errorf("level %d accepted", level)
		}
	}
}
