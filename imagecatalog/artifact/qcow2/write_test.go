package qcow2_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/qcow2"
	"github.com/capcat/capcat/imagecatalog/internal/islands"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// writers are both ways to write a disk into a file.
func writers() map[string]func(context.Context, *os.File, disk.Image) error {
	return map[string]func(context.Context, *os.File, disk.Image) error{
		"plain":      func(ctx context.Context, f *os.File, d disk.Image) error { return qcow2.Write(ctx, f, d) },
		"compressed": func(ctx context.Context, f *os.File, d disk.Image) error { return qcow2.WriteCompressed(ctx, f, d) },
	}
}

func write(t *testing.T, d disk.Image, w func(context.Context, *os.File, disk.Image) error) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "disk.qcow2"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := w(t.Context(), f, d); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// read reads all that was ever written to the disk.
func read(t *testing.T, file []byte) (*qcow2.Image, islands.Sectors) {
	t.Helper()
	img, err := qcow2.Open(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	got := islands.Sectors{}
	for at := int64(0); at < img.Size(); {
		begin, end, err := img.Next(at)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, end-begin)
		if _, err := img.ReadAt(p, begin); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		got.Add(begin, p)
		at = end
	}
	return img, got
}

func TestWrittenReadsBack(t *testing.T) {
	disks := map[string]islands.Disk{
		"empty":                   islands.New(10*mib, 0),
		"one sector":              islands.New(512, 512, 0),
		"one sector at the end":   islands.New(64*kib+512, 512, 64*kib),
		"islands":                 islands.New(70*mib+512, 5000, 0, 3*mib+1000, 40*mib-7, 70*mib-600),
		"full":                    islands.New(6*mib, 6*mib, 0),
		"an L2 table and more":    islands.New(512*mib+512, 512, 0, 512*mib-512, 512*mib),
		"many tables, most empty": islands.New(2048*gib, 70*kib, 5*gib, 1000*gib+5, 2048*gib-512),
		"an L1 of two clusters":   islands.New(4100*gib, 700, 4100*gib-512),
	}
	for how, w := range writers() {
		for name, d := range disks {
			t.Run(how+"/"+name, func(t *testing.T) {
				file := write(t, d, w)
				report, err := inspect.Inspect(t.Context(), bytes.NewReader(file), int64(len(file)), inspect.Options{
					Declared: "QCOW2", Hypervisor: "KVM", MaxVirtualSizeBytes: 8192 * gib,
				})
				if err != nil {
					t.Fatal(err)
				}
				if report.Verdict != inspect.Accept || report.VirtualSizeBytes != d.Virtual {
					t.Errorf("inspected as %+v", report)
				}
				img, got := read(t, file)
				if img.Size() != d.Virtual {
					t.Errorf("size %d, want %d", img.Size(), d.Virtual)
				}
				if diff := islands.Diff(d.Sectors(), got); diff != "" {
					t.Error(diff)
				}
				if again := write(t, d, w); !bytes.Equal(file, again) {
					t.Error("the same disk gives two files")
				}
			})
		}
	}
}

// TestNoise writes clusters that get larger by being compressed among others that do not.
func TestNoise(t *testing.T) {
	d := islands.New(20*mib, 0)
	for at := int64(0); at < 20*mib; at += 300 * kib {
		noise := islands.New(20*mib, 400*kib, at).Bytes[at] // of which the first half is noise
		d.Bytes[at] = noise[:min(int64(len(noise)), 250*kib)]
	}
	file := write(t, d, writers()["compressed"])
	report, err := inspect.Inspect(t.Context(), bytes.NewReader(file), int64(len(file)), inspect.Options{})
	if err != nil || report.Verdict != inspect.Accept {
		t.Fatalf("%+v, %v", report, err)
	}
	_, got := read(t, file)
	if diff := islands.Diff(d.Sectors(), got); diff != "" {
		t.Error(diff)
	}
}

func TestWriteStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f, err := os.Create(filepath.Join(t.TempDir(), "disk.qcow2"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for how, w := range writers() {
		if err := w(ctx, f, islands.New(70*mib, 10, 0)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: ended with %v", how, err)
		}
	}
}
