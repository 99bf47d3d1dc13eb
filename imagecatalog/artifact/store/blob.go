package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// Blob is an open blob. As long as it is open, no Collect of any process removes it.
type Blob struct {
	*os.File
	size int64
}

// Size is the number of bytes.
func (b *Blob) Size() int64 { return b.size }

// Open opens a blob for reading and counts as a use of it; ErrNotFound when it is not there.
func (s *Store) Open(d artifact.Digest) (*Blob, error) {
	path, err := s.blobPath(d)
	if err != nil {
		return nil, err
	}
	for {
		b, again, err := openShared(path)
		if again {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("blob %s: %w", d, ErrNotFound)
		}
		if err != nil {
			return nil, artifact.WrapError(artifact.StoreFailed, "opening a blob", err)
		}
		now := s.opts.Clock.Now()
		if err := os.Chtimes(path, now, now); err != nil {
			return nil, artifact.WrapError(artifact.StoreFailed, "dating a blob", errors.Join(err, b.Close()))
		}
		return b, nil
	}
}

// openShared opens and locks a file; again means that it was removed in between.
func openShared(path string) (b *Blob, again bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	info, err := f.Stat()
	if err == nil {
		err = lockShared(f)
	}
	if err != nil {
		return nil, false, errors.Join(err, f.Close())
	}
	if !isAt(f, path) {
		return nil, true, f.Close()
	}
	return &Blob{File: f, size: info.Size()}, false, nil
}

// isAt says whether the open file is still the one under that name.
func isAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}

// Lease keeps blobs from being collected until it is released.
type Lease struct{ blobs []*Blob }

// Lease takes blobs into use without reading them; all or none.
func (s *Store) Lease(digests ...artifact.Digest) (*Lease, error) {
	l := &Lease{}
	for _, d := range digests {
		b, err := s.Open(d)
		if err != nil {
			return nil, errors.Join(err, l.Release())
		}
		l.blobs = append(l.blobs, b)
	}
	return l, nil
}

// Release ends the use. It may be called more than once.
func (l *Lease) Release() error {
	var errs []error
	for _, b := range l.blobs {
		errs = append(errs, b.Close())
	}
	l.blobs = nil
	return errors.Join(errs...)
}

// Remove deletes a blob unless somebody uses it; a blob that is not there is no error.
func (s *Store) Remove(ctx context.Context, d artifact.Digest) error {
	path, err := s.blobPath(d)
	if err != nil {
		return err
	}
	if _, err := removeUnlocked(ctx, path); err != nil {
		return artifact.WrapError(artifact.StoreFailed, "removing a blob", err)
	}
	return nil
}

// removeUnlocked removes a file that nobody holds, and says whether it did.
func removeUnlocked(ctx context.Context, path string) (removed bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	free, err := tryLock(f)
	if err != nil || !free || !isAt(f, path) {
		return false, err
	}
	return true, os.Remove(path)
}
