package images

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/qcow2"
)

const testSize = 70 << 20

// islands is a content with noise at the start, in the middle and near the end, and an odd length.
func islands() *bytes.Reader {
	b := make([]byte, 69<<20+1234)
	r := rand.NewChaCha8([32]byte{1})
	for _, at := range []int{0, 3<<20 + 1000, 40 << 20, len(b) - 5000} {
		_, _ = r.Read(b[at : at+5000])
	}
	b[510], b[511] = 0x55, 0xaa
	return bytes.NewReader(b)
}

// TestImagesAreAccepted inspects what is written as the pipeline does.
func TestImagesAreAccepted(t *testing.T) {
	for format, write := range map[artifact.Format]func(io.Writer, int64, Content) error{
		artifact.QCOW2: QCOW2, artifact.VHD: DynamicVHD,
		artifact.OVA: func(w io.Writer, size int64, c Content) error { return OVA(w, "node", size, c) },
	} {
		t.Run(string(format), func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b, testSize, islands()); err != nil {
				t.Fatal(err)
			}
			if b.Len() > 10<<20 {
				t.Errorf("the image has %d bytes: zeros are stored", b.Len())
			}
			r, err := inspect.Inspect(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), inspect.Options{Declared: format})
			if err != nil || r.Verdict != inspect.Accept || r.VirtualSizeBytes != testSize {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

func TestDiskReadsBack(t *testing.T) {
	content := islands()
	want := make([]byte, testSize)
	if _, err := content.ReadAt(want[:content.Size()], 0); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := QCOW2(&b, testSize, content); err != nil {
		t.Fatal(err)
	}
	img, err := qcow2.Open(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, testSize)
	if _, err := img.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the disk reads back differently (%v)", err)
	}
}

func TestRefused(t *testing.T) {
	cases := map[string]struct {
		virtualSize int64
		write       func(io.Writer, int64, Content) error
	}{
		"content larger than the disk": {512, QCOW2},
		"odd virtual size":             {testSize + 1, DynamicVHD},
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
	if err := QCOW2WithBacking(&b, testSize, islands(), "/etc/passwd"); err != nil {
		t.Fatal(err)
	}
	r, err := inspect.Inspect(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), inspect.Options{Declared: artifact.QCOW2})
	if err != nil || r.Reason != artifact.BackingFile || !bytes.Contains(b.Bytes()[:1024], []byte("/etc/passwd")) {
		t.Errorf("%+v, %v", r, err)
	}
}
