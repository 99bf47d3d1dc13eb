package serve

import (
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"k8s.io/utils/clock"
)

// Defaults of Options.
const (
	DefaultMaxConnections = 32
	DefaultQueueTimeout   = 30 * time.Second
	DefaultWriteTimeout   = 60 * time.Second
)

// Options bounds a Handler.
type Options struct {
	// MaxConnections is how many blobs are sent at one time; 0 means 32. A storage VM opens at most two.
	MaxConnections int
	// QueueTimeout is how long one more request waits for its turn before it gets 503; 0 means 30 s.
	QueueTimeout time.Duration
	// WriteTimeout is how long a client may take for each MiB; 0 means 60 s.
	WriteTimeout time.Duration
	// Clock is for tests; nil means the wall clock.
	Clock clock.WithTicker
	// Served is told of every answered request; nil tells nobody.
	Served func(Served)
}

// Served is what happened to one request.
type Served struct {
	// Digest is of the blob; zero when the request was refused before.
	Digest artifact.Digest
	// Method is GET, HEAD or what the client sent.
	Method string
	// Status is the HTTP status.
	Status int
	// Bytes went out as body.
	Bytes int64
	// Complete is true when the whole blob went out.
	Complete bool
	// Duration is from the first byte read to the last byte written.
	Duration time.Duration
}
