package qcow2_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/compression"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/qcow2"
	"github.com/capcat/capcat/imagecatalog/internal/islands"
)

// corpus reads an image that qemu-img wrote.
func corpus(t testing.TB, name string) []byte {
	t.Helper()
	file, err := os.Open(filepath.Join("../../../test/corpus", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in, _, err := compression.NewReader(t.Context(), file, artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCorpus reads images of other writers: those of one size hold one disk.
func TestCorpus(t *testing.T) {
	sums := map[int64][sha256.Size]byte{}
	for _, name := range []string{
		"qcow2-v2.qcow2", "qcow2-v3.qcow2", "qcow2-v3-compressed.qcow2", "qcow2-zstd.qcow2", "qcow2-lazy-refcounts.qcow2",
		"qcow2-cluster-512.qcow2", "qcow2-cluster-2m.qcow2.bz2", "qcow2-refcount-1bit.qcow2", "qcow2-odd-size.qcow2",
	} {
		t.Run(name, func(t *testing.T) {
			img, err := qcow2.Open(bytes.NewReader(corpus(t, name)))
			if err != nil {
				t.Fatal(err)
			}
			p := make([]byte, img.Size())
			if n, err := img.ReadAt(p, 0); n != len(p) {
				t.Fatalf("read %d of %d: %v", n, len(p), err)
			}
			small := islands.Sectors{}
			for at := int64(0); at < img.Size(); at += 1536 { // in parts that fit no cluster
				part := make([]byte, min(1536, img.Size()-at))
				if _, err := img.ReadAt(part, at); err != nil {
					t.Fatal(err)
				}
				small.Add(at, part)
			}
			whole := islands.Sectors{}
			whole.Add(0, p)
			if diff := islands.Diff(whole, small); diff != "" || len(whole) == 0 {
				t.Errorf("%d sectors; %s", len(whole), diff)
			}
			sum := sha256.Sum256(p)
			if before, known := sums[img.Size()]; known && before != sum {
				t.Error("the disk is not the one of the other images")
			}
			sums[img.Size()] = sum
		})
	}
}

func TestRefused(t *testing.T) {
	for name, want := range map[string]artifact.Code{
		"qcow2-backing-v2.qcow2":       artifact.BackingFile,
		"qcow2-backing-v3.qcow2":       artifact.BackingFile,
		"qcow2-aes.qcow2":              artifact.Encrypted,
		"qcow2-luks.qcow2":             artifact.Encrypted,
		"qcow2-external-data.qcow2":    artifact.UnknownIncompatBit,
		"qcow2-extended-l2.qcow2":      artifact.UnknownIncompatBit,
		"qcow2-corrupt-bit.qcow2":      artifact.UnknownIncompatBit,
		"qcow2-unknown-incompat.qcow2": artifact.UnknownIncompatBit,
		"qcow2-truncated-header.qcow2": artifact.TruncatedHeader,
		"qcow2-wrong-magic.qcow2":      artifact.BadMagic,
		"empty.qcow2":                  artifact.BadMagic,
		"qcow2-l1-outside.qcow2":       artifact.TruncatedImage,
		"qcow2-absurd-size.qcow2":      artifact.BadHeader,
	} {
		t.Run(name, func(t *testing.T) {
			file, err := os.ReadFile(filepath.Join("../../../test/corpus", name))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := qcow2.Open(bytes.NewReader(file)); artifact.CodeOf(err) != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

func TestCutImage(t *testing.T) {
	img, err := qcow2.Open(bytes.NewReader(corpus(t, "qcow2-truncated-data.qcow2")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := img.ReadAt(make([]byte, img.Size()), 0); artifact.CodeOf(err) != artifact.TruncatedImage {
		t.Errorf("read with %v", err)
	}
}

func TestReadAtEnds(t *testing.T) {
	img, err := qcow2.Open(bytes.NewReader(corpus(t, "qcow2-v3.qcow2")))
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 1024)
	if n, err := img.ReadAt(p, img.Size()-512); n != 512 || !errors.Is(err, io.EOF) {
		t.Errorf("over the end: %d, %v", n, err)
	}
	if n, err := img.ReadAt(p, img.Size()); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %d, %v", n, err)
	}
	if _, err := img.ReadAt(p, -1); err == nil {
		t.Error("in front of the begin: no error")
	}
}

// FuzzRead looks for images that make the reader panic or take more than they may.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"qcow2-v3-compressed.qcow2", "qcow2-zstd.qcow2", "qcow2-v2.qcow2"} {
		f.Add(corpus(f, name)[:200], uint16(40), uint64(0))
	}
	whole := corpus(f, "qcow2-v3-compressed.qcow2")
	f.Fuzz(func(t *testing.T, head []byte, at uint16, value uint64) {
		file := bytes.Clone(whole)
		copy(file, head)
		if int(at)+8 <= len(file) {
			binary.BigEndian.PutUint64(file[at:], value)
		}
		img, err := qcow2.Open(bytes.NewReader(file))
		if err != nil {
			return
		}
		report, err := inspect.Inspect(t.Context(), bytes.NewReader(file), int64(len(file)), inspect.Options{Declared: artifact.QCOW2})
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, min(img.Size(), 4<<20))
		_, err = img.ReadAt(p, 0)
		if _, _, nextErr := img.Next(0); nextErr != nil && report.Verdict == inspect.Accept {
			t.Errorf("an accepted image has a map that cannot be read: %v", nextErr)
		}
		_ = err // compressed data may be damaged without the inspection seeing it
	})
}
