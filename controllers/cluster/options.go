package cluster

import (
	"errors"
	"time"

	"k8s.io/utils/clock"

	"github.com/capcat/capcat/controllers/cloudstack"
)

// Options is what the controller works with.
type Options struct {
	// Sessions speaks to CloudStack; required. Whoever makes it also starts it.
	Sessions *cloudstack.Sessions
	// Concurrency is how many clusters are looked at at the same time; 0 means 4. None of them waits for CloudStack's jobs.
	Concurrency int
	// WatchFilter, if not empty, is the value of the watch-filter label that a cluster must have.
	WatchFilter string
	// Answer is how long a thing may take to appear after the call that makes it got no answer; 0 means 90 seconds.
	Answer time.Duration
	// Clock is the real one if nil.
	Clock clock.PassiveClock
}

func (o *Options) complete() error {
	if o.Sessions == nil {
		return errors.New("the cluster controller needs sessions")
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 4
	}
	if o.Answer <= 0 {
		o.Answer = 90 * time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return nil
}
