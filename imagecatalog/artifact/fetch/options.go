package fetch

import (
	"crypto/x509"
	"net/http"
	"net/url"
	"time"

	"k8s.io/utils/clock"
)

// Defaults of Options.
const (
	DefaultMaxRedirects   = 5
	DefaultIdleTimeout    = 60 * time.Second
	DefaultConnectTimeout = 30 * time.Second
	DefaultAttempts       = 4
	DefaultBackoff        = 2 * time.Second
	DefaultMaxBackoff     = 30 * time.Second
	DefaultMaxRetryAfter  = 2 * time.Minute
)

// Clock is the time a Fetcher lives in.
type Clock = clock.WithDelayedExecution

// Options says how a Fetcher behaves towards every source. The zero value is the strict default.
type Options struct {
	// AllowLoopback lets sources be on this machine: for tests, demos and the command line.
	AllowLoopback bool
	// AllowFile lets sources be file:///absolute/path.
	AllowFile bool
	// MaxRedirects is how many redirects one request may follow; 0 means 5, a negative number none.
	MaxRedirects int
	// IdleTimeout is how long a source may send nothing, before the headers or between two reads; 0 means 60 s.
	IdleTimeout time.Duration
	// ConnectTimeout bounds connecting, and the TLS handshake once more; 0 means 30 s.
	ConnectTimeout time.Duration
	// Attempts is how often one mirror is asked in one Fetch, 1 to 20; 0 means 4.
	Attempts int
	// Backoff is the wait after the first failed attempt, doubled each time, with jitter; 0 means 2 s.
	Backoff time.Duration
	// MaxBackoff caps the doubled wait; 0 means 30 s.
	MaxBackoff time.Duration
	// MaxRetryAfter is the longest Retry-After that is waited for inside Fetch; 0 means 2 min. A longer one ends the
	// attempts at this mirror.
	MaxRetryAfter time.Duration
	// RootCAs are trusted instead of the system's when set.
	RootCAs *x509.CertPool
	// Proxy chooses a proxy for a request, http.ProxyFromEnvironment for instance; nil means that none is used.
	// Behind a proxy it is the proxy that resolves names, so the address guard sees less: see the package's guard.
	Proxy func(*http.Request) (*url.URL, error)
	// Clock is for tests; nil means the wall clock.
	Clock Clock
}
