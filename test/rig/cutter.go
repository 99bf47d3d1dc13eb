package rig

import (
	"context"
	"errors"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var errCut = errors.New("the manager was killed here")

// Cutter fails a write of a client and all that come later, as when the manager is killed there.
type Cutter struct {
	// Left is how many writes come before; After lets the one that is cut take effect.
	Left  int
	After bool

	mu  sync.Mutex
	cut bool
}

// Wrap gives a client whose writes are cut.
func (c *Cutter) Wrap(inner client.WithWatch) client.Client {
	write := func(do func() error) error {
		now, dead := c.strike()
		switch {
		case !dead:
			return do()
		case now && c.After:
			return errors.Join(do(), errCut)
		}
		return errCut
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		Patch: func(ctx context.Context, k client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return write(func() error { return k.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, k client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return write(func() error { return k.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
}

// strike tells whether this is the write that is cut, and whether the manager is dead.
func (c *Cutter) strike() (now, dead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return false, true
	}
	c.Left--
	c.cut = c.Left < 0
	return c.cut, c.cut
}

// Dead tells whether the manager was killed.
func (c *Cutter) Dead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}
