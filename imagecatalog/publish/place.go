package publish

import (
	"context"
	"errors"
	"io"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// Place is where files are published: a Folder or a Bucket. Names are those of single files, without folders.
type Place interface {
	// Create writes a file under a name that does not exist, whole or not at all. ErrExists when it does.
	Create(ctx context.Context, name string, o Object) error
	// Replace writes a small file, also over one of that name. Tag is what Read gave, "" when there was none: ErrChanged when
	// the place can tell that the file is another one by now.
	Replace(ctx context.Context, name string, data []byte, tag string) error
	// Read gives a small file with its tag. ErrMissing when there is none.
	Read(ctx context.Context, name string, limit int64) (data []byte, tag string, err error)
	// Size is the length of a file. ErrMissing when there is none.
	Size(ctx context.Context, name string) (int64, error)
	// Digest reads the whole file. ErrMissing when there is none.
	Digest(ctx context.Context, name string) (artifact.Digest, error)
	// String names the place for people, without credentials.
	String() string
}

// Object is the content of a file.
type Object struct {
	// Open reads it from the begin; it may be called again.
	Open func() (io.ReadCloser, error)
	// Size and SHA256 are known before.
	Size   int64
	SHA256 artifact.Digest
}

var (
	// ErrExists says that a file of that name is there.
	ErrExists = errors.New("the file exists")
	// ErrMissing says that there is no file of that name.
	ErrMissing = errors.New("there is no such file")
	// ErrChanged says that somebody else wrote the file meanwhile.
	ErrChanged = errors.New("somebody else wrote the file meanwhile")
)
