package image

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/importer"
)

// Options is what the controller works with.
type Options struct {
	// Sessions speaks to CloudStack; required. Whoever makes it also starts it.
	Sessions *cloudstack.Sessions
	// Importer fetches, verifies and expands; required.
	Importer *importer.Importer
	// ServeURL gives the address at which CloudStack gets a blob from the manager until the given time; nil leaves the
	// delivery mode Serve out. suffix has no dot.
	ServeURL func(d artifact.Digest, suffix string, expires time.Time) (string, error)
	// PublicHost tells whether CloudStack can be expected to reach a host by itself; nil asks the resolver of the manager.
	PublicHost func(ctx context.Context, host string) bool
	// Workers is how many imports run at the same time, Uploads how many uploads; 0 means 2.
	Workers, Uploads int
	// Concurrency is how many images are looked at at the same time; 0 means 10.
	Concurrency int
	// ZoneQueue is how many templates may be on their way into one zone at the same time; 0 means 8. A storage VM downloads
	// two at a time from one server, and the time to begin is limited.
	ZoneQueue int
	// WatchFilter, if not empty, is the value of the watch-filter label that an image must have.
	WatchFilter string
	// Deadlines bounds the stages of a delivery; zero fields take the defaults.
	Deadlines Deadlines
	// Clock is the real one if nil.
	Clock clock.Clock
	// Registerer takes the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
}

// Deadlines says how long CloudStack may take.
type Deadlines struct {
	// Start is the time from registration to the first byte; 0 means 30 minutes.
	Start time.Duration
	// Download is the time of the download; 0 means six hours.
	Download time.Duration
	// Install is the time from the last byte until the template is ready; 0 means an hour. CloudStack itself gives its
	// script a quarter of an hour for each GiB.
	Install time.Duration
	// Answer is how long a template may take to appear after a call to register it got no answer; 0 means 90 seconds.
	Answer time.Duration
	// Orphan is how long an upload that another life of the manager began may show no progress; 0 means 3 minutes. It must be
	// longer than the pause after which CloudStack looks at uploads, a minute by default.
	Orphan time.Duration
}

func (o *Options) complete() error {
	if o.Sessions == nil || o.Importer == nil {
		return errors.New("the image controller needs sessions and an importer")
	}
	setDefault(&o.Workers, 2)
	setDefault(&o.Uploads, 2)
	setDefault(&o.Concurrency, 10)
	setDefault(&o.ZoneQueue, 8)
	setDefault(&o.Deadlines.Start, 30*time.Minute)
	setDefault(&o.Deadlines.Download, 6*time.Hour)
	setDefault(&o.Deadlines.Install, time.Hour)
	setDefault(&o.Deadlines.Answer, 90*time.Second)
	setDefault(&o.Deadlines.Orphan, 3*time.Minute)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.PublicHost == nil {
		o.PublicHost = resolvesPublicly
	}
	return nil
}

func setDefault[T ~int | ~int64](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}
