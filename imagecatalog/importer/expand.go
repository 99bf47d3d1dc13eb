package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/compression"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
)

// expansion decompresses, hashes and writes the content while the download is still arriving. It is the fetcher's sink.
type expansion struct {
	ctx    context.Context
	store  *store.Store
	path   string
	limits artifact.Limits
	// strict ends the download at the first fault of the content. Otherwise the download goes on to its digest, since a
	// mirror that sends wrong bytes is another fault than a source whose bytes are wrong.
	strict bool

	head   []byte
	plain  bool
	worker *worker
}

// expanded is content on disk, not renamed yet.
type expanded struct {
	compression artifact.Compression
	digest      artifact.Digest
	size        int64
}

// worker is the goroutine of one expansion, from the first byte to the last or to the next Reset.
type worker struct {
	in     *ring
	cancel context.CancelFunc
	out    expanded
	err    error
}

// Write takes the next bytes of the download.
func (x *expansion) Write(p []byte) (int, error) {
	if x.plain {
		return len(p), nil
	}
	rest := p
	if x.worker == nil {
		x.head = append(x.head, p...)
		if len(x.head) < compression.SniffLen {
			return len(p), nil
		}
		x.begin()
		rest, x.head = x.head, nil
		if x.plain {
			return len(p), nil
		}
	}
	if x.worker.in.put(rest) {
		return len(p), nil
	}
	err := x.worker.err
	if x.strict || local(err) {
		return 0, err
	}
	return len(p), nil
}

// begin looks at the first bytes.
func (x *expansion) begin() {
	if compression.Sniff(x.head) == artifact.None {
		x.plain = true
		return
	}
	ctx, cancel := context.WithCancel(x.ctx)
	w := &worker{in: newRing(), cancel: cancel}
	x.worker = w
	go func() {
		defer close(w.in.gone)
		w.out, w.err = x.expand(ctx, w.in)
	}()
}

// Reset forgets everything: the download begins again.
func (x *expansion) Reset() error {
	x.stop()
	x.head, x.plain = nil, false
	return x.remove()
}

// finish waits for the content when the download is complete. A download that is not compressed is its own content.
func (x *expansion) finish() (expanded, error) {
	if x.worker == nil {
		return expanded{compression: artifact.None}, nil
	}
	w := x.worker
	w.in.end()
	<-w.in.gone
	w.cancel()
	x.worker = nil
	return w.out, w.err
}

// stop ends the worker and waits for its end; the content written so far stays.
func (x *expansion) stop() {
	if x.worker == nil {
		return
	}
	x.worker.in.abort()
	x.worker.cancel()
	<-x.worker.in.gone
	x.worker = nil
}

func (x *expansion) remove() error {
	if err := os.Remove(x.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return artifact.WrapError(artifact.StoreFailed, "removing partial content", err)
	}
	return nil
}

// expand runs in the worker.
func (x *expansion) expand(ctx context.Context, in io.Reader) (out expanded, err error) {
	src, c, err := compression.NewReader(ctx, in, x.limits)
	if err != nil {
		return expanded{}, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	room := x.store.Room(ctx)
	defer room.Release()
	w, err := x.store.NewWriter(x.path, room)
	if err != nil {
		return expanded{}, err
	}
	h := artifact.SHA256.New()
	_, err = io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(h, w)}, struct{ io.Reader }{src}, make([]byte, chunkBytes))
	if err = errors.Join(err, w.Close()); err != nil {
		return expanded{}, fmt.Errorf("expanding the download: %w", err)
	}
	return expanded{compression: c, digest: artifact.DigestOf(artifact.SHA256, h), size: w.Size()}, nil
}

// local says whether a failure is of this machine and not of the content.
func local(err error) bool {
	switch artifact.CodeOf(err) {
	case artifact.NoSpace, artifact.StoreFailed, artifact.Canceled, "":
		return true
	default:
		return false
	}
}
