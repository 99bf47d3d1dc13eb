package bzip2

import (
	"bytes"
	"errors"
	"testing"
)

func TestFaulty(t *testing.T) {
	good := compress(t, 1, text(350_000))
	short := compress(t, 1, []byte("a short one"))
	flipped := func(at int) []byte {
		data := bytes.Clone(good)
		data[at] ^= 1
		return data
	}
	cases := map[string]struct {
		data []byte
		want error
	}{
		"nothing":                          {nil, ErrTruncated},
		"half a header":                    {good[:3], ErrTruncated},
		"header only":                      {good[:4], ErrTruncated},
		"half a magic":                     {good[:7], ErrTruncated},
		"first block cut":                  {good[:2000], ErrTruncated},
		"last block cut":                   {good[:len(good)-20], ErrTruncated},
		"stream checksum cut":              {good[:len(good)-4], ErrTruncated},
		"last byte cut":                    {good[:len(good)-1], ErrTruncated},
		"second stream cut":                {join(short, good[:9000]), ErrTruncated},
		"second stream cut in its magic":   {join(short, good[:6]), ErrTruncated},
		"no bzip2":                         {[]byte("GIF89a and more of it"), ErrCorrupt},
		"bzip1":                            {[]byte("BZ0 and more of it"), ErrCorrupt},
		"level 0":                          {join([]byte("BZh0"), good[4:]), ErrCorrupt},
		"no magic":                         {[]byte("BZh9 and more of it"), ErrCorrupt},
		"block checksum flipped":           {flipped(12), ErrCorrupt},
		"data flipped":                     {flipped(9000), ErrCorrupt},
		"stream checksum flipped":          {flipped(len(good) - 2), ErrCorrupt},
		"one more byte":                    {join(good, []byte{'x'}), ErrTrailing},
		"text behind":                      {join(good, []byte("trailing text")), ErrTrailing},
		"zeros behind":                     {join(good, make([]byte, 512)), ErrTrailing},
		"BZ behind":                        {join(good, []byte("BZ")), ErrTrailing},
		"BZh9 behind":                      {join(good, []byte("BZh9")), ErrTrailing},
		"a header and text behind":         {join(good, []byte("BZh9 and more of it")), ErrTrailing},
		"trailing byte after an empty one": {join(compress(t, 1, nil), []byte{0}), ErrTrailing},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if err := agree(t, c.data); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// TestTruncatedAnywhere cuts a file of two streams at each byte.
func TestTruncatedAnywhere(t *testing.T) {
	first := compress(t, 9, text(60))
	data := join(first, compress(t, 9, text(40)))
	for n := range data {
		want := ErrTruncated
		switch {
		case n == len(first):
			continue
		case n > len(first) && n <= len(first)+4:
			want = ErrTrailing
		}
		if err := agree(t, data[:n]); !errors.Is(err, want) {
			t.Fatalf("cut to %d bytes of %d: error %v, want %v", n, len(data), err, want)
		}
	}
}

// TestFlippedAnywhere flips every bit of a small file. Some mean nothing, but data never change without an error.
func TestFlippedAnywhere(t *testing.T) {
	want := text(60)
	data := compress(t, 9, want)
	for bit := range len(data) * 8 {
		flipped := bytes.Clone(data)
		flipped[bit/8] ^= 0x80 >> (bit % 8)
		if agree(t, flipped) == nil {
			decodes(t, flipped, want)
		}
	}
}

func TestBlocksMoved(t *testing.T) {
	b := make([]body, 3)
	for i := range b {
		b[i] = bytewise(bytes.Repeat([]byte{byte(5 + i), 9, 7}, 10*(i+1)))
	}
	sum := func(blocks ...body) uint32 {
		var f forge
		f.header(9)
		for _, b := range blocks {
			f.block(t, b, 0)
		}
		return f.sum
	}
	cases := map[string]struct {
		blocks []body
		sum    uint32
		want   error
	}{
		"as made":   {[]body{b[0], b[1], b[2]}, sum(b...), nil},
		"swapped":   {[]body{b[1], b[0], b[2]}, sum(b...), ErrCorrupt},
		"dropped":   {[]body{b[0], b[2]}, sum(b...), ErrCorrupt},
		"twice":     {[]body{b[0], b[1], b[1], b[2]}, sum(b...), ErrCorrupt},
		"all gone":  {nil, sum(b...), ErrCorrupt},
		"sum of 0s": {[]body{b[0], b[1], b[2]}, 0, ErrCorrupt},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var f forge
			f.header(9)
			for _, b := range c.blocks {
				f.block(t, b, 0)
			}
			f.sum = c.sum
			if err := agree(t, f.end().buf); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}
