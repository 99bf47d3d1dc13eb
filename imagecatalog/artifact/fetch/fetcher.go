package fetch

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"syscall"
	"time"

	"k8s.io/utils/clock"
)

const userAgent = "capcat"

// Fetcher fetches files. It is safe for concurrent use.
type Fetcher struct {
	opts   Options
	guard  guard
	direct *http.Transport
	behind *http.Transport
}

// New makes a Fetcher. Close it to drop idle connections.
func New(o Options) *Fetcher {
	o = o.withDefaults()
	f := &Fetcher{opts: o, guard: guard{allowLoopback: o.AllowLoopback}}
	f.direct = f.transport(f.guard.control)
	if o.Proxy != nil {
		f.behind = f.transport(nil)
		f.behind.Proxy = o.Proxy
	}
	return f
}

func (o Options) withDefaults() Options {
	setDefault(&o.IdleTimeout, DefaultIdleTimeout)
	setDefault(&o.ConnectTimeout, DefaultConnectTimeout)
	setDefault(&o.Attempts, DefaultAttempts)
	setDefault(&o.Backoff, DefaultBackoff)
	setDefault(&o.MaxBackoff, DefaultMaxBackoff)
	setDefault(&o.MaxRetryAfter, DefaultMaxRetryAfter)
	setDefault(&o.MaxRedirects, DefaultMaxRedirects)
	o.MaxRedirects = max(o.MaxRedirects, 0)
	o.Attempts = min(max(o.Attempts, 1), 20)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

func (f *Fetcher) transport(control func(context.Context, string, string, syscall.RawConn) error) *http.Transport {
	dialer := &net.Dialer{Timeout: f.opts.ConnectTimeout, ControlContext: control}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: f.opts.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    f.opts.ConnectTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           16,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		ReadBufferSize:         64 << 10,
	}
}

// Close drops idle connections.
func (f *Fetcher) Close() {
	f.direct.CloseIdleConnections()
	if f.behind != nil {
		f.behind.CloseIdleConnections()
	}
}

// RoundTrip sends a request directly, guarded by address, or through the proxy that Options.Proxy names for it.
func (f *Fetcher) RoundTrip(req *http.Request) (*http.Response, error) {
	if f.behind == nil {
		return f.direct.RoundTrip(req)
	}
	via, err := f.opts.Proxy(req)
	if err != nil || via == nil {
		return f.direct.RoundTrip(req)
	}
	if err := f.guard.checkProxied(req.Context(), req.URL.Hostname()); err != nil {
		return nil, err
	}
	return f.behind.RoundTrip(req)
}

// wait sleeps on the injected clock.
func (f *Fetcher) wait(ctx context.Context, d time.Duration) error {
	timer := f.opts.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C():
		return nil
	}
}
