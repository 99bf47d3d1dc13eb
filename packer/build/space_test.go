package build

import (
	"context"
	"testing"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// A disk that fills up ends the run with the code of a full disk, and a run that ends takes the watch with it.
func TestSpaceIsWatched(t *testing.T) {
	for name, c := range map[string]struct {
		left []int64 // at each look
		full bool
	}{
		"enough": {left: []int64{10 << 30, 5 << 30, leastFreeBytes}},
		"full":   {left: []int64{10 << 30, leastFreeBytes - 1}, full: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			tick, ended := make(chan time.Time), make(chan struct{})
			looks := 0
			go func() {
				defer close(ended)
				watchSpace(ctx, tick, func() (int64, error) {
					looks++
					return c.left[looks-1], nil
				}, stop)
			}()
			for range c.left {
				tick <- time.Time{}
			}
			if !c.full {
				stop(nil)
			}
			<-ended
			if got := artifact.CodeOf(context.Cause(ctx)); (got == artifact.NoSpace) != c.full {
				t.Errorf("the run ended with %q", got)
			}
		})
	}
}
