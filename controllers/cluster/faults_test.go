package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
)

// faults are all that can happen to one call of a command. To a command that only reads it makes no difference whether a
// fault strikes before or after.
func faults(command string) []cloudsim.Fault {
	reads := strings.HasPrefix(command, "list") || strings.HasPrefix(command, "query")
	var all []cloudsim.Fault
	for _, kind := range []string{cloudsim.FaultReset, cloudsim.FaultError, cloudsim.Fault429} {
		all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseBefore, Kind: kind})
		if !reads {
			all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseAfter, Kind: kind})
		}
	}
	all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultReset})
	if !reads && command != "createNetwork" {
		all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultError},
			cloudsim.Fault{Command: command, Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultJob})
	}
	return all
}

// place is where the network of a cluster comes from.
var places = map[string]func(*world) []change{
	"made": func(*world) []change { return nil },
	"found": func(w *world) []change {
		w.network("found", natOffering)
		return []change{network(infrav1.Network{Name: "found"})}
	},
}

// commandsOf lists the commands of a whole life of a cluster.
func commandsOf(t *testing.T, changes func(*world) []change) []string {
	t.Helper()
	w := newWorld(t)
	changed := changes(w)
	from := len(w.sim.Journal())
	m := w.start(w.client)
	c := w.cluster("c", changed...)
	m.drive(c, ready)
	m.delete(c)
	var commands []string
	for _, e := range w.sim.Journal()[from:] {
		if !slices.Contains(commands, e.Command) {
			commands = append(commands, e.Command)
		}
	}
	return commands
}

// TestEveryCallFails fails every CloudStack call of a cluster's life once, before, during and after it took effect.
func TestEveryCallFails(t *testing.T) {
	points := 0
	for name, changes := range places {
		commands := commandsOf(t, changes)
		w := newWorld(t)
		changed := changes(w)
		before := w.made()
		for _, command := range commands {
			for _, fault := range faults(command) {
				points++
				cluster := fmt.Sprintf("%s-%d", name, points)
				t.Run(strings.Join([]string{name, fault.Command, fault.Phase, fault.Kind}, "/"), func(t *testing.T) {
					inner := *w
					inner.t = t
					inner.surviveFault(cluster, fault, changed, before)
				})
			}
		}
	}
	t.Logf("%d points were tried", points)
}

// surviveFault takes a cluster through its life with one fault, and checks that nothing is doubled, lost or stuck.
func (w *world) surviveFault(name string, fault cloudsim.Fault, changes []change, before made) {
	w.t.Helper()
	w.sim.ClearFaults()
	w.must(w.sim.AddFault(fault))
	m := w.start(w.client)
	defer m.stop()
	c := w.cluster(name, changes...)
	m.drive(c, ready)
	got, want := w.made(), whole
	want.Tags, got.Tags = 0, 0 // they are repaired later
	if got != want {
		w.t.Errorf("the cloud holds %+v, want %+v", got, want)
	}
	m.delete(c)
	w.wantMade(before)
}

var errCut = errors.New("the manager was killed here")

// cutter is a client that fails its nth write, before or after it took effect, and all that come later, as when the manager
// is killed there.
type cutter struct {
	mu    sync.Mutex
	left  int
	after bool
	cut   bool
}

func (c *cutter) wrap(inner client.WithWatch) client.Client {
	write := func(do func() error) error {
		was := c.dead()
		if !c.strikes() {
			return do()
		}
		if c.after && !was {
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

func (c *cutter) strikes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return true
	}
	c.left--
	c.cut = c.left < 0
	return c.cut
}

func (c *cutter) dead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

// TestKilledAtEveryWrite kills the manager at every write of a cluster's life, before and after the write took effect.
func TestKilledAtEveryWrite(t *testing.T) {
	for name, changes := range places {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%t", name, after), func(t *testing.T) {
				w := newWorld(t)
				changed := changes(w)
				before := w.made()
				for n := range 60 {
					if w.surviveKill(fmt.Sprintf("%s-%d", name, n), &cutter{left: n, after: after}, changed, before) {
						t.Logf("%d points were tried", n)
						return
					}
				}
				t.Error("a cluster needs more than 60 writes")
			})
		}
	}
}

// surviveKill tells whether the life ended before the cut.
func (w *world) surviveKill(name string, k *cutter, changes []change, before made) bool {
	w.t.Helper()
	first := w.start(k.wrap(w.client))
	c := w.cluster(name, changes...)
	first.drive(c, func(c *infrav1.CloudStackCluster) bool { return k.dead() || ready(c) })
	if !k.dead() {
		w.must(w.client.Delete(w.t.Context(), c.DeepCopy()))
		first.drive(c, func(c *infrav1.CloudStackCluster) bool { return k.dead() || c == nil })
	}
	first.stop()
	if !k.dead() {
		w.wantMade(before)
		return true
	}
	second := w.start(w.client)
	defer second.stop()
	if now := w.get(c); now != nil && now.DeletionTimestamp.IsZero() {
		second.drive(c, ready)
		got, want := w.made(), whole
		want.Tags, got.Tags = 0, 0
		if got != want {
			w.t.Errorf("%s: the cloud holds %+v, want %+v", name, got, want)
		}
	}
	second.delete(c)
	if got := w.made(); got != before {
		w.t.Errorf("%s: the cloud holds %+v, want %+v", name, got, before)
	}
	return false
}

// TestTwoManagers lets two managers work on one cluster at the same time, each believing to be alone.
func TestTwoManagers(t *testing.T) {
	for round := range 3 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := newWorld(t)
			c := w.cluster("c")
			managers := []*manager{w.start(w.client), w.start(w.client)}
			for range maxSteps {
				var wg sync.WaitGroup
				for _, m := range managers {
					m.poll()
					wg.Go(func() { _, _ = m.once(c) })
				}
				wg.Wait()
				w.clock.Step(2e9)
				if ready(w.get(c)) {
					break
				}
			}
			managers[0].drive(c, ready)
			if got := w.made(); got.Networks != 1 || got.Addresses != 1 || got.Balancers != 1 || got.Firewall != 1 || got.Egress != 1 {
				t.Errorf("the cloud holds %+v", got)
			}
			managers[0].delete(c)
			w.wantMade(made{})
		})
	}
}
