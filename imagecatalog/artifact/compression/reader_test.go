package compression

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/bzip2"
)

// payload is a disk-like mix: text, noise and holes.
func payload(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, n)
	copy(out, "payload of a test image ")
	for i := 64; i < n/2; i++ {
		out[i] = byte(rng.Uint32())
	}
	return out
}

type writerFunc func(io.Writer) (io.WriteCloser, error)

func packers() map[artifact.Compression]writerFunc {
	return map[artifact.Compression]writerFunc{
		artifact.Bzip2: func(w io.Writer) (io.WriteCloser, error) { return bzip2.NewWriter(w, 1) },
		artifact.Gzip:  func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		artifact.XZ:    func(w io.Writer) (io.WriteCloser, error) { return xz.WriterConfig{DictCap: 1 << 16}.NewWriter(w) },
		artifact.Zstd:  func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	}
}

func pack(t testing.TB, c artifact.Compression, data []byte) []byte {
	t.Helper()
	if c == artifact.Zip {
		return zipOf(t, zip.Deflate, member{"disk.raw", data})
	}
	var out bytes.Buffer
	w, err := packers()[c](&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type member struct {
	name string
	data []byte
}

func zipOf(t testing.TB, method uint16, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, m := range members {
		f, err := w.CreateHeader(&zip.FileHeader{Name: m.name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// storedZip writes an archive of one stored member with the size in front.
func storedZip(t testing.TB, name string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	f, err := w.CreateRaw(&zip.FileHeader{
		Name: name, CRC32: crc32.ChecksumIEEE(data),
		CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// zipWithDirs writes an archive of one file between two directories, which have data as some writers give them.
func zipWithDirs(t testing.TB, file []byte, method uint16, body string, flags uint16) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, h := range []*zip.FileHeader{{Name: "before directory?"}, {Name: "disk.raw"}, {Name: "behind directory?"}} {
		data := []byte(body)
		h.Method, h.Flags = method, flags
		if h.Name == "disk.raw" {
			h.Method, h.Flags, data = zip.Store, 0, file
			h.CRC32, h.UncompressedSize64 = crc32.ChecksumIEEE(file), uint64(len(file))
		}
		h.CompressedSize64 = uint64(len(data))
		f, err := w.CreateRaw(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// The writer of the standard library keeps directories without data.
	return bytes.ReplaceAll(out.Bytes(), []byte("directory?"), []byte("directory/"))
}

func expand(t testing.TB, in io.Reader, limit int64) ([]byte, artifact.Compression, error) {
	t.Helper()
	r, c, err := NewReader(t.Context(), in, artifact.Limits{MaxOutputBytes: limit})
	if err != nil {
		return nil, c, err
	}
	defer r.Close()
	out, err := io.ReadAll(r)
	return out, c, err
}

func all() []artifact.Compression {
	return []artifact.Compression{artifact.Bzip2, artifact.Gzip, artifact.XZ, artifact.Zstd, artifact.Zip}
}

func TestRoundTrip(t *testing.T) {
	for _, size := range []int{0, 1, 5, 6, 7, 1000, 300_000} {
		data := payload(size)
		for _, c := range all() {
			packed := pack(t, c, data)
			for name, in := range map[string]io.Reader{
				"whole":         bytes.NewReader(packed),
				"byte by byte":  iotest.OneByteReader(bytes.NewReader(packed)),
				"data with EOF": iotest.DataErrReader(bytes.NewReader(packed)),
			} {
				got, found, err := expand(t, in, 1<<20)
				if err != nil || found != c || !bytes.Equal(got, data) {
					t.Errorf("%s of %d bytes, %s: %d bytes as %s, %v", c, size, name, len(got), found, err)
				}
			}
		}
	}
}

func TestManyStreams(t *testing.T) {
	data := payload(5000)
	want := append(append(append([]byte{}, data...), data...), data[:10]...)
	for c := range packers() {
		file := append(append(append(append([]byte{}, pack(t, c, data)...), pack(t, c, data)...), pack(t, c, nil)...), pack(t, c, data[:10])...)
		got, _, err := expand(t, bytes.NewReader(file), 1<<20)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", c, len(got), err)
		}
	}
}

func TestPlainPasses(t *testing.T) {
	for _, data := range [][]byte{nil, {1}, payload(3000)} {
		got, c, err := expand(t, bytes.NewReader(data), 1)
		if err != nil || c != artifact.None || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: got %d as %s, %v", len(data), len(got), c, err)
		}
	}
}

func TestEveryTruncationFails(t *testing.T) {
	for _, c := range all() {
		packed := pack(t, c, payload(400))
		two := packed
		if c != artifact.Zip {
			two = append(append([]byte{}, packed...), packed...)
		}
		for cut := shortestMagic(c); cut < len(two); cut++ {
			if c != artifact.Zip && cut == len(packed) {
				continue
			}
			_, found, err := expand(t, bytes.NewReader(two[:cut]), 1<<20)
			code := artifact.CodeOf(err)
			if c == artifact.Bzip2 && cut > len(packed) && cut < len(packed)+SniffLen && code == artifact.TrailingGarbage {
				continue // too few bytes to tell a cut stream from junk
			}
			if found != c || code != artifact.TruncatedStream {
				t.Errorf("%s cut at %d of %d: %v", c, cut, len(two), err)
			}
		}
	}
}

// shortestMagic is how many bytes of a file name its compression.
func shortestMagic(c artifact.Compression) int {
	switch c {
	case artifact.Gzip:
		return 2
	case artifact.XZ:
		return len(xzMagic)
	default:
		return 4
	}
}

func TestTrailingBytes(t *testing.T) {
	tails := map[string]string{
		"one byte": "x", "two": "\x00\x00", "three": "abc", "text": "trailing text that goes on", "zeros": string(make([]byte, 513)),
		"bzip2 start": "BZ", "odd magic": "\x1f\x00\x00\x00\x00",
	}
	for _, c := range all() {
		for name, tail := range tails {
			_, _, err := expand(t, bytes.NewReader(append(append([]byte{}, pack(t, c, payload(2000))...), tail...)), 1<<20)
			code := artifact.CodeOf(err)
			cut := c == artifact.Bzip2 && name == "bzip2 start" && code == artifact.TruncatedStream
			if code != artifact.TrailingGarbage && !cut {
				t.Errorf("%s and %s: %v", c, name, err)
			}
		}
	}
	padded := append(pack(t, artifact.XZ, payload(100)), make([]byte, 512)...)
	if _, _, err := expand(t, bytes.NewReader(padded), 1<<20); err != nil {
		t.Errorf("xz with stream padding, which the format allows: %v", err)
	}
}

// TestDamageIsSeen flips bits: either the payload is still right (unused bits of a header) or there is an error.
func TestDamageIsSeen(t *testing.T) {
	data := payload(700)
	for _, c := range all() {
		packed := pack(t, c, data)
		for i := SniffLen; i < len(packed); i++ {
			bad := bytes.Clone(packed)
			bad[i] ^= 1 << (i % 8)
			got, _, err := expand(t, bytes.NewReader(bad), 1<<20)
			if err == nil && !bytes.Equal(got, data) {
				t.Fatalf("%s: flipped byte %d went unseen", c, i)
			}
			if err != nil && artifact.CodeOf(err) == "" {
				t.Fatalf("%s: flipped byte %d: error without code: %v", c, i, err)
			}
			if err != nil && artifact.RetryOf(err) != artifact.RetryNever {
				t.Fatalf("%s: flipped byte %d: %v may be retried", c, i, err)
			}
		}
	}
}

func TestDoubleCompression(t *testing.T) {
	for _, outer := range all() {
		for _, inner := range all() {
			_, _, err := expand(t, bytes.NewReader(pack(t, outer, pack(t, inner, payload(500)))), 1<<20)
			if artifact.CodeOf(err) != artifact.DoubleCompressed {
				t.Errorf("%s in %s: %v", inner, outer, err)
			}
		}
	}
}

func TestOutputCap(t *testing.T) {
	for _, c := range all() {
		packed := pack(t, c, make([]byte, 100_000))
		if got, _, err := expand(t, bytes.NewReader(packed), 100_000); err != nil || len(got) != 100_000 {
			t.Errorf("%s at the cap: %d bytes, %v", c, len(got), err)
		}
		got, _, err := expand(t, bytes.NewReader(packed), 99_999)
		if artifact.CodeOf(err) != artifact.DecompressionBomb || len(got) > 99_999 {
			t.Errorf("%s above the cap: %d bytes, %v", c, len(got), err)
		}
	}
}

func TestWindowCap(t *testing.T) {
	xzFile := pack(t, artifact.XZ, payload(100))
	header := xzFile[12:]
	bad := bytes.Clone(xzFile)
	size := (int(header[0]) + 1) * 4
	block := bad[12 : 12+size]
	at := bytes.IndexByte(block, xzLZMA2) + 2
	block[at] = 33 // 384 MiB
	binary.LittleEndian.PutUint32(block[size-4:], crc32.ChecksumIEEE(block[:size-4]))
	for name, file := range map[string][]byte{
		"xz":                   bad,
		"zstd window":          []byte(zstdMagic + "\x00\x91\x01\x00\x00"),
		"zstd single segment":  []byte(zstdMagic + "\xa0\x01\x00\x00\x80\x01\x00\x00"),
		"zstd single, 8 bytes": []byte(zstdMagic + "\xe0\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00"),
	} {
		if _, _, err := expand(t, bytes.NewReader(file), 1<<20); artifact.CodeOf(err) != artifact.DecompressionBomb {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestZip(t *testing.T) {
	data := payload(1000)
	good := zipOf(t, zip.Deflate, member{"disk.raw", data})
	patched := func(from []byte, change func(file, central []byte)) []byte {
		file := bytes.Clone(from)
		change(file, file[bytes.Index(file, []byte(zipCentral)):])
		return file
	}
	mode := func(mode uint32) []byte {
		return patched(good, func(_, central []byte) {
			central[5] = zipUnixHost
			binary.LittleEndian.PutUint32(central[38:], mode<<16)
		})
	}
	for name, c := range map[string]struct {
		file []byte
		code artifact.Code
	}{
		"with a directory":      {zipOf(t, zip.Store, member{"dir/", nil}), artifact.EmptyFile},
		"nothing":               {zipOf(t, zip.Store), artifact.EmptyFile},
		"stored":                {storedZip(t, "disk.raw", data), ""},
		"two files":             {zipOf(t, zip.Deflate, member{"a", data}, member{"b", nil}), artifact.MultipleFiles},
		"leaves the directory":  {zipOf(t, zip.Deflate, member{"../a", data}), artifact.PathTraversal},
		"absolute":              {zipOf(t, zip.Deflate, member{"/a", data}), artifact.PathTraversal},
		"backslashes":           {zipOf(t, zip.Deflate, member{`..\a`, data}), artifact.PathTraversal},
		"drive":                 {zipOf(t, zip.Deflate, member{`c:a`, data}), artifact.PathTraversal},
		"link":                  {mode(0o120777), artifact.LinkEntry},
		"device":                {mode(0o020644), artifact.SpecialEntry},
		"from a pipe":           {mode(0o010600), ""},
		"deflated directories":  {zipWithDirs(t, data, zip.Deflate, "\x03\x00", 0), ""},
		"streamed directories":  {zipWithDirs(t, data, zip.Deflate, "\x03\x00", zipFlagDescriptor), ""},
		"stored, streamed":      {zipWithDirs(t, data, zip.Store, "", zipFlagDescriptor), ""},
		"deflated, no bytes":    {zipWithDirs(t, data, zip.Deflate, "", 0), ""},
		"directory with bytes":  {zipWithDirs(t, data, zip.Deflate, "\x01\x01\x00\xfe\xffx", 0), artifact.CorruptStream},
		"directory with junk":   {zipWithDirs(t, data, zip.Store, "x", 0), artifact.CorruptStream},
		"encrypted":             {patched(good, func(f, c []byte) { f[6] |= 1; c[8] |= 1 }), artifact.Encrypted},
		"encrypted in the list": {patched(good, func(_, c []byte) { c[8] |= 1 }), artifact.Encrypted},
		"unknown method":        {patched(good, func(f, c []byte) { f[8], c[10] = 12, 12 }), artifact.CorruptStream},
		"CRC in the list":       {patched(good, func(_, c []byte) { c[16]++ }), artifact.CorruptStream},
		"size in the list":      {patched(good, func(_, c []byte) { c[24]++ }), artifact.CorruptStream},
		"name in the list":      {patched(good, func(_, c []byte) { c[46]++ }), artifact.CorruptStream},
		"offset in the list":    {patched(good, func(_, c []byte) { c[42]++ }), artifact.CorruptStream},
		"count in the end":      {patched(good, func(_, c []byte) { c[bytes.Index(c, []byte(zipEnd))+10]++ }), artifact.CorruptStream},
		"list names one more":   {patched(good, func(_, c []byte) { copy(c[bytes.Index(c, []byte(zipEnd)):], zipCentral) }), artifact.CorruptStream},
	} {
		got, _, err := expand(t, bytes.NewReader(c.file), 1<<20)
		if artifact.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
		if c.code == "" && !bytes.Equal(got, data) {
			t.Errorf("%s: payload differs", name)
		}
	}
	got, _, err := expand(t, bytes.NewReader(zipOf(t, zip.Deflate, member{"d/", nil}, member{"d/disk.raw", data}, member{"e/", nil})), 1<<20)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("file between directories: %v", err)
	}
}

func TestFaultOfTheSourceIsKept(t *testing.T) {
	fault := artifact.NewError(artifact.SourceInterrupted, "gone")
	for _, c := range all() {
		packed := pack(t, c, payload(200_000))
		in := io.MultiReader(bytes.NewReader(packed[:len(packed)/2]), iotest.ErrReader(fault))
		if _, _, err := expand(t, in, 1<<20); !errors.Is(err, fault) {
			t.Errorf("%s: %v", c, err)
		}
	}
	if _, _, err := NewReader(t.Context(), iotest.ErrReader(fault), artifact.Limits{}); !errors.Is(err, fault) {
		t.Errorf("at once: %v", err)
	}
}

func TestCancel(t *testing.T) {
	for _, c := range all() {
		ctx, cancel := context.WithCancel(t.Context())
		r, _, err := NewReader(ctx, bytes.NewReader(pack(t, c, payload(100_000))), artifact.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) || artifact.CodeOf(err) != artifact.Canceled {
			t.Errorf("%s: %v", c, err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("%s: closing: %v", c, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, c := range all() {
		f.Add(pack(f, c, payload(300)))
	}
	seeds, err := filepath.Glob("../../../test/corpus/bomb*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range seeds {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, _, err := NewReader(t.Context(), bytes.NewReader(data), artifact.Limits{MaxOutputBytes: 1 << 20})
		if err != nil {
			return
		}
		defer r.Close()
		n, err := io.Copy(io.Discard, struct{ io.Reader }{r})
		if n > 1<<20 && n > int64(len(data)) {
			t.Fatalf("%d bytes came out", n)
		}
		if err != nil && artifact.CodeOf(err) == "" {
			t.Fatalf("error without code: %v", err)
		}
	})
}
