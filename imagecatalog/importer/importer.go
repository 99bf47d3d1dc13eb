package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
	"k8s.io/utils/clock"
)

// Defaults of Options.
const (
	DefaultMaxConcurrent = 2
	DefaultTrustFor      = time.Hour
)

// Options says what an Importer works with.
type Options struct {
	// Store keeps the blobs; required.
	Store *store.Store
	// Fetcher brings the bytes; required.
	Fetcher *fetch.Fetcher
	// MaxConcurrent is how many images are transferred and expanded at one time; 0 means 2. Others wait.
	MaxConcurrent int
	// TrustFor is how long the digest in a side file, or the bytes of an unproven source, are taken as still the same
	// without asking again; 0 means 1 h, a negative number never.
	TrustFor time.Duration
	// Clock is for tests; nil means the wall clock.
	Clock clock.PassiveClock
	// Done is told of every run that ended, however many callers shared it; nil tells nobody.
	Done func(Done)
}

// Done is the end of a run, for metrics.
type Done struct {
	// Code is the reason of the failure, "" for success or a failure without one.
	Code artifact.Code
	// Err is the failure; nil for success.
	Err error
	// Reused says that nothing was transferred, since everything was in the store.
	Reused bool
	// DownloadBytes is the size of the download when it succeeded.
	DownloadBytes int64
	// Duration is from the first request to the end, waiting included.
	Duration time.Duration
}

// Importer imports images. It is safe for concurrent use; several processes may share its store.
type Importer struct {
	opts  Options
	slots chan struct{}

	mu      sync.Mutex
	flights map[string]*flight
}

// New makes an Importer.
func New(o Options) (*Importer, error) {
	if o.Store == nil || o.Fetcher == nil {
		return nil, errors.New("an importer needs a store and a fetcher")
	}
	if o.MaxConcurrent <= 0 {
		o.MaxConcurrent = DefaultMaxConcurrent
	}
	if o.TrustFor == 0 {
		o.TrustFor = DefaultTrustFor
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Importer{opts: o, slots: make(chan struct{}, o.MaxConcurrent), flights: map[string]*flight{}}, nil
}

// Import makes sure that the image is in the store, verified and inspected, and describes it. What is there already is
// not transferred again. Callers with an equal spec share one run; it goes on as long as one of them waits. When the last
// one's ctx ends, what has arrived stays, and the next Import resumes it. Rejected bytes do not stay.
//
// Failures are *artifact.Error in the chain: its code says what is wrong, its retry class whether trying again can help.
// Progress, which may be nil, is called a few times a second at most, from another goroutine, and must be quick.
func (i *Importer) Import(ctx context.Context, spec Spec, progress func(Progress)) (Result, error) {
	spec.Limits = spec.Limits.WithDefaults()
	data, err := json.Marshal(spec)
	if err != nil {
		return Result{}, fmt.Errorf("naming the work: %w", err)
	}
	out := i.share(ctx, string(data), progress, func(ctx context.Context, report func(Progress)) outcome {
		start := i.opts.Clock.Now()
		r := run{importer: i, spec: spec, meter: newMeter(i.opts.Clock, report)}
		out := r.do(ctx)
		i.tell(out, i.opts.Clock.Since(start))
		return out
	})
	return out.result, out.err
}

func (i *Importer) tell(out outcome, took time.Duration) {
	if i.opts.Done == nil {
		return
	}
	i.opts.Done(Done{
		Code: artifact.CodeOf(out.err), Err: out.err, Reused: out.reused,
		DownloadBytes: out.result.DownloadBytes, Duration: took,
	})
}

// OpenContent opens a blob and gives its size in bytes; store.ErrNotFound when it is not there any more. It is not
// collected before it is closed.
func (i *Importer) OpenContent(d artifact.Digest) (*store.Blob, int64, error) {
	b, err := i.opts.Store.Open(d)
	if err != nil {
		return nil, 0, err
	}
	return b, b.Size(), nil
}

// Lease keeps blobs from being collected until it is released; all or none.
func (i *Importer) Lease(digests ...artifact.Digest) (*store.Lease, error) {
	return i.opts.Store.Lease(digests...)
}
