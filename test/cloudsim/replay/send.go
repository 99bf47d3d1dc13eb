package replay

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/capcat/capcat/test/cloudsim"
)

// Reply is what came back. Without an answer the status is 0 and the body is the error's text.
type Reply struct {
	Status  int
	Header  http.Header
	Cookies []*http.Cookie
	// Body is decoded JSON, or the text of anything else.
	Body any
}

// query builds the parameters of a step as its caller sends them.
func (p *Player) query(ctx context.Context, s *Step) string {
	params := map[string]string{}
	for k, v := range s.Params {
		params[k] = p.value(ctx, v)
	}
	if s.Command != nil {
		params["command"] = *s.Command
	}
	if s.Response == nil {
		params["response"] = "json"
	} else if format := strings.Trim(string(s.Response), `"`); format != "null" {
		params["response"] = format
	}
	switch {
	case s.command() == "login":
		params["password"] = "password"
		if strings.Contains(s.Note, "wrong password") {
			params["password"] = "guess"
		}
	case s.Sign == "session":
		params["sessionkey"] = p.session
		if strings.Contains(s.Note, "wrong session key") {
			params["sessionkey"] = "wrong"
		}
	default:
		signParams(params, s.Sign, p.keysFor(s), p.operator.Now())
	}
	q := url.Values{}
	for k, v := range params {
		q.Set(k, v)
	}
	raw := strings.ReplaceAll(q.Encode(), "+", "%20")
	if s.BlankAsPlus {
		raw = strings.ReplaceAll(raw, "%20", "+")
	}
	return raw + s.Append
}

func (p *Player) keysFor(s *Step) cloudsim.KeyPair {
	if s.Note == "old keys" {
		return p.old[s.As]
	}
	return p.keys[s.As]
}

func (p *Player) request(ctx context.Context, s *Step) (*http.Request, error) {
	raw := p.query(ctx, s)
	target, body := p.base, io.Reader(strings.NewReader(raw))
	if s.Method == http.MethodGet {
		target, body = p.base+"?"+raw, http.NoBody
	}
	req, err := http.NewRequestWithContext(ctx, s.Method, target, body)
	if err != nil {
		return nil, fmt.Errorf("step %d makes no request", s.Step) // the cause would repeat keys
	}
	if s.Method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if s.Sign == "session" && !strings.Contains(s.Note, "without cookie") {
		for name, value := range p.cookies {
			req.AddCookie(&http.Cookie{Name: name, Value: value})
		}
	}
	return req, nil
}

// Send sends one step and returns what came back.
func (p *Player) Send(ctx context.Context, s *Step) *Reply {
	req, err := p.request(ctx, s)
	if err != nil {
		return &Reply{Body: err.Error()}
	}
	return ReadReply(p.client.Do(req))
}

// ReadReply makes a reply of what a client returns.
func ReadReply(resp *http.Response, err error) *Reply {
	var failed *url.Error
	switch {
	case errors.As(err, &failed): // its URL has keys
		return &Reply{Body: failed.Err.Error()}
	case err != nil:
		return &Reply{Body: err.Error()}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxLine))
	if err != nil {
		return &Reply{Body: err.Error()}
	}
	r := &Reply{Status: resp.StatusCode, Header: resp.Header, Cookies: resp.Cookies()}
	if err := json.Unmarshal(data, &r.Body); err != nil {
		r.Body = string(data)
	}
	return r
}

// dial opens a connection of its own to the server.
func (p *Player) dial(ctx context.Context, u *url.URL) (net.Conn, error) {
	port := u.Port()
	if port == "" {
		port = u.Scheme // a service name is a port, too
	}
	address := net.JoinHostPort(u.Hostname(), port)
	if u.Scheme == "https" {
		return (&tls.Dialer{}).DialContext(ctx, "tcp", address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// leave sends a step from a client that is gone when the reply comes: nothing of it is looked at.
func (p *Player) leave(ctx context.Context, s *Step) error {
	req, err := p.request(ctx, s)
	if err != nil {
		return err
	}
	conn, err := p.dial(ctx, req.URL)
	if err != nil {
		return err
	}
	defer conn.Close()
	req.Close = true
	if err := req.Write(conn); err != nil {
		return fmt.Errorf("sending step %d: %w", s.Step, err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil { // the server carries the call out all the same
		return fmt.Errorf("leaving step %d: %w", s.Step, err)
	}
	return nil
}

// Together sends steps at the same time, over connections that are open already.
func (p *Player) Together(ctx context.Context, steps []Step) ([]*Reply, error) {
	out := make([]*Reply, len(steps))
	requests, conns := make([]*http.Request, len(steps)), make([]net.Conn, len(steps))
	for i := range steps {
		req, err := p.request(ctx, &steps[i])
		if err != nil {
			return nil, err
		}
		req.Close = true
		conn, err := p.dial(ctx, req.URL)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		requests[i], conns[i] = req, conn
	}
	for i, req := range requests {
		if err := req.Write(conns[i]); err != nil {
			return nil, fmt.Errorf("sending step %d: %w", steps[i].Step, err)
		}
	}
	var wg sync.WaitGroup
	for i := range steps {
		wg.Go(func() { out[i] = ReadReply(http.ReadResponse(bufio.NewReader(conns[i]), requests[i])) })
	}
	wg.Wait()
	return out, nil
}
