package secondarystorage

import (
	"context"
	"sync"
)

// connectionsPerHost is how many connections the storage VM has to one host and port.
const connectionsPerHost = 2

// slots limit what happens at the same time per key. Who waited longest comes next.
type slots struct {
	perKey int
	mu     sync.Mutex
	keys   map[string]chan struct{}
}

// take waits for a slot. It fails only when ctx ends.
func (s *slots) take(ctx context.Context, key string) (func(), error) {
	s.mu.Lock()
	if s.keys == nil {
		s.keys = map[string]chan struct{}{}
	}
	c, ok := s.keys[key]
	if !ok {
		c = make(chan struct{}, s.perKey)
		s.keys[key] = c
	}
	s.mu.Unlock()
	select {
	case c <- struct{}{}:
		return sync.OnceFunc(func() { <-c }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
