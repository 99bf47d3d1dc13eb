package secondarystorage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage/unpack"
)

// tempFile is a file of the store while it is made. Runs of zeros are left out, so that a sparse image stays sparse.
type tempFile struct {
	f *os.File
	// shown is the path as the storage VM sees it.
	shown string
	// limit is the size that must not be exceeded, offset where Write goes on and size the length, in bytes. No limit: below 0.
	limit, offset, size int64
}

// tempFile makes a file in a folder of the store.
func (e *Engine) tempFile(folder string) (*tempFile, error) {
	dir := filepath.Join(e.root, filepath.FromSlash(folder))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making %s in the store: %w", folder, err)
	}
	name := fmt.Sprintf("dnld%dtmp_", e.next())
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making a file in %s of the store: %w", folder, err)
	}
	return &tempFile{f: f, shown: e.mount + "/" + folder + "/" + name, limit: -1}, nil
}

// Write appends at the offset and fails with unpack.ErrTooLarge at the limit.
func (t *tempFile) Write(p []byte) (int, error) {
	over := t.limit >= 0 && t.offset+int64(len(p)) > t.limit
	if over {
		p = p[:max(0, t.limit-t.offset)]
	}
	if err := t.writeSparse(p); err != nil {
		return 0, err
	}
	if over {
		return len(p), unpack.ErrTooLarge
	}
	return len(p), nil
}

var zeros [64 << 10]byte

func (t *tempFile) writeSparse(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), len(zeros))
		if t.offset < t.size || !bytes.Equal(p[:n], zeros[:n]) {
			if _, err := t.f.WriteAt(p[:n], t.offset); err != nil {
				return fmt.Errorf("writing to the store: %w", err)
			}
		}
		t.offset += int64(n)
		t.size = max(t.size, t.offset)
		p = p[n:]
	}
	return nil
}

// finish gives the file its full length and goes to its begin.
func (t *tempFile) finish() error {
	if err := t.settle(); err != nil {
		return err
	}
	if _, err := t.f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading from the store: %w", err)
	}
	return nil
}

// settle gives the file its full length.
func (t *tempFile) settle() error {
	if err := t.f.Truncate(t.size); err != nil {
		return fmt.Errorf("writing to the store: %w", err)
	}
	return nil
}

// Read reads what was settled.
func (t *tempFile) Read(p []byte) (int, error) { return t.f.Read(p) }

// ReadAt is Read from an offset.
func (t *tempFile) ReadAt(p []byte, offset int64) (int, error) { return t.f.ReadAt(p, offset) }

// path is where the file was made.
func (t *tempFile) path() string { return t.f.Name() }

// discard closes and removes the file unless it has been moved.
func (t *tempFile) discard() {
	err := t.f.Close()
	if errors.Is(err, os.ErrClosed) {
		return
	}
	_ = os.Remove(t.path())
}
