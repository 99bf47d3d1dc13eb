package catalog

import (
	"errors"

	"k8s.io/utils/clock"

	"github.com/capcat/capcat/controllers/cloudstack"
)

// Options is what the controller works with.
type Options struct {
	// Sessions speaks to CloudStack, to learn the hypervisors of zones; required.
	Sessions *cloudstack.Sessions
	// Concurrency is how many catalogs are looked at at the same time; 0 means 4.
	Concurrency int
	// WatchFilter, if not empty, is the value of the watch-filter label that a catalog must have.
	WatchFilter string
	// Clock is the real one if nil.
	Clock clock.PassiveClock
}

func (o *Options) complete() error {
	if o.Sessions == nil {
		return errors.New("the catalog controller needs sessions")
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 4
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return nil
}
