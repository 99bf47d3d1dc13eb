package machinetemplate

import (
	"errors"

	"k8s.io/utils/clock"

	"github.com/capcat/capcat/controllers/cloudstack"
)

// Options is what the controller works with.
type Options struct {
	// Sessions speaks to CloudStack, to learn what service offerings have; required.
	Sessions *cloudstack.Sessions
	// Concurrency is how many templates are looked at at the same time; 0 means 4.
	Concurrency int
	// WatchFilter, if not empty, is the value of the watch-filter label that a template must have.
	WatchFilter string
	// Clock is the real one if nil.
	Clock clock.PassiveClock
}

func (o *Options) complete() error {
	if o.Sessions == nil {
		return errors.New("the controller of machine templates needs sessions")
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 4
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return nil
}
