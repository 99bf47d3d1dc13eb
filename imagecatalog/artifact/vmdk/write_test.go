package vmdk_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/vmdk"
	"github.com/capcat/capcat/imagecatalog/internal/islands"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

func TestReadBack(t *testing.T) {
	for name, c := range map[string]struct {
		disk    islands.Disk
		virtual int64
		grains  int64
	}{
		"no grains":            {islands.New(10*mib, 0), 10 * mib, 0},
		"one sector":           {islands.New(512, 512, 0), mib, 1},
		"a sector more":        {islands.New(2*mib+512, 700, 0, 2*mib), 3 * mib, 2},
		"two tables":           {islands.New(64*mib, 700, 32*mib-512, 64*mib-700), 64 * mib, 3},
		"a sector over tables": {islands.New(32*mib+512, 512, 0, 32*mib), 33 * mib, 2},
		"full":                 {islands.New(4*mib, 4*mib, 0), 4 * mib, 64},
		"islands":              {islands.New(700*mib, 70000, 0, 300*mib+1000, 600*mib), 700 * mib, 6},
		"2 TiB":                {islands.New(2048*gib, 700, 0, 2048*gib-512), 2048 * gib, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			written, err := vmdk.Write(t.Context(), &file, c.disk, "disk.vmdk")
			if err != nil {
				t.Fatal(err)
			}
			if want := (vmdk.Written{Bytes: int64(file.Len()), PopulatedBytes: c.grains * 64 << 10}); written != want {
				t.Errorf("wrote %+v, want %+v", written, want)
			}
			report, err := inspect.Inspect(t.Context(), bytes.NewReader(file.Bytes()), int64(file.Len()), inspect.Options{
				Declared: "VMDK", MaxVirtualSizeBytes: 4096 * gib,
			})
			if err != nil {
				t.Fatal(err)
			}
			if report.Verdict != inspect.Accept || report.VirtualSizeBytes != c.virtual {
				t.Errorf("inspected as %+v", report)
			}
			for how, read := range map[string]func([]byte) (islands.Sectors, error){"as a stream": readStream, "by the tables": readTables} {
				got, err := read(file.Bytes())
				if err != nil {
					t.Fatalf("%s: %v", how, err)
				}
				if diff := islands.Diff(c.disk.Sectors(), got); diff != "" {
					t.Errorf("%s: %s", how, diff)
				}
			}
			var again bytes.Buffer
			if _, err := vmdk.Write(t.Context(), &again, c.disk, "disk.vmdk"); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
				t.Errorf("the same disk gives two files (%v)", err)
			}
		})
	}
}

// readStream walks from marker to marker as an importer does that cannot seek.
func readStream(b []byte) (islands.Sectors, error) {
	le := binary.LittleEndian
	if string(b[:4]) != "KDMV" || le.Uint64(b[56:]) != 1<<64-1 {
		return nil, errors.New("bad magic, or the directory is not at the end")
	}
	got := islands.Sectors{}
	for b = b[le.Uint64(b[64:])*512:]; len(b) >= 512; {
		value, size, kind := le.Uint64(b), le.Uint32(b[8:]), le.Uint32(b[12:])
		if size == 0 {
			if kind == 0 {
				if len(b) != 512 {
					return nil, fmt.Errorf("%d bytes behind the end", len(b)-512)
				}
				return got, nil
			}
			b = b[(1+value)*512:]
			continue
		}
		if err := inflate(got, b); err != nil {
			return nil, err
		}
		b = b[(12+size+511)/512*512:]
	}
	return nil, errors.New("the stream has no end")
}

// inflate reads one grain.
func inflate(into islands.Sectors, b []byte) error {
	le := binary.LittleEndian
	z, err := zlib.NewReader(bytes.NewReader(b[12:][:le.Uint32(b[8:])]))
	if err != nil {
		return err
	}
	grain, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	if len(grain) != 64<<10 {
		return fmt.Errorf("a grain of %d bytes", len(grain))
	}
	into.Add(int64(le.Uint64(b))*512, grain)
	return nil
}

// readTables starts at the footer, as qemu does.
func readTables(b []byte) (islands.Sectors, error) {
	le := binary.LittleEndian
	footer := b[len(b)-1024:]
	directory := b[le.Uint64(footer[56:])*512:]
	got := islands.Sectors{}
	grains := le.Uint64(footer[12:]) / 128
	for i := uint64(0); i*512 < grains; i++ {
		table := le.Uint32(directory[i*4:])
		if table == 0 {
			continue
		}
		for j := range uint64(512) {
			grain := le.Uint32(b[int64(table)*512+int64(j)*4:])
			if grain == 0 {
				continue
			}
			at := b[int64(grain)*512:]
			if le.Uint64(at) != (i*512+j)*128 {
				return nil, fmt.Errorf("grain %d is that of sector %d", i*512+j, le.Uint64(at))
			}
			if err := inflate(got, at); err != nil {
				return nil, err
			}
		}
	}
	return got, nil
}

func TestDescriptor(t *testing.T) {
	var file bytes.Buffer
	if _, err := vmdk.Write(t.Context(), &file, islands.New(20*gib, 0), "node-disk1.vmdk"); err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(file.Bytes()[512:]), "\x00")
	for _, want := range []string{
		"# Disk DescriptorFile\n", "parentCID=ffffffff\n", "createType=\"streamOptimized\"\n", "RW 41943040 SPARSE \"node-disk1.vmdk\"\n",
		"ddb.geometry.cylinders = \"2610\"\n", "ddb.geometry.heads = \"255\"\n", "ddb.geometry.sectors = \"63\"\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the descriptor lacks %q:\n%s", want, text)
		}
	}
}

func TestRefused(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		disk disk.Image
		file string
		want string
	}{
		"cancelled":     {cancelled, islands.New(70*mib, 10, 0), "disk.vmdk", "context canceled"},
		"above 62 TiB":  {t.Context(), islands.New(62<<40+512, 0), "disk.vmdk", "at most"},
		"path":          {t.Context(), islands.New(mib, 0), "../disk.vmdk", "cannot be the name"},
		"second line":   {t.Context(), islands.New(mib, 0), "a\nb.vmdk", "cannot be the name"},
		"no name":       {t.Context(), islands.New(mib, 0), "", "cannot be the name"},
		"quotation":     {t.Context(), islands.New(mib, 0), `a"b.vmdk`, "cannot be the name"},
		"name too long": {t.Context(), islands.New(mib, 0), strings.Repeat("n", 300), "cannot be the name"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := vmdk.Write(c.ctx, io.Discard, c.disk, c.file); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
