package convert_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/compression"
	"github.com/capcat/capcat/imagecatalog/artifact/convert"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/ova"
	"github.com/capcat/capcat/imagecatalog/artifact/qcow2"
	"github.com/capcat/capcat/imagecatalog/internal/islands"
	"github.com/capcat/capcat/test/cloudsim/secondarystorage"
)

const mib = 1 << 20

// disks writes a small disk as raw.img and the same as disk.qcow2 into a new directory.
func disks(t *testing.T) (dir string, d islands.Disk) {
	t.Helper()
	dir = t.TempDir()
	d = islands.New(5*mib+512, 9000, 0, 3*mib+1000, 5*mib)
	d.Bytes[0][510], d.Bytes[0][511] = 0x55, 0xaa
	raw := make([]byte, d.Virtual)
	if _, err := d.ReadAt(raw, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "raw.img"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "disk.qcow2"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := qcow2.WriteCompressed(t.Context(), f, d); err != nil {
		t.Fatal(err)
	}
	return dir, d
}

// files are the names in a directory.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

var targets = []string{"n.qcow2", "n.qcow2.bz2", "n.vhd", "n.vhd.bz2", "n.vmdk", "n.ova", "n.raw", "n.raw.bz2"}

func TestFile(t *testing.T) {
	dir, d := disks(t)
	before := map[string]artifact.Digest{}
	for _, source := range []string{"disk.qcow2", "raw.img"} {
		for _, target := range targets {
			t.Run(source+"/"+target, func(t *testing.T) {
				out := t.TempDir()
				r := convert.Request{
					Source: filepath.Join(dir, source), SourceFormat: formatOf(source), Target: filepath.Join(out, target), SideFiles: true,
					Machine: ova.Machine{Guest: ova.GuestFor("debian-12")},
				}
				var mu sync.Mutex
				phases := map[convert.Phase]int64{}
				got, err := convert.File(t.Context(), r, func(p convert.Phase, done, _ int64) {
					mu.Lock()
					defer mu.Unlock()
					phases[p] = max(phases[p], done)
				})
				if err != nil {
					t.Fatal(err)
				}
				if phases[convert.Writing] < d.Virtual || phases[convert.Hashing] != got.Bytes {
					t.Errorf("progress: %v", phases)
				}
				if diff := cmp.Diff([]string{target, target + ".sha256", target + ".sha512"}, files(t, out)); diff != "" {
					t.Error(diff)
				}
				checkResult(t, got, d)
				// Where the disk came from makes no difference.
				if first, known := before[target]; known && first != got.SHA256 {
					t.Error("the same disk gives two files")
				}
				before[target] = got.SHA256
				accepted(t, got)
			})
		}
	}
}

func formatOf(source string) artifact.Format {
	if source == "raw.img" {
		return artifact.RAW
	}
	return artifact.QCOW2
}

// checkResult compares what is told about a file with the file.
func checkResult(t *testing.T, got convert.Result, d islands.Disk) {
	t.Helper()
	file, err := os.ReadFile(got.Path)
	if err != nil {
		t.Fatal(err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(file)); got.SHA256.Hex != sum || got.Bytes != int64(len(file)) {
		t.Errorf("%+v, the file has %d bytes and %s", got, len(file), sum)
	}
	side, err := os.ReadFile(got.Path + ".sha512")
	if want := fmt.Sprintf("%s  %s\n", got.SHA512.Hex, filepath.Base(got.Path)); err != nil || string(side) != want {
		t.Errorf("side file %q, want %q (%v)", side, want, err)
	}
	in, c, err := compression.NewReader(t.Context(), bytes.NewReader(file), artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	content, err := io.ReadAll(in)
	if err != nil || c != got.Compression || int64(len(content)) != got.ContentBytes {
		t.Errorf("content of %d bytes in %s (%v), told %+v", len(content), c, err, got)
	}
	report, err := inspect.Inspect(t.Context(), bytes.NewReader(content), int64(len(content)), inspect.Options{Declared: got.Format})
	if err != nil || report.VirtualSizeBytes != got.VirtualSizeBytes || report.Verdict == inspect.Reject {
		t.Errorf("inspected as %+v (%v)", report, err)
	}
	if got.VirtualSizeBytes < d.Virtual || got.VirtualSizeBytes > d.Virtual+mib {
		t.Errorf("the guest sees %d bytes of %d", got.VirtualSizeBytes, d.Virtual)
	}
}

// accepted lets CloudStack's storage VM, as the simulator has it, fetch the file and look at it.
func accepted(t *testing.T, got convert.Result) {
	t.Helper()
	files := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(got.Path))))
	defer files.Close()
	engine, err := secondarystorage.New(secondarystorage.Options{
		Dir: t.TempDir(), Network: secondarystorage.Network{Hosts: map[string]string{"images.example.org": files.Listener.Addr().String()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	d, err := engine.Download(t.Context(), secondarystorage.DownloadRequest{
		URL: "http://images.example.org/" + filepath.Base(got.Path), Format: string(got.Format), Checksum: got.SHA256.Braced(),
		AccountID: 2, TemplateID: 7, MaxBytes: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	<-d.Done()
	if s := d.Answer(); s.State != secondarystorage.Downloaded || s.VirtualSize != got.VirtualSizeBytes {
		t.Errorf("the storage VM says %+v; the guest sees %d bytes", s, got.VirtualSizeBytes)
	}
}

func TestRefused(t *testing.T) {
	dir, _ := disks(t)
	write := func(name string, content []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := filepath.Join(dir, "disk.qcow2")
	for name, c := range map[string]struct {
		source, target string
		format         artifact.Format
		want           string
		code           artifact.Code
	}{
		"no such source":     {source: filepath.Join(dir, "none"), target: "n.vhd", want: "no such file"},
		"directory":          {source: dir, target: "n.vhd", want: "no regular file"},
		"unknown kind":       {source: good, target: "n.iso", want: "says no format"},
		"no kind":            {source: good, target: "node", want: "says no format"},
		"nothing but suffix": {source: good, target: ".vhd", want: "says no format"},
		"packed OVA":         {source: good, target: "n.ova.bz2", want: "says no format"},
		"no such directory":  {source: good, target: "sub/n.vhd", want: "no such file"},
		"html":               {source: write("page", []byte("<html><body>login</body></html>")), target: "n.vhd", code: artifact.NotAnImage},
		"empty":              {source: write("empty", nil), target: "n.vhd", code: artifact.EmptyFile},
		"odd raw disk":       {source: write("odd", bytes.Repeat([]byte{1}, 700)), format: artifact.RAW, target: "n.vhd", code: artifact.UnalignedSize},
		"wrong format":       {source: good, format: artifact.RAW, target: "n.vhd", code: artifact.FormatMismatch},
		"backing file":       {source: "../../../test/corpus/qcow2-backing-v3.qcow2", target: "n.vhd", code: artifact.BackingFile},
		"other kind of disk": {source: "../../../test/corpus/vmdk-stream.vmdk", target: "n.vhd", code: artifact.FormatMismatch},
		"cut":                {source: "../../../test/corpus/qcow2-truncated-data.qcow2", target: "n.vhd", code: artifact.TruncatedImage},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			_, err := convert.File(t.Context(), convert.Request{Source: c.source, SourceFormat: c.format, Target: filepath.Join(out, c.target), SideFiles: true}, nil)
			if err == nil || artifact.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s %q", err, c.code, c.want)
			}
			if left := files(t, out); len(left) > 0 {
				t.Errorf("%v was left", left)
			}
		})
	}
}

func TestExistingTarget(t *testing.T) {
	dir, _ := disks(t)
	target := filepath.Join(dir, "n.vhd")
	if err := os.WriteFile(target, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := convert.Request{Source: filepath.Join(dir, "disk.qcow2"), Target: target}
	if _, err := convert.File(t.Context(), r, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("ended with %v", err)
	}
	if kept, err := os.ReadFile(target); err != nil || string(kept) != "mine" {
		t.Errorf("the file holds %q (%v)", kept, err)
	}
	r.Overwrite = true
	if _, err := convert.File(t.Context(), r, nil); err != nil {
		t.Error(err)
	}
}

// TestStopped stops the work in every phase: nothing may be left.
func TestStopped(t *testing.T) {
	dir, _ := disks(t)
	for _, target := range targets {
		for _, phase := range []convert.Phase{convert.Checking, convert.Writing, convert.Compressing, convert.Hashing} {
			t.Run(fmt.Sprint(target, " ", phase), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				out := t.TempDir()
				_, err := convert.File(ctx, convert.Request{Source: filepath.Join(dir, "disk.qcow2"), Target: filepath.Join(out, target), SideFiles: true}, func(p convert.Phase, _, _ int64) {
					if p == phase {
						cancel()
					}
				})
				reached := ctx.Err() != nil
				if reached && !errors.Is(err, context.Canceled) {
					t.Errorf("ended with %v", err)
				}
				if reached && err != nil {
					if left := files(t, out); len(left) > 0 {
						t.Errorf("%v was left", left)
					}
				}
			})
		}
	}
}
