package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// Folder is a directory of this machine, which a web server may serve.
type Folder struct{ dir string }

// NewFolder makes the directory unless it is there.
func NewFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder: %w", err)
	}
	return &Folder{dir: dir}, nil
}

// OpenFolder takes a directory that is there.
func OpenFolder(dir string) (*Folder, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder", dir)
	}
	return &Folder{dir: dir}, nil
}

// String is the path.
func (f *Folder) String() string { return f.dir }

func (f *Folder) path(name string) string { return filepath.Join(f.dir, filepath.Base(name)) }

// Create writes beside the place under a hidden name, and links it to the name when all of it is on the disk.
func (f *Folder) Create(ctx context.Context, name string, o Object) (err error) {
	in, err := o.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	temp, err := f.write(ctx, name, in)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	defer func() {
		if gone := os.Remove(temp); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	if err := f.name(temp, name); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", name, ErrExists)
	} else if err != nil {
		return fmt.Errorf("naming %s: %w", name, err)
	}
	return f.sync()
}

// name gives a file its name, unless there is one of that name. File systems without links are asked before.
func (f *Folder) name(temp, name string) error {
	err := os.Link(temp, f.path(name))
	if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if _, err := os.Lstat(f.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	return os.Rename(temp, f.path(name))
}

// write gives the path of a synced file beside the place.
func (f *Folder) write(ctx context.Context, name string, in io.Reader) (path string, err error) {
	temp, err := os.CreateTemp(f.dir, "."+filepath.Base(name)+".partial-*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(temp, stoppable{ctx, in})
	err = errors.Join(err, temp.Chmod(0o644), temp.Sync(), temp.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(temp.Name()))
	}
	return temp.Name(), nil
}

func (f *Folder) sync() error {
	dir, err := os.Open(f.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Replace renames a new file over the old one.
func (f *Folder) Replace(ctx context.Context, name string, data []byte, tag string) error {
	if _, have, err := f.Read(ctx, name, int64(len(data))+1<<30); err == nil && tag != "" && have != tag {
		return fmt.Errorf("%s: %w", name, ErrChanged)
	}
	temp, err := f.write(ctx, name, bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := os.Rename(temp, f.path(name)); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return f.sync()
}

// Read reads a file; its tag is its digest.
func (f *Folder) Read(_ context.Context, name string, limit int64) (data []byte, tag string, err error) {
	file, err := f.open(name)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err = readBounded(file, limit)
	return data, fmt.Sprintf("%x", sha256.Sum256(data)), err
}

// readBounded reads all of something small.
func readBounded(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	return data, nil
}

func (f *Folder) open(name string) (*os.File, error) {
	file, err := os.Open(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", name, ErrMissing)
	}
	return file, err
}

// Size is the length of a file.
func (f *Folder) Size(_ context.Context, name string) (int64, error) {
	info, err := os.Stat(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s: %w", name, ErrMissing)
	}
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is no regular file", name)
	}
	return info.Size(), nil
}

// Digest reads the whole file.
func (f *Folder) Digest(ctx context.Context, name string) (d artifact.Digest, err error) {
	file, err := f.open(name)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return digest(ctx, file)
}

// digest hashes all that a reader gives.
func digest(ctx context.Context, r io.Reader) (artifact.Digest, error) {
	h := sha256.New()
	if _, err := io.Copy(h, stoppable{ctx, r}); err != nil {
		return artifact.Digest{}, err
	}
	return artifact.DigestOf(artifact.SHA256, h), nil
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
