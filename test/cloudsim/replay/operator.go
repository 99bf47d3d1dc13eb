package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/capcat/capcat/test/cloudsim"
)

// Operator is whoever runs the server.
type Operator interface {
	// Now is the server's time.
	Now() time.Time
	// Advance lets time pass on the server.
	Advance(ctx context.Context, d time.Duration) error
	// Set changes a setting.
	Set(ctx context.Context, name, value string) error
	// Restart kills the server and starts it again.
	Restart(ctx context.Context) error
}

// Simulator operates a simulator of this process, whose clock must be the manual one.
type Simulator struct {
	Server *cloudsim.Server
	Clock  *cloudsim.ManualClock
}

// Now implements Operator.
func (s Simulator) Now() time.Time { return s.Clock.Now() }

// Advance implements Operator.
func (s Simulator) Advance(_ context.Context, d time.Duration) error { return s.Server.Advance(d) }

// Set implements Operator.
func (s Simulator) Set(_ context.Context, name, value string) error {
	s.Server.Set(name, value)
	return nil
}

// Restart implements Operator.
func (s Simulator) Restart(context.Context) error {
	s.Server.Restart()
	return nil
}

// Bystander operates nothing: it waits as long as the recorder did, and settings and restarts are left out.
type Bystander struct {
	last time.Time // when the last wait ended
}

// Now implements Operator.
func (b *Bystander) Now() time.Time { return time.Now() }

// Advance implements Operator. What calls took since the last time counts as waited.
func (b *Bystander) Advance(ctx context.Context, d time.Duration) error {
	if !b.last.IsZero() {
		d -= time.Since(b.last)
	}
	defer func() { b.last = time.Now() }()
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Set implements Operator.
func (b *Bystander) Set(context.Context, string, string) error { return nil }

// Restart implements Operator.
func (b *Bystander) Restart(context.Context) error { return nil }

// Remote operates a simulator of another process by its control endpoints.
type Remote struct {
	wall   *Bystander // for a server whose clock is the real one
	client *http.Client
	url    string
	now    time.Time
}

// Control returns the operator behind a control URL. A server whose clock cannot be moved is waited for.
func Control(ctx context.Context, url string) (*Remote, error) {
	r := &Remote{client: &http.Client{Timeout: callTimeout}, url: strings.TrimRight(url, "/")}
	status, err := r.advance(ctx, 0)
	if status == http.StatusBadRequest {
		r.wall, err = &Bystander{}, nil
	}
	return r, err
}

// Now implements Operator.
func (r *Remote) Now() time.Time {
	if r.wall != nil {
		return r.wall.Now()
	}
	return r.now
}

// Advance implements Operator.
func (r *Remote) Advance(ctx context.Context, d time.Duration) error {
	if r.wall != nil {
		return r.wall.Advance(ctx, d)
	}
	_, err := r.advance(ctx, d)
	return err
}

func (r *Remote) advance(ctx context.Context, d time.Duration) (int, error) {
	var out struct {
		Now time.Time `json:"now"`
	}
	status, err := r.post(ctx, "advance", map[string]any{"seconds": d.Seconds()}, &out)
	if err == nil {
		r.now = out.Now
	}
	return status, err
}

// Set implements Operator.
func (r *Remote) Set(ctx context.Context, name, value string) error {
	_, err := r.post(ctx, "settings", map[string]any{"name": name, "value": value}, nil)
	return err
}

// Restart implements Operator.
func (r *Remote) Restart(ctx context.Context) error {
	_, err := r.post(ctx, "restart", map[string]any{}, nil)
	return err
}

// post returns the status of the answer, 0 without one.
func (r *Remote) post(ctx context.Context, verb string, in map[string]any, out any) (int, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/"+verb, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxLine))
	if err != nil {
		return resp.StatusCode, err
	}
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, fmt.Errorf("POST %s answers %s: %.200s", verb, resp.Status, data)
	}
	if out == nil {
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return resp.StatusCode, fmt.Errorf("reading the answer to POST %s: %w", verb, err)
	}
	return resp.StatusCode, nil
}
