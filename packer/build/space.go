package build

import (
	"context"
	"fmt"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	// leastFreeBytes is what must stay free while the machine runs, spaceInterval how often that is looked at.
	leastFreeBytes = 256 << 20
	spaceInterval  = time.Second
)

// enoughSpace asks for the space of a whole build before it begins.
func (p plan) enoughSpace() error {
	free, err := freeBytes(p.Dir)
	if err != nil {
		return fmt.Errorf("asking for the free space: %w", err)
	}
	if free < p.MinFreeBytes {
		return artifact.NewError(artifact.NoSpace, fmt.Sprintf("a build needs about %.1f GiB in %s, and %.1f GiB are free", gib(p.MinFreeBytes), p.Dir, gib(free)))
	}
	return nil
}

// watchSpace stops a run before the disk is full, because QEMU would only pause its machine then and Packer would wait for ever. It
// looks at each tick and returns when the context ends.
func watchSpace(ctx context.Context, tick <-chan time.Time, free func() (int64, error), stop context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		if left, err := free(); err == nil && left < leastFreeBytes {
			stop(artifact.NewError(artifact.NoSpace, fmt.Sprintf("the disk is full but for %d MiB", left>>20)))
			return
		}
	}
}

func gib(bytes int64) float64 { return float64(bytes) / (1 << 30) }
