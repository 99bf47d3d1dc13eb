package images

import (
	"archive/tar"
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

const testSize = 70 << 20

// islands is a content with stored units at the start, in the middle and near the end, and an odd length.
func islands(t *testing.T) *bytes.Reader {
	t.Helper()
	b := make([]byte, 69<<20+1234)
	r := rand.NewChaCha8([32]byte{1})
	for _, at := range []int{0, 3<<20 + 1000, 40 << 20, len(b) - 5000} {
		_, _ = r.Read(b[at : at+5000])
	}
	return bytes.NewReader(b)
}

// TestReadBack reads every format with a reader that knows nothing of the writer.
func TestReadBack(t *testing.T) {
	formats := map[string]struct {
		write func(io.Writer, int64, Content) error
		read  func([]byte) ([]byte, error)
	}{
		"qcow2": {QCOW2, readQCOW2},
		"vhd":   {DynamicVHD, readVHD},
		"vmdk":  {VMDK, readVMDK},
	}
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			content := islands(t)
			want := make([]byte, testSize)
			if _, err := content.ReadAt(want[:content.Size()], 0); err != nil {
				t.Fatal(err)
			}
			var image bytes.Buffer
			if err := f.write(&image, testSize, content); err != nil {
				t.Fatal(err)
			}
			if image.Len() > 10<<20 {
				t.Errorf("image has %d bytes: zeros are stored", image.Len())
			}
			got, err := f.read(image.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Error("the disk reads back differently")
			}
		})
	}
}

func readQCOW2(b []byte) ([]byte, error) {
	be := binary.BigEndian
	if string(b[:4]) != "QFI\xfb" || be.Uint32(b[4:]) != 3 {
		return nil, fmt.Errorf("bad magic or version")
	}
	out := make([]byte, be.Uint64(b[24:]))
	l1 := b[be.Uint64(b[40:]):]
	for i := range be.Uint32(b[36:]) {
		table := be.Uint64(l1[i*8:]) &^ copiedOnWrite
		if table == 0 {
			continue
		}
		for j := range uint64(l2Entries) {
			if at := be.Uint64(b[table+j*8:]) &^ copiedOnWrite; at != 0 {
				copy(out[(uint64(i)*l2Entries+j)*cluster:], b[at:at+cluster])
			}
		}
	}
	return out, nil
}

func readVHD(b []byte) ([]byte, error) {
	be := binary.BigEndian
	footer := b[len(b)-sector:]
	if !bytes.Equal(footer, b[:sector]) || string(footer[:8]) != "conectix" {
		return nil, fmt.Errorf("footer and its copy differ")
	}
	sum := uint32(0)
	for i, c := range footer {
		if i < 64 || i >= 68 {
			sum += uint32(c)
		}
	}
	if ^sum != be.Uint32(footer[64:]) {
		return nil, fmt.Errorf("bad checksum")
	}
	header := b[be.Uint64(footer[16:]):]
	table := b[be.Uint64(header[16:]):]
	blocks := be.Uint32(header[28:])
	out := make([]byte, blocks*vhdBlock)
	for i := range blocks {
		if at := be.Uint32(table[i*4:]); at != vhdUnused {
			copy(out[i*vhdBlock:], b[(at+1)*sector:][:vhdBlock])
		}
	}
	return out[:be.Uint64(footer[48:])], nil
}

// readVMDK walks the stream from marker to marker as a consumer of a stream does.
func readVMDK(b []byte) ([]byte, error) {
	le := binary.LittleEndian
	if string(b[:4]) != "KDMV" || le.Uint64(b[56:]) != 1<<64-1 {
		return nil, fmt.Errorf("bad magic or directory offset")
	}
	out := make([]byte, le.Uint64(b[12:])*sector)
	b = b[le.Uint64(b[64:])*sector:]
	for {
		value, size, kind := le.Uint64(b), le.Uint32(b[8:]), le.Uint32(b[12:])
		if size == 0 {
			if kind == markEnd {
				return out, nil
			}
			b = b[(1+value)*sector:]
			continue
		}
		z, err := zlib.NewReader(bytes.NewReader(b[12 : 12+size]))
		if err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(z, out[value*sector:][:grain]); err != nil {
			return nil, err
		}
		b = b[ceil(12+int64(size), sector)*sector:]
	}
}

func TestOVA(t *testing.T) {
	var ova bytes.Buffer
	if err := OVA(&ova, "node", testSize, islands(t)); err != nil {
		t.Fatal(err)
	}
	members := map[string][]byte{}
	var names []string
	for r := tar.NewReader(&ova); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names, members[h.Name] = append(names, h.Name), data
	}
	if got, want := strings.Join(names, " "), "node.ovf node.mf node-disk1.vmdk"; got != want {
		t.Fatalf("members %s, want %s", got, want)
	}
	for _, name := range []string{"node.ovf", "node-disk1.vmdk"} {
		line := fmt.Sprintf("SHA256(%s)= %x\n", name, sha256.Sum256(members[name]))
		if !strings.Contains(string(members["node.mf"]), line) {
			t.Errorf("manifest lacks %s", line)
		}
	}
	size := fmt.Sprintf(`ovf:size="%d"`, len(members["node-disk1.vmdk"]))
	if !strings.Contains(string(members["node.ovf"]), size) {
		t.Errorf("description lacks %s", size)
	}
}

func TestRefused(t *testing.T) {
	cases := map[string]struct {
		virtualSize int64
		write       func(io.Writer, int64, Content) error
	}{
		"content larger than the disk": {512, QCOW2},
		"odd virtual size":             {testSize + 1, DynamicVHD},
		"no whole grains":              {testSize + sector, VMDK},
		"no size":                      {0, QCOW2},
		"absurd size":                  {1 << 50, QCOW2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if err := c.write(io.Discard, c.virtualSize, bytes.NewReader(make([]byte, 1000))); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestBackingFile(t *testing.T) {
	var b bytes.Buffer
	if err := QCOW2WithBacking(&b, testSize, islands(t), "/etc/passwd"); err != nil {
		t.Fatal(err)
	}
	at := binary.BigEndian.Uint64(b.Bytes()[8:])
	n := binary.BigEndian.Uint32(b.Bytes()[16:])
	if got := string(b.Bytes()[at : at+uint64(n)]); got != "/etc/passwd" {
		t.Errorf("backing file %q", got)
	}
}
