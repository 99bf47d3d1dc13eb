package ordered

import (
	"context"
	"iter"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// maxWorkers bounds what is worked on at once, and with it the memory.
const maxWorkers = 8

// slot is a piece and the place of its result.
type slot[I, O any] struct {
	item   I
	result chan O
}

// Run calls work for every item, on all processors at once, and emit with the results in the order of the items, in the
// caller's goroutine. At most 16 results exist at a time. It ends with the first error of work or emit, or with that of
// the context, and never before all workers have returned.
func Run[I, O any](ctx context.Context, items iter.Seq[I], work func(I) (O, error), emit func(I, O) error) error {
	workers := min(runtime.GOMAXPROCS(0), maxWorkers)
	group, ctx := errgroup.WithContext(ctx)
	todo := make(chan slot[I, O])
	order := make(chan slot[I, O], workers)
	group.Go(func() error {
		defer close(todo)
		defer close(order)
		return feed(ctx, items, order, todo)
	})
	for range workers {
		group.Go(func() error {
			for s := range todo {
				out, err := work(s.item)
				if err != nil {
					return err
				}
				s.result <- out
			}
			return nil
		})
	}
	if fault := drain(ctx, order, emit); fault != nil {
		group.Go(func() error { return fault }) // which also stops the others
	}
	return group.Wait()
}

// feed gives every item a slot, in order, and to a worker.
func feed[I, O any](ctx context.Context, items iter.Seq[I], order, todo chan<- slot[I, O]) error {
	for item := range items {
		if ctx.Err() != nil {
			return context.Cause(ctx) // a select may take the other way as long as there is one
		}
		s := slot[I, O]{item: item, result: make(chan O, 1)}
		for _, to := range []chan<- slot[I, O]{order, todo} {
			select {
			case to <- s:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// drain hands the results on until there are no more, one cannot be handed on, or the context ends.
func drain[I, O any](ctx context.Context, order <-chan slot[I, O], emit func(I, O) error) error {
	for s := range order {
		select {
		case out := <-s.result:
			if err := emit(s.item, out); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
