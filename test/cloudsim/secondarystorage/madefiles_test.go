package secondarystorage

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

const (
	zeroSize  = 60 << 20
	ratioDisk = 40 << 20
	ratioSize = 42270720
)

// made tells whether a file is one that the transcript names and its archive does not hold: its bytes are not those of the record.
func made(name string) bool {
	return strings.HasPrefix(name, "ratio") || strings.HasPrefix(name, "big.qcow2.") || strings.HasPrefix(name, "z60.raw.")
}

// makeFiles makes what the archive does not hold: packings of big.qcow2, 60 MiB of zeros, and images that can be packed to a half
// and to a sixteenth.
func makeFiles(t *testing.T, dir string) {
	t.Helper()
	big, err := os.ReadFile(filepath.Join(dir, "big.qcow2"))
	if err != nil {
		t.Fatal(err)
	}
	for suffix, pack := range packers {
		writeFile(t, dir, "big.qcow2"+suffix, packed(t, pack, big))
	}
	zero, err := os.Create(filepath.Join(dir, "z60.raw"))
	if err != nil {
		t.Fatal(err)
	}
	if err := zero.Truncate(zeroSize); err != nil {
		t.Fatal(err)
	}
	if err := zero.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{".gz", ".bz2", ".xz"} {
		const parts = 15
		part := packed(t, packers[suffix], make([]byte, zeroSize/parts))
		writeFile(t, dir, "z60.raw"+suffix, bytes.Repeat(part, parts))
	}
	writeFile(t, dir, "z60.raw.zip", packed(t, packers[".zip"], make([]byte, zeroSize)))
	makeRatio(t, dir, "ratio2.qcow2", big[:80], 2, ".zip")
	// How well it packs only matters for zip: the noise of the other would take long to unpack.
	makeRatio(t, dir, "ratio16.qcow2", big[:80], 16, ".gz", ".bz2", ".xz")
	if err := os.Link(filepath.Join(dir, "ratio16.qcow2.bz2"), filepath.Join(dir, "ratio2.qcow2.bz2")); err != nil {
		t.Fatal(err)
	}
}

// makeRatio writes an image of which one part in ratio is noise, and its packings. Those of many streams are one packed MiB,
// again and again.
func makeRatio(t *testing.T, dir, name string, header []byte, ratio int, suffixes ...string) {
	t.Helper()
	const unit = 1 << 20
	noise := rand.New(rand.NewPCG(1, uint64(ratio)))
	block := make([]byte, unit)
	for i := 0; i < unit/ratio; i += 8 {
		binary.LittleEndian.PutUint64(block[i:], noise.Uint64())
	}
	first := bytes.Clone(block)
	copy(first, header)
	binary.BigEndian.PutUint64(first[24:], ratioDisk)
	content := first
	for len(content) < ratioSize {
		content = append(content, block[:min(unit, ratioSize-len(content))]...)
	}
	writeFile(t, dir, name, content)
	for _, suffix := range suffixes {
		if suffix == ".zip" {
			writeFile(t, dir, name+suffix, packed(t, packers[suffix], content))
			continue
		}
		stream := packed(t, packers[suffix], first)
		again := packed(t, packers[suffix], block)
		for done := unit; done+unit <= ratioSize; done += unit {
			stream = append(stream, again...)
		}
		stream = append(stream, packed(t, packers[suffix], block[:ratioSize%unit])...)
		writeFile(t, dir, name+suffix, stream)
	}
}

func writeFile(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

var packers = map[string]func(io.Writer) (io.WriteCloser, error){
	".gz":  func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, gzip.BestSpeed) },
	".bz2": func(w io.Writer) (io.WriteCloser, error) { return bzip2.NewWriter(w, &bzip2.WriterConfig{Level: 1}) },
	".xz":  func(w io.Writer) (io.WriteCloser, error) { return xz.WriterConfig{DictCap: 1 << 20}.NewWriter(w) },
	".zst": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	".zip": newZip,
}

type zipFile struct {
	io.Writer
	archive *zip.Writer
}

func (z zipFile) Close() error { return z.archive.Close() }

func newZip(w io.Writer) (io.WriteCloser, error) {
	archive := zip.NewWriter(w)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	entry, err := archive.Create("image")
	return zipFile{entry, archive}, err
}

func packed(t *testing.T, pack func(io.Writer) (io.WriteCloser, error), content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := pack(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
