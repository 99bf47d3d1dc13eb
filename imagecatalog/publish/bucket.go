package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// BucketOptions say how a Bucket is reached.
type BucketOptions struct {
	// URL is the folder: https, or http when no credentials are sent. The names of files come behind its path.
	URL string
	// Header is sent with every request, such as Authorization.
	Header http.Header
	// Keys sign every request in the way of S3, unless they are nil.
	Keys *Keys
	// Transport makes the connections; the usual one when nil.
	Transport http.RoundTripper
	// Clock waits between attempts and measures how long a transfer stands still; the real one when nil.
	Clock clock.WithDelayedExecution
	// Attempts is how often a request is tried that fails for a reason which may pass; 5 when 0.
	Attempts int
	// Idle is how long a transfer may stand still; 5 minutes when 0.
	Idle time.Duration
	// Redirects is how many are followed when something is read; none when 0. They never lead from https to http, and credentials
	// are sent to no other host. What is written is never redirected.
	Redirects int
}

// Bucket is a folder of an HTTP server that takes PUT, such as one that speaks S3.
type Bucket struct {
	BucketOptions
	base   *url.URL
	client *http.Client
}

// NewBucket checks the options. It connects to nobody.
func NewBucket(o BucketOptions) (*Bucket, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, errors.New("the address of the place cannot be read")
	case u.User != nil:
		return nil, errors.New("the address of the place holds credentials: give them in a file or the environment, where nobody logs them")
	case u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" || u.Host == "":
		return nil, errors.New("the address of the place is scheme, host and path, without a query")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("the address of the place is of the scheme %.20q; https is the one to have", u.Scheme)
	case u.Scheme == "http" && (len(o.Header) > 0 || o.Keys != nil):
		return nil, errors.New("credentials are sent by https only")
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Attempts == 0 {
		o.Attempts = 5
	}
	if o.Idle == 0 {
		o.Idle = 5 * time.Minute
	}
	if o.Transport == nil {
		o.Transport = NewTransport()
	}
	b := &Bucket{BucketOptions: o, base: u}
	b.client = &http.Client{Transport: o.Transport, CheckRedirect: b.redirect}
	b.Header = o.Header.Clone()
	return b, nil
}

// NewTransport connects through the proxy of the environment and waits a moment for the server's leave to send a body.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   30 * time.Second,
		ExpectContinueTimeout: 5 * time.Second,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
	}
}

// String is the address, which never holds credentials.
func (b *Bucket) String() string { return b.base.String() }

// request is one exchange that may be tried again.
type request struct {
	method, name string
	header       http.Header
	body         Object // Open is nil for none
	accept       []int  // statuses that are no faults
	// read uses the answer; a fault in it is tried again.
	read func(*http.Response) error
}

// send tries a request until it gets an answer that is none to try again.
func (b *Bucket) send(ctx context.Context, r request) (status int, err error) {
	for attempt := 1; ; attempt++ {
		status, wait, err := b.attempt(ctx, r)
		if err == nil || wait < 0 || attempt >= b.Attempts || ctx.Err() != nil {
			if err != nil {
				err = fmt.Errorf("%s %s: %w", r.method, r.name, err)
			}
			return status, err
		}
		timer := b.Clock.NewTimer(max(wait, backoff(attempt)))
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return 0, fmt.Errorf("%s %s: %w", r.method, r.name, ctx.Err())
		}
	}
}

// backoff is a second, doubled with every attempt, at most half a minute.
func backoff(attempt int) time.Duration {
	return min(time.Second<<min(attempt-1, 10), 30*time.Second)
}

// attempt sends a request once. A negative wait says that trying again is of no use.
func (b *Bucket) attempt(ctx context.Context, r request) (status int, wait time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := b.Clock.AfterFunc(b.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	req, err := b.build(ctx, r, func() { idle.Reset(b.Idle) })
	if err != nil {
		return 0, -1, err
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return 0, retryable(ctx, err), plain(ctx, err)
	}
	defer resp.Body.Close()
	resp.Body = io.NopCloser(ticking{resp.Body, func() { idle.Reset(b.Idle) }})
	if !slices.Contains(r.accept, resp.StatusCode) {
		return resp.StatusCode, retryAfter(resp), refusal(resp)
	}
	if r.read != nil && resp.StatusCode/100 == 2 {
		if err := r.read(resp); err != nil {
			return resp.StatusCode, 0, plain(ctx, err)
		}
	}
	return resp.StatusCode, -1, nil
}

// build makes the request, with credentials.
func (b *Bucket) build(ctx context.Context, r request, tick func()) (*http.Request, error) {
	target := *b.base
	target.Path = path.Join("/", target.Path, r.name)
	target.RawPath = escapePath(target.Path) // what is signed is what is sent
	req, err := http.NewRequestWithContext(ctx, r.method, target.String(), nil)
	if err != nil {
		return nil, err
	}
	sum := emptySHA256
	if r.body.Open != nil {
		body, err := r.body.Open()
		if err != nil {
			return nil, err
		}
		req.Body = ticking{body, tick}
		req.ContentLength, sum = r.body.Size, r.body.SHA256.Hex
		if r.body.Size == 0 {
			req.Body = http.NoBody
			if err := body.Close(); err != nil {
				return nil, err
			}
		}
	}
	for name, values := range r.header {
		req.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "capcat")
	b.authorize(req, sum)
	return req, nil
}

// authorize puts the credentials into a request to the host that they are for.
func (b *Bucket) authorize(req *http.Request, sum string) {
	for name, values := range b.Header {
		if _, set := req.Header[http.CanonicalHeaderKey(name)]; !set {
			req.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
	}
	if b.Keys != nil {
		b.Keys.sign(req, sum, b.Clock.Now())
	}
}

// ticking tells that something moves.
type ticking struct {
	io.ReadCloser
	tick func()
}

// Read reads on.
func (t ticking) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.tick()
	return n, err
}

// Create puts a file on condition that there is none of the name. Servers that do not know the condition (501) are asked
// before whether there is one.
func (b *Bucket) Create(ctx context.Context, name string, o Object) error {
	put := request{method: http.MethodPut, name: name, body: o, header: http.Header{
		"If-None-Match": {"*"}, "Content-Type": {contentType(name)}, "Expect": {"100-continue"},
	}, accept: []int{200, 201, 204, 412, 501}}
	status, err := b.send(ctx, put)
	if err == nil && status == http.StatusNotImplemented {
		if _, err = b.Size(ctx, name); err == nil {
			status = http.StatusPreconditionFailed
		} else if errors.Is(err, ErrMissing) {
			delete(put.header, "If-None-Match")
			put.accept = []int{200, 201, 204}
			status, err = b.send(ctx, put)
		}
	}
	if err == nil && status == http.StatusPreconditionFailed {
		return fmt.Errorf("%s: %w", name, ErrExists)
	}
	return err
}

// Replace puts a file over the one that was read.
func (b *Bucket) Replace(ctx context.Context, name string, data []byte, tag string) error {
	put := request{method: http.MethodPut, name: name, body: bytesObject(data), header: http.Header{
		"Content-Type": {contentType(name)}, "Cache-Control": {"no-cache"},
	}, accept: []int{200, 201, 204, 412, 501}}
	switch {
	case tag == "":
		put.header.Set("If-None-Match", "*")
	case !strings.HasPrefix(tag, "W/"):
		put.header.Set("If-Match", tag)
	}
	status, err := b.send(ctx, put)
	if err == nil && status == http.StatusNotImplemented {
		put.header.Del("If-Match")
		put.header.Del("If-None-Match")
		put.accept = []int{200, 201, 204}
		status, err = b.send(ctx, put)
	}
	if err == nil && status == http.StatusPreconditionFailed {
		return fmt.Errorf("%s: %w", name, ErrChanged)
	}
	return err
}

// bytesObject is an object in memory.
func bytesObject(data []byte) Object {
	sum := sha256.Sum256(data)
	return Object{
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		Size: int64(len(data)), SHA256: artifact.Digest{Algorithm: artifact.SHA256, Hex: fmt.Sprintf("%x", sum)},
	}
}

// contentType tells browsers what to show and what to save.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".json":
		return "application/json"
	case ".yaml", ".sha256", ".sha512", ".minisig":
		return "text/plain; charset=utf-8"
	default:
		return "application/octet-stream"
	}
}

// Read gets a small file; its tag is the ETag of the server.
func (b *Bucket) Read(ctx context.Context, name string, limit int64) (data []byte, tag string, err error) {
	status, err := b.send(ctx, request{method: http.MethodGet, name: name, header: http.Header{"Cache-Control": {"no-cache"}}, accept: []int{200, 404, 410}, read: func(resp *http.Response) error {
		tag = resp.Header.Get("ETag")
		data, err = whole(resp, func(r io.Reader) ([]byte, error) { return readBounded(r, limit) })
		return err
	}})
	return data, tag, missing(name, status, err)
}

// whole reads a body and compares its length with what the server said.
func whole[T any](resp *http.Response, read func(io.Reader) (T, error)) (T, error) {
	counted := &counter{r: resp.Body}
	out, err := read(counted)
	if err == nil && resp.ContentLength >= 0 && counted.n != resp.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	return out, err
}

type counter struct {
	r io.Reader
	n int64
}

// Read reads on.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func missing(name string, status int, err error) error {
	if err == nil && status != http.StatusOK {
		return fmt.Errorf("%s: %w", name, ErrMissing)
	}
	return err
}

// Size asks for the length of a file.
func (b *Bucket) Size(ctx context.Context, name string) (size int64, err error) {
	status, err := b.send(ctx, request{method: http.MethodHead, name: name, accept: []int{200, 404, 410}, read: func(resp *http.Response) error {
		size = resp.ContentLength
		return nil
	}})
	return size, missing(name, status, err)
}

// Digest gets the whole file.
func (b *Bucket) Digest(ctx context.Context, name string) (d artifact.Digest, err error) {
	status, err := b.send(ctx, request{method: http.MethodGet, name: name, accept: []int{200, 404, 410}, read: func(resp *http.Response) error {
		d, err = whole(resp, func(r io.Reader) (artifact.Digest, error) { return digest(ctx, r) })
		return err
	}})
	return d, missing(name, status, err)
}
