package publish_test

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// hasty is a clock whose timers are over at once; it remembers how long they were to be. What is to be done after a time is done on demand.
type hasty struct {
	clock.RealClock
	mu    sync.Mutex
	waits []time.Duration
	late  func()
}

// NewTimer gives a timer that has ended.
func (h *hasty) NewTimer(d time.Duration) clock.Timer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits = append(h.waits, d)
	return h.RealClock.NewTimer(0)
}

// AfterFunc remembers what is to be done.
func (h *hasty) AfterFunc(d time.Duration, f func()) clock.Timer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.late = f
	return h.RealClock.AfterFunc(d, f)
}

// beLate does what was to be done last.
func (h *hasty) beLate() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.late()
}
