package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path"

	"github.com/capcat/capcat/imagecatalog/artifact"
	getter "github.com/hashicorp/go-getter/v2"
)

// standIn is the address that go-getter is given. It takes addresses apart (a // in the path, archive=, checksum= and
// filename= in the query, the order of the query), so it never sees the real one: exchange puts that in.
const standIn = "http://source.invalid/file"

// exchange is one transfer from one mirror, and the transport of the go-getter client that does it. The partial file
// is go-getter's to write; all limits and checks are in the body that it is handed.
type exchange struct {
	fetcher *Fetcher
	job     *job
	source  source
	offset  int64
	known   state

	done       int64
	total      int64
	redirected bool
	// err is the first thing that went wrong here; go-getter wraps it beyond recognition.
	err error
}

// run transfers what is missing. ErrChanged when the partial file cannot be continued.
func (e *exchange) run(ctx context.Context) error {
	e.done, e.total, e.redirected = e.offset, e.known.Total, e.known.Redirected
	if e.offset == 0 {
		if err := removeIfThere(e.job.req.Partial); err != nil {
			return localError("clearing the partial file", err)
		}
	}
	client := &getter.Client{
		Getters: []getter.Getter{&getter.HttpGetter{
			Client:                &http.Client{Transport: e, CheckRedirect: noRedirect},
			XTerraformGetDisabled: true,
		}},
		Decompressors:   map[string]getter.Decompressor{},
		DisableSymlinks: true,
	}
	_, err := client.Get(ctx, &getter.Request{Src: standIn, Dst: e.job.req.Partial, GetMode: getter.ModeFile, Umask: 0o027})
	switch {
	case e.err != nil:
		return e.err
	case ctx.Err() != nil:
		return artifact.WrapError(artifact.Canceled, "the transfer was stopped", context.Cause(ctx))
	case err != nil:
		return localError("writing the partial file", err)
	}
	if size := fileSize(e.job.req.Partial); size != e.done {
		return artifact.NewError(artifact.StoreFailed, fmt.Sprintf("the partial file has %d bytes, not %d", size, e.done))
	}
	return nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// RoundTrip answers go-getter. Its HEAD is a question to us: may it go on at the end of the partial file? Its GET is
// sent to the real source.
func (e *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodHead {
		return e.answerHead(req), nil
	}
	a, err := e.fetcher.ask(req.Context(), e.source, e.offset, e.known.Validator)
	if err == nil {
		if err = e.begin(a); err != nil {
			a.close()
		}
	}
	if err != nil {
		e.err = err
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, ContentLength: a.length, Request: req, Body: &body{answer: a, exchange: e},
	}, nil
}

func (e *exchange) answerHead(req *http.Request) *http.Response {
	resp := &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, ContentLength: math.MaxInt64, Request: req, Body: http.NoBody,
	}
	if e.offset > 0 {
		resp.Header.Set("Accept-Ranges", "bytes")
	}
	return resp
}

// begin checks the size, asks for room and notes how to resume.
func (e *exchange) begin(a *answer) error {
	if a.total > 0 {
		if e.offset > 0 && e.known.Total > 0 && a.total != e.known.Total {
			return errChanged
		}
		e.total = a.total
	}
	if e.total > e.job.max {
		return e.job.tooLarge()
	}
	e.redirected = e.redirected || a.redirected
	if e.job.req.Space != nil {
		if err := e.job.req.Space.Expect(max(e.total-e.offset, 0)); err != nil {
			return err
		}
	}
	if e.offset > 0 {
		return nil
	}
	st := state{Source: sourceID(e.source), Validator: validator(a.header), Total: e.total, Redirected: e.redirected}
	if err := writeState(e.job.req.State, st); err != nil {
		return localError("noting how to resume", err)
	}
	return nil
}

// body is what go-getter copies from: every byte is counted, hashed and shown to the sink on its way.
type body struct {
	answer   *answer
	exchange *exchange
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.answer.Read(p)
	e := b.exchange
	if n > 0 {
		if refused := e.take(p[:n]); refused != nil {
			e.err = refused
			return 0, refused
		}
	}
	if errors.Is(err, io.EOF) && e.total > 0 && e.done < e.total {
		err = artifact.NewError(artifact.SourceInterrupted, fmt.Sprintf("the transfer ended after %d of %d bytes", e.done, e.total))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		e.err = err
	}
	return n, err
}

func (e *exchange) take(p []byte) error {
	n := int64(len(p))
	if e.done+n > e.job.max {
		return e.job.tooLarge()
	}
	if e.total > 0 && e.done+n > e.total {
		return artifact.NewError(artifact.SourceInterrupted, fmt.Sprintf("the source sent more than the %d bytes it announced", e.total))
	}
	if e.job.req.Space != nil {
		if err := e.job.req.Space.Wrote(n); err != nil {
			return err
		}
	}
	if err := e.job.consume(p); err != nil {
		return err
	}
	e.done += n
	e.job.progress(e.done, e.total)
	return nil
}

func (b *body) Close() error {
	b.answer.close()
	return nil
}

// copyFile copies a file source with go-getter; the sink sees it afterwards.
func (e *exchange) copyFile(ctx context.Context) error {
	name := path.Clean(e.source.url.Path)
	info, err := os.Stat(name)
	if err != nil {
		return fileError(err)
	}
	if !info.Mode().IsRegular() {
		return artifact.NewError(artifact.InvalidURL, "the address names no regular file")
	}
	if info.Size() > e.job.max {
		return e.job.tooLarge()
	}
	if e.job.req.Space != nil {
		if err := e.job.req.Space.Expect(info.Size()); err != nil {
			return err
		}
	}
	client := &getter.Client{Getters: []getter.Getter{&getter.FileGetter{}}, Decompressors: map[string]getter.Decompressor{}}
	src := url.URL{Scheme: "file", Path: name}
	_, err = client.Get(ctx, &getter.Request{Src: src.String(), Dst: e.job.req.Partial, GetMode: getter.ModeFile, Copy: true, Umask: 0o027})
	if err != nil {
		if ctx.Err() != nil {
			return artifact.WrapError(artifact.Canceled, "the copy was stopped", context.Cause(ctx))
		}
		return fileError(err)
	}
	e.done = fileSize(e.job.req.Partial)
	e.total = e.done
	if e.done > e.job.max {
		return e.job.tooLarge()
	}
	return nil
}
