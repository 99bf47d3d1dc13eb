package step

import "context"

// Func is one phase of a reconcile. It may run any number of times: a phase that finds its work done returns nil.
// Facts that later phases or the status need go into s, never into the reconciler.
type Func[S any] func(ctx context.Context, s S) error

// Run calls the phases in order and stops at the first that returns an error, which it hands back unchanged.
// A context that has ended stops it before the next phase.
func Run[S any](ctx context.Context, s S, phases ...Func[S]) error {
	for _, phase := range phases {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := phase(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
