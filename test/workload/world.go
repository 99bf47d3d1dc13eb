package workload

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/capcat/capcat/test/cloudsim"
)

// Options of New. The zero value is the in-memory tier with times that are a fraction of a real machine's.
type Options struct {
	// Boot is how long a machine takes until its cloud-init runs; default 1 s.
	Boot time.Duration
	// Patience is how long kubeadm tries to reach the API; default 4 min, as kubeadm has it.
	Patience time.Duration
	// Beat is how often a kubelet reports, and how often the control plane looks; default 1 s.
	Beat time.Duration
	// Grace is how long a kubelet may be silent until its Node is NotReady; default 10 s.
	Grace time.Duration
	// KeepNodes leaves Nodes whose machine is destroyed to others. By default they leave as with a cloud controller manager: once they
	// are NotReady.
	KeepNodes bool
	// Tier runs the control planes; nil means in memory.
	Tier Tier
	// Log receives what an operator would read; the zero value discards it.
	Log logr.Logger
}

func (o *Options) complete() error {
	for d, byDefault := range map[*time.Duration]time.Duration{&o.Boot: time.Second, &o.Patience: 4 * time.Minute, &o.Beat: time.Second, &o.Grace: 10 * time.Second} {
		if *d == 0 {
			*d = byDefault
		}
		if *d < 0 {
			return errors.New("a time is negative")
		}
	}
	if o.Log.IsZero() {
		o.Log = logr.Discard()
	}
	return nil
}

// World is all machines with what runs in them. It implements cloudsim.Guests.
type World struct {
	opts   Options
	tier   Tier
	ctx    context.Context // of everything that runs in machines
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex // guards all below; no call that may block is made while it is held
	guests   map[string]*guest
	clusters map[string]*cluster       // by the UID of kube-system
	vips     map[netip.AddrPort]*guest // who holds an address that machines claim
}

var _ cloudsim.Guests = (*World)(nil)

// New returns a world without machines. Close it when done.
func New(o Options) (*World, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	w := &World{opts: o, tier: o.Tier, guests: map[string]*guest{}, clusters: map[string]*cluster{}, vips: map[netip.AddrPort]*guest{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	if w.tier == nil {
		t, err := newMemoryTier(w.ctx, o.Log)
		if err != nil {
			w.cancel()
			return nil, err
		}
		w.tier = t
	}
	return w, nil
}

// Close takes the power from all machines and waits until nothing runs any more.
func (w *World) Close() error {
	w.cancel()
	w.mu.Lock()
	for _, g := range w.guests {
		g.powerOff()
	}
	w.mu.Unlock()
	w.wg.Wait()
	return w.tier.Close()
}

// Start implements cloudsim.Guests.
func (w *World) Start(m cloudsim.Guest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return
	}
	g, ok := w.guests[m.ID]
	if !ok {
		g = newGuest(w, m)
		w.guests[m.ID] = g
	}
	g.powerOff()
	g.powerOn(m)
}

// Stop implements cloudsim.Guests.
func (w *World) Stop(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g, ok := w.guests[id]; ok {
		g.powerOff()
	}
}

// Discard implements cloudsim.Guests.
func (w *World) Discard(id string, expunged bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g, ok := w.guests[id]
	if !ok {
		return
	}
	g.discard(expunged)
}

// Dial implements cloudsim.Guests.
func (w *World) Dial(ctx context.Context, id string, number int) (net.Conn, error) {
	g := w.guest(id)
	if g == nil {
		return nil, fmt.Errorf("dialling port %d: %w", number, errNoPower)
	}
	return g.dial(ctx, number)
}

// Serves implements cloudsim.Guests.
func (w *World) Serves(id string) []netip.AddrPort {
	g := w.guest(id)
	if g == nil {
		return nil
	}
	return g.serves()
}

// Console implements cloudsim.Guests.
func (w *World) Console(id string) (string, bool) {
	g := w.guest(id)
	if g == nil {
		return "", false
	}
	return g.console.text(), true
}

func (w *World) guest(id string) *guest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.guests[id]
}

// cluster finds a cluster by the UID of its namespace kube-system, which is how its machines know it too.
func (w *World) cluster(uid string) *cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clusters[uid]
}

func (w *World) addCluster(c *cluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clusters[c.uid] = c
}

func (w *World) dropCluster(c *cluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.clusters, c.uid)
}
