package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/checksum"
	"github.com/capcat/capcat/imagecatalog/artifact/compression"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
)

const copyBuffer = 256 << 10

// workspace is the temporary directory of one run. It is made when it is needed: an image that is not compressed needs none.
type workspace struct {
	dir   string
	store *store.Store
}

func (w *workspace) open() error {
	if w.store != nil {
		return nil
	}
	dir, err := os.MkdirTemp("", "capcat-inspect-")
	if err != nil {
		return err
	}
	w.dir = dir
	w.store, err = store.Open(dir, store.Options{})
	return err
}

func (w *workspace) remove() error {
	if w.dir == "" {
		return nil
	}
	return os.RemoveAll(w.dir)
}

func newFetcher() *fetch.Fetcher {
	return fetch.New(fetch.Options{AllowLoopback: true, AllowFile: true, Proxy: http.ProxyFromEnvironment})
}

// wanted is the digest that the file must have, nil when none was asked for.
func wanted(ctx context.Context, o inspectOptions) (*artifact.Digest, error) {
	if o.checksum == "" {
		return nil, nil
	}
	var d artifact.Digest
	var err error
	if isURL(o.checksum) {
		d, err = fromSideFile(ctx, o)
	} else if d, err = artifact.ParseDigest(o.checksum); err != nil {
		return nil, fmt.Errorf("--checksum: %w", err)
	}
	if err == nil {
		err = checksum.CheckStrength(d, o.allowWeak)
	}
	return &d, err
}

// fromSideFile fetches a checksum file and finds the image in it.
func fromSideFile(ctx context.Context, o inspectOptions) (artifact.Digest, error) {
	f := newFetcher()
	defer f.Close()
	data, err := f.Small(ctx, o.checksum, checksum.MaxBytes)
	switch code := artifact.CodeOf(err); {
	case code == artifact.NotAnImage, code == artifact.TooLarge:
		return artifact.Digest{}, artifact.NewError(artifact.NotAChecksumFile, "the address of the checksum file gives a text page or far too many bytes")
	case err != nil:
		return artifact.Digest{}, fmt.Errorf("reading the checksum file: %w", err)
	}
	name := filepath.Base(o.source)
	if _, local := localPath(o.source); !local {
		name = fetch.BaseName(o.source)
	}
	return checksum.ParseSideFile(bytes.NewReader(data), name, "")
}

// bring opens the file, fetching it first when it is elsewhere.
func (w *workspace) bring(ctx context.Context, o inspectOptions, bar *progress) (*os.File, error) {
	if path, local := localPath(o.source); local {
		return openRegular(path)
	}
	if err := w.open(); err != nil {
		return nil, err
	}
	f := newFetcher()
	defer f.Close()
	room := w.store.Room(ctx)
	defer room.Release()
	partial := filepath.Join(w.dir, "download")
	_, err := f.Fetch(ctx, fetch.Request{
		URLs: []string{o.source}, Partial: partial, State: partial + ".json", MaxBytes: o.limits.MaxDownloadBytes, Space: room,
		Progress: func(done, total int64) { bar.at("fetching", done, total) },
	})
	if err != nil {
		return nil, err
	}
	return os.Open(partial)
}

// expanded is the content: in a temporary file, or in the file itself when that is not compressed.
type expanded struct {
	compression artifact.Compression
	download    artifact.Digest
	content     artifact.Digest
	size        int64
	temp        *os.File
	file        *os.File
}

func (x expanded) reader() io.ReaderAt {
	if x.temp != nil {
		return x.temp
	}
	return x.file
}

// expand hashes the file and undoes its compression in one pass. A file with a wrong digest is reported as that, whatever
// else is wrong with it.
func (w *workspace) expand(ctx context.Context, file *os.File, want *artifact.Digest, l artifact.Limits, bar *progress) (x expanded, err error) {
	info, err := file.Stat()
	if err != nil {
		return x, err
	}
	sums := map[artifact.Algorithm]hash.Hash{artifact.SHA256: artifact.SHA256.New()}
	if want != nil {
		sums[want.Algorithm] = want.Algorithm.New()
	}
	in := &meter{r: io.Reader(file), total: info.Size(), bar: bar}
	for _, h := range sums {
		in.r = io.TeeReader(in.r, h)
	}
	faulty := w.unpack(ctx, in, l, &x)
	if faulty != nil && artifact.RetryOf(faulty) != artifact.RetryNever {
		return x, faulty
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return x, err
	}
	x.download = artifact.DigestOf(artifact.SHA256, sums[artifact.SHA256])
	if want != nil {
		if have := artifact.DigestOf(want.Algorithm, sums[want.Algorithm]); have != *want {
			return x, artifact.NewError(artifact.ChecksumMismatch, fmt.Sprintf("the file has %s, wanted is %s", have, *want))
		}
	}
	if faulty == nil && x.compression == artifact.None {
		x.content, x.size, x.file = x.download, info.Size(), file
	}
	return x, faulty
}

// unpack writes the content to a temporary file and hashes it; a file that is not compressed stays where it is.
func (w *workspace) unpack(ctx context.Context, in io.Reader, l artifact.Limits, x *expanded) (err error) {
	src, c, err := compression.NewReader(ctx, in, l)
	x.compression = c
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if c == artifact.None {
		_, err := io.Copy(io.Discard, src)
		return err
	}
	if err := w.open(); err != nil {
		return err
	}
	room := w.store.Room(ctx)
	defer room.Release()
	path := filepath.Join(w.dir, "content")
	out, err := w.store.NewWriter(path, room)
	if err != nil {
		return err
	}
	h := artifact.SHA256.New()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(out, h)}, struct{ io.Reader }{src}, make([]byte, copyBuffer))
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	x.content, x.size = artifact.DigestOf(artifact.SHA256, h), n
	x.temp, err = os.Open(path)
	return err
}
