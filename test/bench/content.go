package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/capcat/capcat/imagecatalog/artifact/bzip2"
	"github.com/capcat/capcat/test/images"
)

// block is the unit in which a file system stores files.
const block = 4 << 10

// makeInput writes an input of a kind, which holds size bytes of content, and notes its sizes.
func makeInput(ctx context.Context, kind string, size int64, path string) (sizes [2]int64, err error) {
	content := io.NewSectionReader(zeros{}, 0, size)
	if kind != "zeros.raw" {
		file, err := os.CreateTemp(filepath.Dir(path), "content-")
		if err != nil {
			return sizes, err
		}
		defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
		if err := fillContent(ctx, file, size); err != nil {
			return sizes, err
		}
		content = io.NewSectionReader(file, 0, size)
	}
	out, err := os.Create(path)
	if err != nil {
		return sizes, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	compressed := &counter{w: out}
	z, err := bzip2.NewWriter(compressed, 9)
	if err != nil {
		return sizes, err
	}
	plain := &counter{w: z}
	if err := writeImage(plain, kind, content); err != nil {
		return sizes, err
	}
	err = z.Close()
	return [2]int64{plain.n, compressed.n}, err
}

func writeImage(w io.Writer, kind string, content *io.SectionReader) error {
	virtual := (content.Size()*4 + 1<<20 - 1) >> 20 << 20
	switch kind {
	case "disk.qcow2":
		return images.QCOW2(w, virtual, content)
	case "machine.ova":
		return images.OVA(w, "machine", virtual, content)
	default:
		_, err := io.Copy(w, content)
		return err
	}
}

// fillContent writes what could be the file system of a machine: the programs, libraries and sources of the Go installation in
// turn, each file from a block's start, with a free block now and then.
func fillContent(ctx context.Context, file io.Writer, size int64) error {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("asking where Go is: %w", err)
	}
	programs, err := list(strings.TrimSpace(string(root)), "bin", "pkg/tool")
	if err != nil {
		return err
	}
	sources, err := list(strings.TrimSpace(string(root)), "src", "lib")
	if err != nil {
		return err
	}
	w := &counter{w: bufio.NewWriterSize(file, 1<<20), limit: size}
	for i := 0; w.n < size; i++ {
		if err := add(w, programs[i%len(programs)]); err != nil {
			return err
		}
		for j := range 200 {
			if err := add(w, sources[(i*200+j)%len(sources)]); err != nil {
				return err
			}
		}
	}
	return w.w.(*bufio.Writer).Flush()
}

// list returns the files below some folders, in the order of their names.
func list(root string, folders ...string) ([]string, error) {
	var files []string
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no files below %s", root)
	}
	return files, nil
}

// add writes a file and fills the last block.
func add(w *counter, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	padding := -len(data) & (block - 1)
	if len(data)%7 == 0 {
		padding += 8 * block
	}
	_, err = w.Write(append(data, make([]byte, padding)...))
	return err
}

// counter counts what is written, and with a limit forgets what is beyond.
type counter struct {
	w     io.Writer
	n     int64
	limit int64
}

func (c *counter) Write(p []byte) (int, error) {
	keep := p
	if c.limit > 0 {
		keep = p[:min(int64(len(p)), c.limit-c.n)]
	}
	n, err := c.w.Write(keep)
	c.n += int64(n)
	if err != nil {
		return n, err
	}
	return len(p), nil
}

type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}
