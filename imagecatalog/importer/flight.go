package importer

import (
	"context"
	"sync"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// outcome is how a run ended.
type outcome struct {
	result Result
	reused bool
	err    error
}

// flight is one run that several callers wait for.
type flight struct {
	cancel context.CancelFunc
	done   chan struct{}
	out    outcome

	mu      sync.Mutex
	last    Progress
	waiting map[int]func(Progress)
	next    int
}

// share joins the flight of that name, or starts it. The last caller to leave stops it and waits until it has stopped.
func (i *Importer) share(ctx context.Context, name string, progress func(Progress), work func(context.Context, func(Progress)) outcome) outcome {
	f, seat := i.board(ctx, name, progress, work)
	select {
	case <-f.done:
		f.leave(seat)
		return f.out
	case <-ctx.Done():
	}
	if i.disembark(name, f, seat) {
		<-f.done
	}
	return outcome{err: artifact.WrapError(artifact.Canceled, "the import was stopped", context.Cause(ctx))}
}

func (i *Importer) board(ctx context.Context, name string, progress func(Progress), work func(context.Context, func(Progress)) outcome) (*flight, int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if f := i.flights[name]; f != nil {
		return f, f.join(progress)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{cancel: cancel, done: make(chan struct{}), waiting: map[int]func(Progress){}}
	i.flights[name] = f
	seat := f.join(progress)
	go func() {
		defer cancel()
		f.out = work(ctx, f.report)
		i.forget(name, f)
		close(f.done)
	}()
	return f, seat
}

// disembark leaves a flight; true when nobody is left and it was told to stop.
func (i *Importer) disembark(name string, f *flight, seat int) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if f.leave(seat) > 0 {
		return false
	}
	f.cancel()
	if i.flights[name] == f {
		delete(i.flights, name)
	}
	return true
}

func (i *Importer) forget(name string, f *flight) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.flights[name] == f {
		delete(i.flights, name)
	}
}

// join takes a seat and tells the newcomer where the flight is.
func (f *flight) join(progress func(Progress)) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if progress == nil {
		progress = func(Progress) {}
	}
	if f.last.Phase != "" {
		progress(f.last)
	}
	f.next++
	f.waiting[f.next] = progress
	return f.next
}

func (f *flight) leave(seat int) (left int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.waiting, seat)
	return len(f.waiting)
}

func (f *flight) report(p Progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = p
	for _, tell := range f.waiting {
		tell(p)
	}
}
