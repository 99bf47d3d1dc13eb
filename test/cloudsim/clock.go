package cloudsim

import (
	"container/heap"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// ManualClock is a clock that moves only when told to. It is safe for concurrent use.
type ManualClock struct {
	mu  sync.Mutex
	now time.Time
	clock.PassiveClock
}

// NewManualClock starts a clock at t.
func NewManualClock(t time.Time) *ManualClock { return &ManualClock{now: t} }

// Now returns the time that the clock shows.
func (m *ManualClock) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Since returns the time that has passed since t.
func (m *ManualClock) Since(t time.Time) time.Duration { return m.Now().Sub(t) }

// Step moves the clock forward; a negative d is ignored.
func (m *ManualClock) Step(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(max(d, 0))
}

// event is work that becomes due at a moment.
type event struct {
	at  time.Time
	seq int
	run func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *eventHeap) Push(x any) {
	if e, ok := x.(event); ok {
		*h = append(*h, e)
	}
}

// Pop implements heap.Interface.
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

// timeline runs events in order of their time. Nothing runs by itself: catchUp is called before each request is looked at,
// so every observer sees what would have happened by then, whatever moves the clock.
type timeline struct {
	clock   clock.PassiveClock
	pending eventHeap
	seq     int
	moment  time.Time // while an event runs, the time at which it was due
}

func (t *timeline) now() time.Time {
	if !t.moment.IsZero() {
		return t.moment
	}
	return t.clock.Now()
}

func (t *timeline) after(d time.Duration, run func()) {
	t.seq++
	heap.Push(&t.pending, event{at: t.now().Add(d), seq: t.seq, run: run})
}

// catchUp runs what is due by the clock.
func (t *timeline) catchUp() {
	now := t.clock.Now()
	for len(t.pending) > 0 && !t.pending[0].at.After(now) {
		e, ok := heap.Pop(&t.pending).(event)
		if !ok {
			return
		}
		t.moment = e.at
		e.run()
		t.moment = time.Time{}
	}
}
