package cloudstack

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// maxMemo bounds the answers that a session keeps.
const maxMemo = 1000

// memo shares the answers to questions that many objects ask at the same time: one asks, the others wait for it.
// Failures are not kept, nor more than maxMemo answers.
type memo struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	entries map[string]*memoEntry
}

type memoEntry struct {
	// turn admits one caller at a time; waiting for it ends with the caller's context.
	turn chan struct{}
	// made is when the question was first asked.
	made  time.Time
	asked time.Time
	value any
}

func newMemo(c clock.PassiveClock) *memo { return &memo{clock: c, entries: map[string]*memoEntry{}} }

// recall returns the answer to key if it was asked for less than maxAge ago, else asks again.
func recall[T any](ctx context.Context, m *memo, key string, maxAge time.Duration, ask func(context.Context) (T, error)) (T, error) {
	var zero T
	e := m.entry(key)
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return zero, &Error{Kind: Unavailable, Command: key, Text: "waiting for the answer to the same question", Err: ctx.Err()}
	}
	now := m.clock.Now()
	if kept, ok := e.value.(T); ok && now.Sub(e.asked) < maxAge {
		return kept, nil
	}
	got, err := ask(ctx)
	if err != nil {
		return zero, err
	}
	e.asked, e.value = now, got
	return got, nil
}

func (m *memo) entry(key string) *memoEntry {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[key]
	if e == nil {
		m.makeRoom()
		e = &memoEntry{turn: make(chan struct{}, 1), made: m.clock.Now()}
		m.entries[key] = e
	}
	return e
}

// makeRoom drops answers until there is room for one more, the oldest half at a time. Who waits for one still gets it.
func (m *memo) makeRoom() {
	if len(m.entries) < maxMemo {
		return
	}
	keys := slices.SortedFunc(maps.Keys(m.entries), func(a, b string) int { return m.entries[a].made.Compare(m.entries[b].made) })
	for _, key := range keys[:len(keys)/2+1] {
		delete(m.entries, key)
	}
}

// forget makes the next question for key ask the server.
func (m *memo) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
}

// forgetAll makes the next questions for keys that begin so ask the server.
func (m *memo) forgetAll(prefix string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.entries, func(key string, _ *memoEntry) bool { return strings.HasPrefix(key, prefix) })
}
