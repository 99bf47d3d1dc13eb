package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/capcat/capcat/imagecatalog/artifact/bzip2"
	"github.com/capcat/capcat/test/images"
)

const (
	contentBytes = 6 << 20 // what is written to each disk
	virtualSize  = 2 << 30 // what a guest would see
)

// file is one file of the mirror.
type file struct {
	path  string // below the mirror's root
	write func(w io.Writer, c images.Content) error
}

// files are what the mirror offers: each version for each hypervisor in the format that it takes, and one that nobody should.
func files(versions []string) []file {
	all := []file{{"kvm/hostile.qcow2", func(w io.Writer, c images.Content) error {
		return images.QCOW2WithBacking(w, virtualSize, c, "/etc/passwd")
	}}}
	for _, v := range versions {
		name := "ubuntu-2404-kube-" + v
		all = append(all,
			file{"kvm/" + name + ".qcow2.bz2", bzipped(func(w io.Writer, c images.Content) error { return images.QCOW2(w, virtualSize, c) })},
			file{"vmware/" + name + ".ova", func(w io.Writer, c images.Content) error { return images.OVA(w, name, virtualSize, c) }},
			file{"xen/" + name + ".vhd.bz2", bzipped(func(w io.Writer, c images.Content) error { return images.DynamicVHD(w, virtualSize, c) })},
		)
	}
	return all
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

// makeImages writes the files with their checksum files below the folder and returns how many bytes they have.
func makeImages(dir string, all []file) (int64, error) {
	var g errgroup.Group
	g.SetLimit(2)
	sums := make([]string, len(all))
	sizes := make([]int64, len(all))
	for i, f := range all {
		g.Go(func() (err error) {
			sums[i], sizes[i], err = makeImage(dir, f)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	var list bytes.Buffer
	var total int64
	for i, f := range all {
		fmt.Fprintf(&list, "%s  %s\n", sums[i], f.path)
		total += sizes[i]
	}
	return total, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), list.Bytes(), 0o644)
}

func makeImage(dir string, f file) (sum string, size int64, err error) {
	path := filepath.Join(dir, f.path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", 0, err
	}
	out, err := os.Create(path)
	if err != nil {
		return "", 0, err
	}
	defer out.Close()
	hash := sha256.New()
	if err := f.write(io.MultiWriter(out, hash), content(f.path)); err != nil {
		return "", 0, fmt.Errorf("making %s: %w", f.path, err)
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
func content(name string) images.Content {
	seed := sha256.Sum256([]byte(name))
	noise := rand.NewChaCha8(seed)
	b := make([]byte, contentBytes)
	line := fmt.Appendf(nil, "%s was made for a demonstration.\n", name)
	for at := 0; at < len(b); at += 8192 {
		_, _ = noise.Read(b[at : at+4096])
		for i := at + 4096; i < at+8192; i += len(line) {
			copy(b[i:at+8192], line)
		}
	}
	binary.LittleEndian.PutUint16(b[510:], 0xaa55)
	return bytes.NewReader(b)
}
