package compression

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/bzip2"
)

const inputBuffer = 64 << 10

// NewReader undoes the outer layer of r, found by its magic; a file without one passes unchanged. Every stream of a
// multi-stream file is read. The reader ends in io.EOF only when the whole input was used up and every check in it held;
// what it gave before an error is worthless. Faults of the content are *artifact.Error with the codes TruncatedStream,
// CorruptStream, TrailingGarbage, DoubleCompressed, MultipleFiles, Encrypted, LinkEntry, PathTraversal, EmptyFile and
// DecompressionBomb (more than l.MaxOutputBytes of output, or a decoder window above artifact.MaxDecoderWindowBytes).
// Errors of r come back as they are. When ctx ends, the next read fails with the code Canceled.
//
// A zip is read as a stream: each local header in turn, compared with the central directory at the end.
//
// Close frees the decoder and leaves r open.
func NewReader(ctx context.Context, r io.Reader, l artifact.Limits) (io.ReadCloser, artifact.Compression, error) {
	src := &source{ctx: ctx, r: r}
	in := bufio.NewReaderSize(src, inputBuffer)
	head, _ := in.Peek(SniffLen)
	if src.err != nil {
		return nil, artifact.None, src.err
	}
	c := Sniff(head)
	var err error
	out := &reader{src: src, left: l.WithDefaults().MaxOutputBytes, limit: l.WithDefaults().MaxOutputBytes}
	switch c {
	case artifact.Bzip2:
		out.dec = bzip2.NewReader(in, bzip2.Options{})
	case artifact.Gzip:
		out.dec = &gzipReader{in: in}
	case artifact.XZ:
		out.dec = newXZReader(in)
	case artifact.Zstd:
		out.dec, err = newZstdReader(in)
	case artifact.Zip:
		out.dec = newZipReader(in, src)
	default:
		return &plain{src: src, in: in}, artifact.None, nil
	}
	if err != nil {
		return nil, c, src.classify(err)
	}
	return out, c, nil
}

// source is the input: it stops with the context and remembers a failing read, so that it is never mistaken for a fault
// of the content.
type source struct {
	ctx context.Context
	r   io.Reader
	n   int64
	err error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if err := s.ctx.Err(); err != nil {
		s.err = artifact.WrapError(artifact.Canceled, "decompressing", err)
		return 0, s.err
	}
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// classify turns the error of a decoder into one with a code.
func (s *source) classify(err error) error {
	var coded *artifact.Error
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case s.err != nil:
		return s.err
	case errors.As(err, &coded):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, bzip2.ErrTruncated):
		return artifact.NewError(artifact.TruncatedStream, "the compressed stream ends too early")
	case errors.Is(err, bzip2.ErrTrailing):
		return trailing("bzip2")
	default:
		return artifact.WrapError(artifact.CorruptStream, "the compressed stream cannot be decoded", err)
	}
}

func trailing(kind string) error {
	return artifact.NewError(artifact.TrailingGarbage, "bytes follow the end of the "+kind+" stream")
}

func corrupt(format string, args ...any) error {
	return artifact.NewError(artifact.CorruptStream, fmt.Sprintf(format, args...))
}

func windowTooLarge(size uint64) error {
	return artifact.NewError(artifact.DecompressionBomb,
		fmt.Sprintf("the stream asks for a decoder window of %d bytes, above the cap of %d", size, artifact.MaxDecoderWindowBytes))
}

// plain passes a file that is not compressed.
type plain struct {
	src *source
	in  *bufio.Reader
}

func (p *plain) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	if err != nil && p.src.err != nil {
		err = p.src.err
	}
	return n, err
}

func (p *plain) WriteTo(w io.Writer) (int64, error) { return p.in.WriteTo(w) }

func (p *plain) Close() error { return nil }

// reader bounds and checks the output of a decoder.
type reader struct {
	src   *source
	dec   io.ReadCloser
	limit int64
	left  int64
	// head holds the first bytes of the payload until they were looked at and handed out.
	head    []byte
	started bool
	err     error
}

func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if !r.started {
		r.start()
	}
	if len(r.head) > 0 {
		n := copy(p, r.head)
		r.head = r.head[n:]
		return n, nil
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.decode(p)
}

// start reads enough of the payload to see whether it is compressed once more.
func (r *reader) start() {
	r.started = true
	head := make([]byte, 0, SniffLen)
	for len(head) < SniffLen && r.err == nil {
		n, _ := r.decode(head[len(head):SniffLen])
		head = head[:len(head)+n]
	}
	if inner := Sniff(head); inner != artifact.None && (r.err == nil || errors.Is(r.err, io.EOF)) {
		r.err = artifact.NewError(artifact.DoubleCompressed, fmt.Sprintf("the payload is compressed once more, with %s", inner))
		return
	}
	r.head = head
}

// decode reads from the decoder and counts; an error is kept.
func (r *reader) decode(p []byte) (int, error) {
	if err := r.src.ctx.Err(); err != nil {
		r.err = artifact.WrapError(artifact.Canceled, "decompressing", err)
		return 0, r.err
	}
	// One byte more than allowed is asked for: only that byte shows that the cap is exceeded.
	if int64(len(p))-1 > r.left {
		p = p[:r.left+1]
	}
	n, err := r.dec.Read(p)
	if int64(n) > r.left {
		n = int(r.left)
		err = artifact.NewError(artifact.DecompressionBomb, fmt.Sprintf("the output exceeds the cap of %d bytes", r.limit))
	}
	r.left -= int64(n)
	if err != nil {
		r.err = r.src.classify(err)
	}
	return n, r.err
}

func (r *reader) Close() error {
	if r.err == nil {
		r.err = artifact.NewError(artifact.Canceled, "the decompressor was closed")
	}
	return r.dec.Close()
}
