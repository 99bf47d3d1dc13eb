package publish_test

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// hasty is a clock whose timers are over at once; it remembers how long they were to be.
type hasty struct {
	clock.RealClock
	mu    sync.Mutex
	waits []time.Duration
}

// NewTimer gives a timer that has ended.
func (h *hasty) NewTimer(d time.Duration) clock.Timer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits = append(h.waits, d)
	return h.RealClock.NewTimer(0)
}
