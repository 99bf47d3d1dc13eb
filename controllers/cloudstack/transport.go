package cloudstack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// request is one API call on its way through the chain.
type request struct {
	command string
	form    url.Values
	post    bool
	// sent is set once anything of the call may have reached the server.
	sent *bool
}

// reads tells whether a call changes nothing, so that a lost reply of it loses nothing.
func (r request) reads() bool { return readsOnly(r.command) }

// reply is the complete body of a call that succeeded.
type reply struct{ body []byte }

// link is one step of the transport chain.
type link func(context.Context, request) (reply, error)

// deadline gives every call a time to end.
func deadline(timeout func(command string) time.Duration) func(link) link {
	return func(next link) link {
		return func(ctx context.Context, r request) (reply, error) {
			ctx, cancel := context.WithTimeout(ctx, timeout(r.command))
			defer cancel()
			return next(ctx, r)
		}
	}
}

// callTransport carries the context of one call under the SDK, which knows of none, into the chain that all calls of the
// session share. It owns no connection.
type callTransport struct {
	ctx   context.Context
	chain link
	// last is the call as it was sent, for errors that the SDK raises itself.
	last request
}

// RoundTrip implements http.RoundTripper. A refusal comes back as *Error, never as a response, so the SDK does not parse it.
func (t *callTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	form, err := readForm(req)
	if err != nil {
		return nil, fmt.Errorf("reading the call: %w", err)
	}
	sent := false
	t.last = request{command: form.Get("command"), form: form, post: req.Method == http.MethodPost, sent: &sent}
	out, err := t.chain(t.ctx, t.last)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(out.body)), ContentLength: int64(len(out.body)), Request: req,
	}, nil
}

func readForm(req *http.Request) (url.Values, error) {
	if req.Method != http.MethodPost {
		return url.ParseQuery(req.URL.RawQuery)
	}
	defer req.Body.Close()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	return url.ParseQuery(string(body))
}
