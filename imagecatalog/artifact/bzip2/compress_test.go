package bzip2

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func TestCompress(t *testing.T) {
	for name, size := range map[string]int{
		"nothing": 0, "one byte": 1, "one stream": streamSize, "a byte more": streamSize + 1, "three streams": 2*streamSize + 777,
	} {
		t.Run(name, func(t *testing.T) {
			content := bytes.Repeat([]byte("the same words again; "), size/22+1)[:size]
			var packed, again bytes.Buffer
			if err := Compress(t.Context(), &packed, bytes.NewReader(content)); err != nil {
				t.Fatal(err)
			}
			if err := Compress(t.Context(), &again, iotest.HalfReader(bytes.NewReader(content))); err != nil || !bytes.Equal(packed.Bytes(), again.Bytes()) {
				t.Errorf("the same content gives two files (%v)", err)
			}
			ours := NewReader(bytes.NewReader(packed.Bytes()), Options{})
			defer ours.Close()
			for who, r := range map[string]io.Reader{"ours": ours, "std": stdbzip2.NewReader(bytes.NewReader(packed.Bytes()))} {
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
					t.Errorf("%s reads %d bytes back (%v)", who, len(got), err)
				}
			}
		})
	}
}

func TestCompressStops(t *testing.T) {
	fault := errors.New("fault")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Compress(t.Context(), io.Discard, iotest.ErrReader(fault)); !errors.Is(err, fault) {
		t.Errorf("a failing read: %v", err)
	}
	if err := Compress(cancelled, io.Discard, bytes.NewReader(make([]byte, 3*streamSize))); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
