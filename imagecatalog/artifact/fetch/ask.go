package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"k8s.io/utils/clock"
)

// errChanged means that the source cannot go on where the partial file ends: begin again.
var errChanged = errors.New("the source does not continue the partial file")

// answer is a body that was found worth reading.
type answer struct {
	ctx      context.Context
	stop     context.CancelCauseFunc
	idle     clock.Timer
	patience time.Duration
	body     io.ReadCloser
	src      io.Reader

	header     http.Header
	length     int64 // of the body, -1 unknown
	total      int64 // of the file, 0 unknown
	redirected bool
}

// ask sends one GET and judges the headers and, at offset 0, the first bytes. ErrChanged when the source does not
// continue at offset; *artifact.Error for the rest.
func (f *Fetcher) ask(ctx context.Context, s source, offset int64, validator string) (*answer, error) {
	ctx, stop := context.WithCancelCause(ctx)
	a := &answer{ctx: ctx, stop: stop, patience: f.opts.IdleTimeout}
	a.idle = f.opts.Clock.AfterFunc(f.opts.IdleTimeout, func() { stop(errStalled) })
	err := f.send(a, s, offset, validator)
	a.idle.Stop()
	if err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (f *Fetcher) send(a *answer, s source, offset int64, validator string) error {
	req, err := http.NewRequestWithContext(a.ctx, http.MethodGet, "", nil)
	if err != nil {
		return artifact.NewError(artifact.InvalidURL, "the address is malformed")
	}
	target := *s.url
	req.URL, req.Host = &target, target.Host
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", userAgent)
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		req.Header.Set("If-Range", validator)
	}
	s.authorize(req)
	hops := &redirects{source: s, max: f.opts.MaxRedirects}
	resp, err := (&http.Client{Transport: f, CheckRedirect: hops.check}).Do(req)
	if err != nil {
		if resp != nil {
			resp.Body.Close()
		}
		return networkError(a.ctx, err, false)
	}
	a.body, a.header, a.redirected = resp.Body, resp.Header, hops.followed
	a.src, a.length = resp.Body, resp.ContentLength
	if err := f.judge(a, resp, offset, validator); err != nil {
		return err
	}
	if offset > 0 {
		return nil
	}
	return a.sniff()
}

// judge looks at status and headers.
func (f *Fetcher) judge(a *answer, resp *http.Response, offset int64, validator string) error {
	switch {
	case resp.StatusCode == http.StatusOK && offset == 0:
		a.total = max(resp.ContentLength, 0)
	case resp.StatusCode == http.StatusOK, offset > 0 && (resp.StatusCode == http.StatusRequestedRangeNotSatisfiable || resp.StatusCode == http.StatusPreconditionFailed):
		return errChanged
	case resp.StatusCode == http.StatusPartialContent && offset > 0:
		r, ok := parseContentRange(resp.Header.Get("Content-Range"))
		if !ok || r.first != offset || !sameValidator(resp.Header, validator) {
			return errChanged
		}
		if resp.ContentLength >= 0 && resp.ContentLength != r.last-r.first+1 {
			return errChanged
		}
		a.total = r.total
	default:
		return statusError(resp, f.opts.Clock.Now())
	}
	return checkHeaders(resp.Header)
}

// sniff reads the first bytes ahead, so that a page is refused before anything of it is written.
func (a *answer) sniff() error {
	head := make([]byte, sniffBytes)
	n := 0
	var err error
	for n < len(head) && err == nil {
		var k int
		k, err = a.body.Read(head[n:])
		n += k
	}
	if refused := checkHead(head[:n]); refused != nil {
		return refused
	}
	a.src = bytes.NewReader(head[:n])
	switch err { //nolint:errorlint // a wrapped EOF is an early end
	case nil:
		a.src = io.MultiReader(a.src, a.body)
	case io.EOF:
	default:
		a.src = io.MultiReader(a.src, failing{err})
	}
	return nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Read reads on, as long as the source does not stall. Errors are *artifact.Error or io.EOF.
func (a *answer) Read(p []byte) (int, error) {
	a.idle.Reset(a.patience)
	n, err := a.src.Read(p)
	a.idle.Stop()
	if err != nil && err != io.EOF { //nolint:errorlint // a wrapped EOF is an early end
		return n, networkError(a.ctx, err, true)
	}
	return n, err
}

func (a *answer) close() {
	a.idle.Stop()
	a.stop(context.Canceled)
	if a.body != nil {
		a.body.Close()
	}
}
