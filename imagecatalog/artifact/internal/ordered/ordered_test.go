package ordered

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
)

func numbers(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func TestOrder(t *testing.T) {
	for _, n := range []int{0, 1, 7, 1000} {
		var got []int
		err := Run(t.Context(), numbers(n), func(i int) (int, error) { return i * 2, nil }, func(i, out int) error {
			if out != i*2 {
				t.Errorf("%d came with %d", i, out)
			}
			got = append(got, i)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, slices.Collect(numbers(n))) && n > 0 {
			t.Errorf("%d items came as %v", n, got)
		}
	}
}

func TestStops(t *testing.T) {
	fault := errors.New("fault")
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(fault)
	cases := map[string]struct {
		ctx  context.Context
		work func(int) (int, error)
		emit func(int, int) error
	}{
		"work fails": {t.Context(), func(i int) (int, error) {
			if i == 500 {
				return 0, fault
			}
			return i, nil
		}, func(int, int) error { return nil }},
		"emit fails": {t.Context(), func(i int) (int, error) { return i, nil }, func(i, _ int) error {
			if i == 500 {
				return fault
			}
			return nil
		}},
		"context has ended": {cancelled, func(i int) (int, error) { return i, nil }, func(int, int) error { return nil }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var running atomic.Int32
			err := Run(c.ctx, numbers(1_000_000), func(i int) (int, error) {
				running.Add(1)
				defer running.Add(-1)
				return c.work(i)
			}, c.emit)
			if !errors.Is(err, fault) {
				t.Errorf("ended with %v", err)
			}
			if n := running.Load(); n != 0 {
				t.Errorf("%d workers are still running", n)
			}
		})
	}
}
