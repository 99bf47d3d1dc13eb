package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// DefaultWorkers is how many tasks run at the same time when Options does not say.
const DefaultWorkers = 2

// Phase is where a task stands.
type Phase int

// The phases of a task.
const (
	// Absent: there is no task for the key.
	Absent Phase = iota
	// Queued: it waits for a worker.
	Queued
	// Running: it is at work.
	Running
	// Done: it has ended; Value and Err hold the outcome.
	Done
)

// State is what is known of a task. P is the type of its progress, R of its result.
type State[P, R any] struct {
	Phase Phase
	// Progress is the latest report; the zero value before the first.
	Progress P
	// Value and Err are the outcome of a task that is Done.
	Value R
	Err   error
}

// Work is what a task does. It must end soon after ctx has ended. report may be called as often as is convenient; wake asks
// for the object to be looked at because of it.
type Work[P, R any] func(ctx context.Context, report func(p P, wake bool)) (R, error)

// Runner runs at most one task for each key. Its methods never block.
type Runner[K comparable, P, R any] struct {
	wake  func(K)
	slots chan struct{}

	mu    sync.Mutex
	tasks map[K]*run[P, R]
	root  context.Context
	stop  context.CancelFunc
	wg    sync.WaitGroup
}

type run[P, R any] struct {
	fingerprint string
	cancel      context.CancelFunc
	state       State[P, R]
}

// Options bounds a Runner.
type Options[K comparable] struct {
	// Workers is how many tasks run at a time; 0 means DefaultWorkers.
	Workers int
	// Wake is called, from another goroutine and without locks held, when a task has ended or asks for it.
	Wake func(K)
}

// NewRunner makes a Runner. Stop ends it.
func NewRunner[K comparable, P, R any](o Options[K]) *Runner[K, P, R] {
	if o.Workers <= 0 {
		o.Workers = DefaultWorkers
	}
	if o.Wake == nil {
		o.Wake = func(K) {}
	}
	root, stop := context.WithCancel(context.Background())
	return &Runner[K, P, R]{
		wake: o.Wake, slots: make(chan struct{}, o.Workers), tasks: map[K]*run[P, R]{}, root: root, stop: stop,
	}
}

// Ensure sees to it that a task runs for the key and tells where it stands. A task with another fingerprint is cancelled
// and replaced: the fingerprint must tell apart all that work depends on. The values of ctx, such as its logger, reach the
// task; its end does not. An outcome stays until Cancel.
func (r *Runner[K, P, R]) Ensure(ctx context.Context, key K, fingerprint string, work Work[P, R]) State[P, R] {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.tasks[key]; t != nil {
		if t.fingerprint == fingerprint {
			return t.state
		}
		t.cancel()
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := &run[P, R]{fingerprint: fingerprint, cancel: cancel, state: State[P, R]{Phase: Queued}}
	r.tasks[key] = t
	if r.root.Err() != nil {
		cancel()
	}
	r.wg.Go(func() {
		defer cancel()
		unlink := context.AfterFunc(r.root, cancel)
		defer unlink()
		r.execute(ctx, key, t, work)
	})
	return t.state
}

// State tells where the task of the key stands without starting one.
func (r *Runner[K, P, R]) State(key K) State[P, R] {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.tasks[key]; t != nil {
		return t.state
	}
	return State[P, R]{}
}

// Cancel ends and forgets the task of the key, whatever its phase. It does not wait for the work to return.
func (r *Runner[K, P, R]) Cancel(key K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.tasks[key]; t != nil {
		t.cancel()
		delete(r.tasks, key)
	}
}

// Idle tells whether a new task would find a worker at once.
func (r *Runner[K, P, R]) Idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := 0
	for _, t := range r.tasks {
		if t.state.Phase != Done {
			busy++
		}
	}
	return busy < cap(r.slots)
}

// Stop cancels all tasks and returns when their work has returned.
func (r *Runner[K, P, R]) Stop() {
	r.stop()
	r.wg.Wait()
}

// Start waits for the context and then stops all tasks. It makes Runner a manager.Runnable.
func (r *Runner[K, P, R]) Start(ctx context.Context) error {
	<-ctx.Done()
	r.Stop()
	return nil
}

func (r *Runner[K, P, R]) execute(ctx context.Context, key K, t *run[P, R], work Work[P, R]) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		r.end(key, t, *new(R), ctx.Err())
		return
	}
	// Both may have been ready.
	if err := ctx.Err(); err != nil {
		r.end(key, t, *new(R), err)
		return
	}
	r.update(t, func(s *State[P, R]) { s.Phase = Running })
	value, err := guard(ctx, work, func(p P, wake bool) {
		r.update(t, func(s *State[P, R]) { s.Progress = p })
		if wake && ctx.Err() == nil {
			r.wake(key)
		}
	})
	r.end(key, t, value, err)
}

// guard turns a panic of the work into an error: bytes from outside must not end the manager.
func guard[P, R any](ctx context.Context, work Work[P, R], report func(P, bool)) (value R, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, fmt.Errorf("the work panicked: %v\n%s", p, debug.Stack()))
		}
	}()
	return work(ctx, report)
}

func (r *Runner[K, P, R]) update(t *run[P, R], change func(*State[P, R])) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&t.state)
}

// end records the outcome and wakes the object, unless the task was replaced or cancelled meanwhile.
func (r *Runner[K, P, R]) end(key K, t *run[P, R], value R, err error) {
	r.mu.Lock()
	t.state.Phase, t.state.Value, t.state.Err = Done, value, err
	current := r.tasks[key] == t
	r.mu.Unlock()
	if current && r.root.Err() == nil {
		r.wake(key)
	}
}
