package convert

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/capcat/capcat/imagecatalog/artifact/disk"
)

// partial is a file under a hidden name beside its place.
type partial struct {
	*os.File
	kept bool
}

func newPartial(target string) (*partial, error) {
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".partial-*")
	if err != nil {
		return nil, err
	}
	return &partial{File: f}, nil
}

// keep gives the file its name once all of it is on the disk.
func (p *partial) keep(target string) error {
	if err := errors.Join(p.Chmod(0o644), p.Sync()); err != nil {
		return err
	}
	if err := os.Rename(p.Name(), target); err != nil {
		return err
	}
	p.kept = true
	dir, err := os.Open(filepath.Dir(target))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// discard closes the file, and removes it unless it was kept.
func (p *partial) discard() error {
	err := p.Close()
	if !p.kept {
		err = errors.Join(err, os.Remove(p.Name()))
	}
	return err
}

// watched tells how far the disk was read.
type watched struct {
	disk.Image
	progress Progress
}

// ReadAt reads the disk.
func (w watched) ReadAt(p []byte, offset int64) (int, error) {
	n, err := w.Image.ReadAt(p, offset)
	w.progress(Writing, offset+int64(n), w.Size())
	return n, err
}

// Next passes on what the disk knows about itself; one that knows nothing may be anything everywhere.
func (w watched) Next(offset int64) (begin, end int64, err error) {
	if m, mapped := w.Image.(disk.Mapped); mapped {
		return m.Next(offset)
	}
	return offset, w.Size(), nil
}

// meter tells how far a file was read.
type meter struct {
	r           io.Reader
	phase       Phase
	done, total int64
	progress    Progress
}

// Read reads on.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.done += int64(n)
	m.progress(m.phase, m.done, m.total)
	return n, err
}

// stoppable ends with the context.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

// Read reads on, unless the context has ended.
func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}
