package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"k8s.io/utils/clock"
)

const (
	dirMode  fs.FileMode = 0o750
	fileMode fs.FileMode = 0o640
	blobMode fs.FileMode = 0o440

	downloadSuffix = ".download.partial"
	contentSuffix  = ".content.partial"
	stateSuffix    = ".download.partial.json"
	recordSuffix   = ".json"
	lockSuffix     = ".lock"
)

// ErrNotFound means that the store does not have the blob or the record.
var ErrNotFound = errors.New("not in the store")

// Store is a directory of blobs. Several goroutines and several processes may use one directory.
//
//	blobs/sha256/<digest>                 a complete, verified blob, read-only
//	blobs/sha256/<source>.download.partial     what has arrived of a download; .json beside it knows how to go on
//	blobs/sha256/<source>.content.partial      what has been decompressed; never resumed
//	sources/<source>.json                 what an import of the source gave
//	sources/<source>.lock                 held by the one process that imports the source
type Store struct {
	blobs   string
	sources string
	opts    Options

	mu    sync.Mutex
	rooms map[*Room]struct{}
}

// Open makes the directories that are missing.
func Open(dir string, o Options) (*Store, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = DefaultMinFreeBytes
	}
	if o.MinAge == 0 {
		o.MinAge = DefaultMinAge
	}
	if o.PartialAge == 0 {
		o.PartialAge = DefaultPartialAge
	}
	if o.FreeBytes == nil {
		o.FreeBytes = freeBytes
	}
	s := &Store{
		blobs:   filepath.Join(dir, "blobs", "sha256"),
		sources: filepath.Join(dir, "sources"),
		opts:    o,
		rooms:   map[*Room]struct{}{},
	}
	for _, d := range []string{s.blobs, s.sources} {
		if err := os.MkdirAll(d, dirMode); err != nil {
			return nil, artifact.WrapError(artifact.StoreFailed, "making the store", err)
		}
	}
	return s, nil
}

var hexName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// blobPath is where a blob lies; only a SHA-256 of 64 lower-case digits ever becomes a path.
func (s *Store) blobPath(d artifact.Digest) (string, error) {
	if d.Algorithm != artifact.SHA256 || !hexName.MatchString(d.Hex) {
		return "", artifact.NewError(artifact.BadChecksumForm, "blobs are named by SHA-256")
	}
	return filepath.Join(s.blobs, d.Hex), nil
}

// Stat gives the size of a blob in bytes, ErrNotFound when it is not there.
func (s *Store) Stat(d artifact.Digest) (int64, error) {
	path, err := s.blobPath(d)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("blob %s: %w", d, ErrNotFound)
	}
	if err != nil {
		return 0, artifact.WrapError(artifact.StoreFailed, "looking for a blob", err)
	}
	return info.Size(), nil
}

// commit makes the partial file the blob: size checked, data on disk, then renamed, then the name on disk. A blob that is
// there already stays, with the leases on it.
func (s *Store) commit(partial string, d artifact.Digest, size int64) error {
	target, err := s.blobPath(d)
	if err != nil {
		return err
	}
	if b, err := s.Open(d); err == nil {
		same := b.Size() == size
		if err := b.Close(); err != nil {
			return artifact.WrapError(artifact.StoreFailed, "closing a blob", err)
		}
		if same {
			return removeAll(partial)
		}
	}
	if err := settle(partial, size); err != nil {
		return artifact.WrapError(artifact.StoreFailed, "writing a blob to disk", err)
	}
	now := s.opts.Clock.Now()
	if err := os.Chtimes(partial, now, now); err != nil {
		return artifact.WrapError(artifact.StoreFailed, "dating a blob", err)
	}
	if err := os.Rename(partial, target); err != nil {
		return artifact.WrapError(artifact.StoreFailed, "naming a blob", err)
	}
	if err := syncDir(s.blobs); err != nil {
		return artifact.WrapError(artifact.StoreFailed, "writing the name of a blob to disk", err)
	}
	return nil
}

// settle waits until a file of exactly that size is on disk, and makes it read-only.
func settle(path string, size int64) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != size {
		return fmt.Errorf("the partial file has %d bytes, not %d", info.Size(), size)
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Chmod(blobMode)
}

func syncDir(dir string) (err error) {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}

// removeAll removes files that may be there or not.
func removeAll(paths ...string) error {
	var errs []error
	for _, p := range paths {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
