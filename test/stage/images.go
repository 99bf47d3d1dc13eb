package stage

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/capcat/capcat/imagecatalog/artifact/bzip2"
	"github.com/capcat/capcat/test/images"
)

const virtualSize = 2 << 30 // what a guest would see

// File is one file of a mirror.
type File struct {
	// Path below the mirror's root.
	Path string
	// Write writes a disk with the given content.
	Write func(w io.Writer, c images.Content) error
}

// Files are one image in the versions, for each hypervisor in the format that it takes: <dir>/<name>-<version>.<suffix>, as the
// pattern of a catalog names it by HypervisorDir, Version and Suffix.
func Files(name string, versions ...string) []File {
	return files(name, versions, func(hypervisor string) string { return hypervisor })
}

// FilesIn are like Files, with the files for all hypervisors in one folder.
func FilesIn(dir, name string, versions ...string) []File {
	return files(name, versions, func(string) string { return dir })
}

func files(name string, versions []string, dir func(hypervisor string) string) []File {
	var all []File
	for _, v := range versions {
		base := name + "-" + v
		all = append(all,
			File{path.Join(dir("kvm"), base+".qcow2.bz2"), bzipped(func(w io.Writer, c images.Content) error { return images.QCOW2(w, virtualSize, c) })},
			File{path.Join(dir("vmware"), base+".ova"), func(w io.Writer, c images.Content) error { return images.OVA(w, base, virtualSize, c) }},
			File{path.Join(dir("xen"), base+".vhd.bz2"), bzipped(func(w io.Writer, c images.Content) error { return images.DynamicVHD(w, virtualSize, c) })},
		)
	}
	return all
}

// Hostile is a qcow2 that asks the host for a file of its own.
func Hostile(path string) File {
	return File{path, func(w io.Writer, c images.Content) error {
		return images.QCOW2WithBacking(w, virtualSize, c, "/etc/passwd")
	}}
}

func bzipped(write func(io.Writer, images.Content) error) func(io.Writer, images.Content) error {
	return func(w io.Writer, c images.Content) error {
		zw, err := bzip2.NewWriter(w, 0)
		if err != nil {
			return err
		}
		if err := write(zw, c); err != nil {
			return err
		}
		return zw.Close()
	}
}

// MakeImages writes the files below the folder, each with size bytes of content, a checksum file beside each, and SHA256SUMS over
// all. It returns how many bytes the images have.
func MakeImages(dir string, size int, all []File) (int64, error) {
	var g errgroup.Group
	g.SetLimit(2)
	sums := make([]string, len(all))
	sizes := make([]int64, len(all))
	for i, f := range all {
		g.Go(func() (err error) {
			sums[i], sizes[i], err = makeImage(dir, size, f)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	var list bytes.Buffer
	var total int64
	for i, f := range all {
		fmt.Fprintf(&list, "%s  %s\n", sums[i], f.Path)
		total += sizes[i]
	}
	return total, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), list.Bytes(), 0o644)
}

func makeImage(dir string, contentSize int, f File) (sum string, size int64, err error) {
	path := filepath.Join(dir, f.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", 0, err
	}
	out, err := os.Create(path)
	if err != nil {
		return "", 0, err
	}
	defer out.Close()
	hash := sha256.New()
	if err := f.Write(io.MultiWriter(out, hash), content(f.Path, contentSize)); err != nil {
		return "", 0, fmt.Errorf("making %s: %w", f.Path, err)
	}
	st, err := out.Stat()
	if err != nil {
		return "", 0, err
	}
	sum = fmt.Sprintf("%x", hash.Sum(nil))
	side := fmt.Sprintf("%s  %s\n", sum, filepath.Base(path))
	return sum, st.Size(), os.WriteFile(path+".sha256", []byte(side), 0o644)
}

// content makes the bytes of a disk from its name: a boot sector's signature, then half noise and half text, so that they
// compress about as well as a real image does.
func content(name string, size int) images.Content {
	const half = 4096
	noise := rand.NewChaCha8(sha256.Sum256([]byte(name)))
	b := make([]byte, max(size, 2*half)/(2*half)*2*half)
	line := fmt.Appendf(nil, "%s was made for a demonstration.\n", name)
	for at := 0; at < len(b); at += 2 * half {
		_, _ = noise.Read(b[at : at+half])
		for i := at + half; i < at+2*half; i += len(line) {
			copy(b[i:at+2*half], line)
		}
	}
	binary.LittleEndian.PutUint16(b[510:], 0xaa55)
	return bytes.NewReader(b)
}
