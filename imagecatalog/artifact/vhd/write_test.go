package vhd_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/vhd"
	"github.com/capcat/capcat/imagecatalog/internal/islands"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

func write(t *testing.T, d disk.Image, o vhd.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := vhd.Write(t.Context(), &b, d, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadBack(t *testing.T) {
	for name, c := range map[string]struct {
		disk    islands.Disk
		virtual int64
		blocks  int
	}{
		"no blocks":             {islands.New(10*mib, 0), 10 * mib, 0},
		"one sector":            {islands.New(512, 512, 0), mib, 1},
		"a sector more":         {islands.New(2*mib+512, 5000, 0, 2*mib), 3 * mib, 2},
		"a sector less":         {islands.New(4*mib-512, 5000, 4*mib-5000), 4 * mib, 1},
		"every block":           {islands.New(8*mib, 2*mib, 0, 2*mib, 4*mib, 6*mib), 8 * mib, 4},
		"islands":               {islands.New(70*mib, 5000, 0, 3*mib+1000, 40*mib-7, 70*mib-600), 70 * mib, 5},
		"127 GiB and more":      {islands.New(200*gib, 700, 0, 130*gib, 200*gib-512), 200 * gib, 3},
		"as large as it may be": {islands.New(2040*gib, 700, 0, 2040*gib-512), 2040 * gib, 2},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, c.disk, vhd.Options{})
			report, err := inspect.Inspect(t.Context(), bytes.NewReader(file), int64(len(file)), inspect.Options{
				Declared: "VHD", Hypervisor: "XenServer", MaxVirtualSizeBytes: 4096 * gib,
			})
			if err != nil {
				t.Fatal(err)
			}
			if report.Verdict != inspect.Accept || report.VirtualSizeBytes != c.virtual {
				t.Errorf("inspected as %+v", report)
			}
			if want := vhd.VirtualSize(c.disk.Virtual); want != c.virtual {
				t.Errorf("VirtualSize is %d", want)
			}
			got, blocks, err := read(file)
			if err != nil {
				t.Fatal(err)
			}
			if blocks != c.blocks {
				t.Errorf("%d blocks are stored, want %d", blocks, c.blocks)
			}
			if diff := islands.Diff(c.disk.Sectors(), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// read is a reader that knows nothing of the writer: it follows the specification, and blktap for the map of full blocks.
func read(file []byte) (islands.Sectors, int, error) {
	be := binary.BigEndian
	footer := file[len(file)-512:]
	if !bytes.Equal(footer, file[:512]) || string(footer[:8]) != "conectix" || !summed(footer, 64) {
		return nil, 0, errors.New("footer and copy differ, or their checksum is wrong")
	}
	header := file[be.Uint64(footer[16:]):][:1024]
	if string(header[:8]) != "cxsparse" || !summed(header, 36) || be.Uint32(header[32:]) != 2*mib {
		return nil, 0, errors.New("the header is wrong")
	}
	table, entries := file[be.Uint64(header[16:]):], int(be.Uint32(header[28:]))
	full, err := batmap(table, file, entries)
	if err != nil {
		return nil, 0, err
	}
	got, blocks := islands.Sectors{}, 0
	for i := range entries {
		at := be.Uint32(table[i*4:])
		if stored := full[i/8]&(0x80>>(i%8)) != 0; stored != (at != 1<<32-1) {
			return nil, 0, fmt.Errorf("block %d: the map of full blocks disagrees", i)
		}
		if at == 1<<32-1 {
			continue
		}
		blocks++
		block := file[int64(at)*512:]
		if !bytes.Equal(block[:512], bytes.Repeat([]byte{0xff}, 512)) || (at+1)%8 != 0 {
			return nil, 0, fmt.Errorf("block %d: wrong bitmap or alignment", i)
		}
		got.Add(int64(i)*2*mib, block[512:][:2*mib])
	}
	return got, blocks, nil
}

// batmap finds the map behind the table of blocks.
func batmap(table, file []byte, entries int) ([]byte, error) {
	be := binary.BigEndian
	h := table[(entries*4+511)/512*512:][:512]
	if string(h[:8]) != "tdbatmap" || be.Uint32(h[20:]) != 0x10002 {
		return nil, errors.New("there is no map of full blocks")
	}
	full := file[be.Uint64(h[8:]):][:be.Uint32(h[16:])*512]
	if len(full) < (entries+7)/8 {
		return nil, errors.New("the map of full blocks is too short")
	}
	sum := uint32(0)
	for _, b := range full {
		sum += uint32(b)
	}
	if ^sum != be.Uint32(h[24:]) {
		return nil, errors.New("the map of full blocks has a wrong checksum")
	}
	return full, nil
}

func summed(b []byte, at int) bool {
	sum := uint32(0)
	for i, c := range b {
		if i < at || i >= at+4 {
			sum += uint32(c)
		}
	}
	return ^sum == binary.BigEndian.Uint32(b[at:])
}

func TestGeometry(t *testing.T) {
	for name, c := range map[string]struct {
		virtual int64
		chs     [3]int // cylinders, heads, sectors
	}{
		"1 MiB":   {mib, [3]int{30, 4, 17}},
		"10 MiB":  {10 * mib, [3]int{301, 4, 17}},
		"1 GiB":   {gib, [3]int{2080, 16, 63}},
		"20 GiB":  {20 * gib, [3]int{41610, 16, 63}},
		"40 GiB":  {40 * gib, [3]int{20560, 16, 255}},
		"200 GiB": {200 * gib, [3]int{65535, 16, 255}},
	} {
		t.Run(name, func(t *testing.T) {
			footer := write(t, islands.New(c.virtual, 0), vhd.Options{})[:512]
			got := [3]int{int(binary.BigEndian.Uint16(footer[56:])), int(footer[58]), int(footer[59])}
			if got != c.chs {
				t.Errorf("geometry %v, want %v", got, c.chs)
			}
		})
	}
}

func TestReproducible(t *testing.T) {
	d := islands.New(70*mib, 5000, 0, 3*mib, 40*mib)
	first := write(t, d, vhd.Options{})
	if !bytes.Equal(first, write(t, d, vhd.Options{})) {
		t.Error("the same disk gives two files")
	}
	other := islands.New(70*mib, 5001, 0, 3*mib, 40*mib)
	if bytes.Equal(first[68:84], write(t, other, vhd.Options{})[68:84]) {
		t.Error("another disk has the same id")
	}
	set := write(t, d, vhd.Options{ID: [16]byte{1, 2, 3}, Created: time.Unix(946684800+5, 0)})
	if !bytes.Equal(set[68:71], []byte{1, 2, 3}) || binary.BigEndian.Uint32(set[24:]) != 5 {
		t.Error("id or date were not taken")
	}
}

func TestRefused(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := vhd.Write(cancelled, io.Discard, islands.New(70*mib, 10, 0), vhd.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := vhd.Write(t.Context(), io.Discard, islands.New(2040*gib+512, 0), vhd.Options{}); err == nil {
		t.Error("a disk above 2040 GiB was written")
	}
}

// moving is a disk that somebody writes to.
type moving struct {
	islands.Disk
	reads int
}

func (m *moving) Next(offset int64) (begin, end int64, err error) {
	if m.reads++; m.reads > 3 {
		return m.Disk.Virtual, m.Disk.Virtual, nil
	}
	return m.Disk.Next(offset)
}

func TestChangingDisk(t *testing.T) {
	d := &moving{Disk: islands.New(70*mib, 10, 0, 10*mib)}
	if err := vhd.Write(t.Context(), io.Discard, d, vhd.Options{}); err == nil {
		t.Error("a disk that changed meanwhile was written")
	}
}
