package disk_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
	"github.com/capcat/capcat/imagecatalog/internal/islands"
)

func TestRaw(t *testing.T) {
	for name, c := range map[string]struct {
		size int64
		good bool
	}{
		"nothing":      {0, false},
		"half sector":  {256, false},
		"one sector":   {512, true},
		"odd":          {1025, false},
		"negative":     {-512, false},
		"two and more": {1536, true},
	} {
		t.Run(name, func(t *testing.T) {
			img, err := disk.Raw(bytes.NewReader(make([]byte, 2048)), c.size)
			if (err == nil) != c.good {
				t.Fatalf("error %v", err)
			}
			if c.good && img.Size() != c.size {
				t.Errorf("size %d", img.Size())
			}
		})
	}
}

func TestReadBehindTheEnd(t *testing.T) {
	img, err := disk.Raw(bytes.NewReader(bytes.Repeat([]byte{7}, 512)), 512)
	if err != nil {
		t.Fatal(err)
	}
	p := bytes.Repeat([]byte{9}, 1024)
	if err := disk.Read(img, p, 256); err != nil {
		t.Fatal(err)
	}
	if want := append(bytes.Repeat([]byte{7}, 256), make([]byte, 768)...); !bytes.Equal(p, want) {
		t.Errorf("read %v", p)
	}
	short, err := disk.Raw(bytes.NewReader(make([]byte, 512)), 1024)
	if err != nil {
		t.Fatal(err)
	}
	if err := disk.Read(short, p, 0); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a disk that is shorter than it says: %v", err)
	}
}

func TestIsZero(t *testing.T) {
	for n := range 200 {
		p := make([]byte, n)
		if !disk.IsZero(p) {
			t.Errorf("%d zeros are none", n)
		}
		for i := range p {
			p[i] = 1
			if disk.IsZero(p) {
				t.Errorf("byte %d of %d was not seen", i, n)
			}
			p[i] = 0
		}
	}
}

// plain hides what a disk knows about itself.
type plain struct{ disk.Image }

func TestEach(t *testing.T) {
	d := islands.New(9*disk.PieceSize+512, 3000, 0, 5000, 3*disk.PieceSize-1000, 9*disk.PieceSize+100)
	d.Bytes[5*disk.PieceSize] = make([]byte, 4096) // written, but zero
	for name, img := range map[string]disk.Image{"mapped": d, "plain": plain{d}} {
		t.Run(name, func(t *testing.T) {
			var pieces []int64
			got := islands.Sectors{}
			err := disk.Each(t.Context(), img, func(_ int64, data []byte) ([]byte, error) {
				return bytes.Clone(data), nil
			}, func(piece int64, data []byte) error {
				pieces = append(pieces, piece)
				got.Add(piece*disk.PieceSize, data)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]int64{0, 2, 3, 9}, pieces); diff != "" {
				t.Errorf("pieces: %s", diff)
			}
			if diff := islands.Diff(d.Sectors(), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// faulty cannot be read at all.
type faulty struct{ disk.Image }

var errFaulty = errors.New("bad sector")

func (faulty) ReadAt([]byte, int64) (int, error) { return 0, errFaulty }

// lost has a map that cannot be read.
type lost struct{ disk.Image }

func (lost) Next(int64) (begin, end int64, err error) { return 0, 0, errFaulty }

func TestEachFails(t *testing.T) {
	d := islands.New(9*disk.PieceSize, 3000, 0)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		img  disk.Image
		want error
	}{
		"unreadable":        {t.Context(), faulty{d}, errFaulty},
		"map is unreadable": {t.Context(), lost{d}, errFaulty},
		"cancelled":         {cancelled, plain{d}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			nothing := func(int64, []byte) (int, error) { return 0, nil }
			if err := disk.Each(c.ctx, c.img, nothing, func(int64, int) error { return nil }); !errors.Is(err, c.want) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}
