package fetch

import (
	"io"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// Sink sees every byte of the file once and in order, those that an earlier run left on disk included.
type Sink interface {
	// Write takes the next bytes; an error ends the fetch.
	io.Writer
	// Reset forgets everything: the next byte is the first of the file again.
	Reset() error
}

// Space watches the disk that the file is written to.
type Space interface {
	// Expect announces how many more bytes will come; an error ends the fetch.
	Expect(n int64) error
	// Wrote counts n bytes that are about to be written; an error ends the fetch.
	Wrote(n int64) error
}

// Request is one file, wherever it is.
type Request struct {
	// URLs are mirrors of the file, tried in order; 1 to 16. The one that a partial file is from comes first.
	URLs []string
	// Partial is the absolute path that is written to. What an earlier Fetch left there is resumed when its mirror
	// still has the same version. The caller holds the path for itself alone.
	Partial string
	// State is the path of the small file that knows how to resume.
	State string
	// Expect are digests of the file; all must match. None means that the bytes are taken unproven.
	Expect []artifact.Digest
	// MaxBytes caps the file; 0 means the default of artifact.Limits.
	MaxBytes int64
	// Sink may be nil.
	Sink Sink
	// Space may be nil.
	Space Space
	// Progress is told the bytes on disk and the size of the file, 0 when unknown; it may be nil and must be quick.
	Progress func(done, total int64)
}

// Result is a file that lies complete and verified in Request.Partial; nothing is promised to be on disk.
type Result struct {
	// Bytes is the size.
	Bytes int64
	// SHA256 is the digest of the file.
	SHA256 artifact.Digest
	// Mirror is the address that delivered, without user info, query and fragment.
	Mirror string
	// Redirected says that the mirror answered with a redirect.
	Redirected bool
	// Resumed are the bytes that were not transferred again.
	Resumed int64
}
