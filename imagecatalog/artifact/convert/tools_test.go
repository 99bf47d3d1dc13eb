//go:build imagetools

package convert_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/convert"
	"github.com/capcat/capcat/imagecatalog/internal/islands"
)

// This tier compares what is written here with the programs of others. It is run by
//
//	go test -tags imagetools ./imagecatalog/artifact/convert
//
// and fails where a program is missing.

func tool(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(args[0]); err != nil {
		t.Fatalf("%v; Debian and Ubuntu have it: apt-get install qemu-utils tar bzip2 file", err)
	}
	var out, said bytes.Buffer
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, &out, &said)
	}
	return out.String()
}

// big is a disk with text, noise and holes; of more than 512 MiB it has them on both sides of the limits of tables.
func big(t *testing.T, dir string, size int64) string {
	t.Helper()
	d := islands.New(size, mib, 0, 30*mib, 63*mib+100, min(511*mib+5, size), size-100_000)
	lines := strings.Repeat("an image is mostly text and programs, which repeat themselves from far away\n", 1)
	var text bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&text, "%d %x %s", i, i*i*7919, lines)
	}
	d.Bytes[40*mib+12345] = text.Bytes()
	path := filepath.Join(dir, "big.raw")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(d.Virtual); err != nil {
		t.Fatal(err)
	}
	for at, p := range d.Bytes {
		if _, err := f.WriteAt(p, at); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestOtherReaders(t *testing.T) {
	dir := t.TempDir()
	raw := big(t, dir, 540*mib+512)
	for name, qemuName := range map[string]string{"n.qcow2": "qcow2", "n.qcow2.bz2": "qcow2", "n.vhd": "vpc", "n.vhd.bz2": "vpc", "n.vmdk": "vmdk", "n.ova": "vmdk", "n.raw": "raw"} {
		t.Run(name, func(t *testing.T) {
			got, err := convert.File(t.Context(), convert.Request{Source: raw, SourceFormat: artifact.RAW, Target: filepath.Join(dir, name), SideFiles: true}, nil)
			if err != nil {
				t.Fatal(err)
			}
			tool(t, "sh", "-c", fmt.Sprintf("cd '%s' && sha256sum --quiet -c %s.sha256 && sha512sum --quiet -c %s.sha512", dir, name, name))
			image := unpacked(t, got.Path)
			var info struct {
				Format  string `json:"format"`
				Virtual int64  `json:"virtual-size"`
			}
			if err := json.Unmarshal([]byte(tool(t, "qemu-img", "info", "--output=json", "-f", qemuName, image)), &info); err != nil {
				t.Fatal(err)
			}
			if info.Format != qemuName || info.Virtual != got.VirtualSizeBytes {
				t.Errorf("qemu-img sees %+v, told %+v", info, got)
			}
			tool(t, "qemu-img", "compare", "-f", "raw", "-F", qemuName, raw, image)
			if qemuName == "qcow2" || qemuName == "vmdk" {
				tool(t, "qemu-img", "check", "-f", qemuName, image)
			}
		})
	}
}

// unpacked is the disk in a file: what bzip2 or tar takes out of it.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "disk")
	switch filepath.Ext(path) {
	case ".bz2":
		tool(t, "sh", "-c", fmt.Sprintf("bzip2 -dc '%s' > '%s'", path, out))
		return out
	case ".ova":
		out = filepath.Dir(out)
		tool(t, "tar", "-C", out, "-xf", path)
		tool(t, "sh", "-c", fmt.Sprintf(`cd '%s' && sed -E 's/^SHA256\((.*)\)= (.*)$/\2  \1/' n.mf | sha256sum --quiet -c`, out))
		return filepath.Join(out, "n-disk1.vmdk")
	}
	return path
}

// TestOtherWriters reads every kind of qcow2 that qemu-img writes.
func TestOtherWriters(t *testing.T) {
	dir := t.TempDir()
	raw := big(t, dir, 80*mib+512)
	for name, options := range map[string][]string{
		"version 2":             {"-o", "compat=0.10"},
		"compressed":            {"-c"},
		"zstd":                  {"-c", "-o", "compression_type=zstd"},
		"clusters of 2 MiB":     {"-c", "-o", "cluster_size=2M"},
		"clusters of 512 B":     {"-o", "cluster_size=512"},
		"full preallocation":    {"-o", "preallocation=metadata"},
		"one-bit counts":        {"-o", "refcount_bits=1"},
		"lazy reference counts": {"-o", "lazy_refcounts=on"},
	} {
		t.Run(name, func(t *testing.T) {
			source := filepath.Join(t.TempDir(), "in.qcow2")
			tool(t, append(append([]string{"qemu-img", "convert", "-f", "raw", "-O", "qcow2"}, options...), raw, source)...)
			target := filepath.Join(filepath.Dir(source), "out.raw")
			if _, err := convert.File(t.Context(), convert.Request{Source: source, Target: target}, nil); err != nil {
				t.Fatal(err)
			}
			tool(t, "cmp", raw, target)
		})
	}
}

// TestStorageVMsFile asks the program that CloudStack's storage VM asks.
func TestStorageVMsFile(t *testing.T) {
	dir, _ := disks(t)
	for name, want := range map[string]string{"n.qcow2": "QEMU QCOW", "n.vhd": "Microsoft Disk Image", "n.ova": "POSIX tar", "n.vmdk": "VMware4 disk image", "n.vhd.bz2": "bzip2"} {
		target := filepath.Join(dir, name)
		if _, err := convert.File(t.Context(), convert.Request{Source: filepath.Join(dir, "disk.qcow2"), Target: target}, nil); err != nil {
			t.Fatal(err)
		}
		if got := tool(t, "file", "-b", target); !strings.HasPrefix(got, want) {
			t.Errorf("file calls %s %q", name, got)
		}
	}
}
