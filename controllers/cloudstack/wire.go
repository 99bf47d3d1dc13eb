package cloudstack

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// maxReply bounds a reply: a page of 500 virtual machines is less than 2 MiB.
const maxReply = 64 << 20

// wire is the last link: it signs, sends and reads, and turns whatever is not a good reply into an *Error.
type wire struct {
	endpoint       string
	apiKey, secret string
	base           http.RoundTripper
	clock          clock.PassiveClock
	redact         redactor
}

func newBaseTransport(settings *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       settings,
		TLSHandshakeTimeout:   15 * time.Second,
		MaxIdleConns:          16,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       60 * time.Second,
		ResponseHeaderTimeout: 0,
	}
}

func (w *wire) send(ctx context.Context, r request) (reply, error) {
	sign(r.form, w.apiKey, w.secret, w.clock.Now())
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	defer func() { *r.sent = sent.Load() }()

	req, err := w.build(ctx, r)
	if err != nil {
		return reply{}, &Error{Kind: Invalid, Command: r.command, Text: "the API URL is unusable"}
	}
	resp, err := w.base.RoundTrip(req)
	if err != nil {
		return reply{}, w.lost(r, sent.Load(), err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	switch {
	case err != nil:
		return reply{}, w.lost(r, true, err)
	case len(body) > maxReply:
		return reply{}, newError(Internal, r.command, "the reply is larger than %d bytes", maxReply)
	case resp.StatusCode == http.StatusOK:
		if !json.Valid(body) {
			return reply{}, w.unreadable(r, resp)
		}
		return reply{body: body}, nil
	}
	return reply{}, w.refusal(r, resp, body)
}

// build makes the HTTP request. A POST has no way to be replayed by the transport once bytes of it were written.
func (w *wire) build(ctx context.Context, r request) (*http.Request, error) {
	if !r.post {
		return http.NewRequestWithContext(ctx, http.MethodGet, w.endpoint+"?"+r.form.Encode(), http.NoBody)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.endpoint, strings.NewReader(r.form.Encode()))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return req, nil
}

// lost is for calls without a complete reply. Nothing took effect if nothing was sent or the call only reads.
func (w *wire) lost(r request, sent bool, err error) *Error {
	kind := LostReply
	if !sent || r.reads() {
		kind = Unavailable
	}
	return &Error{Kind: kind, Command: r.command, Text: w.redact.text(causeText(err)), Err: contextCause(err)}
}

// causeText is the text of a network fault without local ports, which differ each time.
func causeText(err error) string {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	var op *net.OpError
	text := err.Error()
	if errors.As(err, &op) && op.Err != nil {
		text = op.Op + ": " + op.Err.Error()
	}
	return text + remedy(err)
}

// remedy says what a person can do about a connection that was not secured.
func remedy(err error) string {
	var unknown x509.UnknownAuthorityError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return "; put the certificate of the authority that vouches for the server into ca-cert"
	case errors.As(err, &plain):
		return "; the server speaks no TLS there: should api-url begin with http://, or have another port?"
	}
	return ""
}

// contextCause keeps the end of a context, which callers decide on, and drops every other cause: its text may hold the URL.
func contextCause(err error) error {
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			return cause
		}
	}
	return nil
}

// unreadable is for answers that no management server gives: pages of a proxy, cut bodies.
func (w *wire) unreadable(r request, resp *http.Response) *Error {
	kind := LostReply
	if r.reads() || resp.StatusCode == http.StatusNotFound {
		kind = Unavailable
	}
	text := "the answer is no JSON but " + mediaType(resp) + "; is api-url right, does a proxy stand before CloudStack?"
	return &Error{Kind: kind, Command: r.command, HTTP: resp.StatusCode, Text: text}
}

func mediaType(resp *http.Response) string {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if kind == "" {
		return "of no declared type"
	}
	return strconv.Quote(kind)
}

// refusal reads the error envelope of a reply that is not 200.
func (w *wire) refusal(r request, resp *http.Response, body []byte) *Error {
	type envelope struct {
		ErrorCode   int    `json:"errorcode"`
		CSErrorCode int    `json:"cserrorcode"`
		ErrorText   string `json:"errortext"`
	}
	var top map[string]envelope
	if json.NewDecoder(bytes.NewReader(body)).Decode(&top) != nil || len(top) != 1 {
		return w.unreadable(r, resp)
	}
	for _, e := range top {
		found := wireError{HTTP: resp.StatusCode, Code: e.CSErrorCode, Text: e.ErrorText}
		out := &Error{Kind: classify(found), Command: r.command, HTTP: found.HTTP, Code: found.Code, Text: w.redact.text(found.Text)}
		if out.Kind == Throttled {
			out.After = pauseOf(resp, found.Text)
		}
		return out
	}
	return w.unreadable(r, resp)
}

func pauseOf(resp *http.Response, text string) time.Duration {
	if pause, ok := throttlePause(text); ok {
		return max(pause, 10*time.Millisecond)
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 3600)) * time.Second
	}
	return defaultPause
}
