package cluster_test

import (
	"fmt"
	"sync"
	"testing"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/faults"
	"github.com/capcat/capcat/test/rig"
)

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
	from := len(w.Sim.Journal())
	m := w.start(w.Client)
	c := w.cluster("c", changed...)
	m.Drive(c, ready)
	m.delete(c)
	return w.Commands(from)
}

// TestEveryCallFails fails every CloudStack call of a cluster's life once, before, during and after it took effect.
func TestEveryCallFails(t *testing.T) {
	tried, points := 0, 0
	for name, changes := range places {
		all := faults.Points(commandsOf(t, changes))
		points += len(all)
		w := newWorld(t)
		changed := changes(w)
		before := w.made()
		for _, p := range faults.Select(all) {
			tried++
			cluster := fmt.Sprintf("%s-%d", name, tried)
			t.Run(name+"/"+p.String(), func(t *testing.T) {
				inner := *w
				inner.T = t
				inner.surviveFault(cluster, p.Fault, changed, before)
			})
		}
	}
	faults.Tell(t, fmt.Sprintf("%d of %d points were tried at a cluster", tried, points))
}

// surviveFault takes a cluster through its life with one fault, and checks that nothing is doubled, lost or stuck.
func (w *world) surviveFault(name string, fault cloudsim.Fault, changes []change, before made) {
	w.T.Helper()
	w.Sim.ClearFaults()
	w.Must(w.Sim.AddFault(fault))
	m := w.start(w.Client)
	defer m.Stop()
	c := w.cluster(name, changes...)
	m.Drive(c, ready)
	got, want := w.made(), whole
	want.Tags, got.Tags = 0, 0 // they are repaired later
	if got != want {
		w.T.Errorf("the cloud holds %+v, want %+v", got, want)
	}
	m.delete(c)
	w.wantMade(before)
}

// TestKilledAtEveryWrite kills the manager at every write of a cluster's life, before and after the write took effect.
func TestKilledAtEveryWrite(t *testing.T) {
	for name, changes := range places {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%t", name, after), func(t *testing.T) {
				w := newWorld(t)
				changed := changes(w)
				before := w.made()
				for n := 0; n < 60; n += faults.Every(3) {
					if w.surviveKill(fmt.Sprintf("%s-%d", name, n), &rig.Cutter{Left: n, After: after}, changed, before) {
						faults.Tell(t, fmt.Sprintf("every %d. of %d writes of a cluster was tried", faults.Every(3), n))
						return
					}
				}
				t.Error("a cluster needs more than 60 writes")
			})
		}
	}
}

// surviveKill tells whether the life ended before the cut.
func (w *world) surviveKill(name string, k *rig.Cutter, changes []change, before made) bool {
	w.T.Helper()
	first := w.start(k.Wrap(w.Client))
	c := w.cluster(name, changes...)
	first.Drive(c, func(c *infrav1.CloudStackCluster) bool { return k.Dead() || ready(c) })
	if !k.Dead() {
		w.Must(w.Client.Delete(w.T.Context(), c.DeepCopy()))
		first.Drive(c, func(c *infrav1.CloudStackCluster) bool { return k.Dead() || c == nil })
	}
	first.Stop()
	if !k.Dead() {
		w.wantMade(before)
		return true
	}
	second := w.start(w.Client)
	defer second.Stop()
	if now := w.get(c); now != nil && now.DeletionTimestamp.IsZero() {
		second.Drive(c, ready)
		got, want := w.made(), whole
		want.Tags, got.Tags = 0, 0
		if got != want {
			w.T.Errorf("%s: the cloud holds %+v, want %+v", name, got, want)
		}
	}
	second.delete(c)
	if got := w.made(); got != before {
		w.T.Errorf("%s: the cloud holds %+v, want %+v", name, got, before)
	}
	return false
}

// TestTwoManagers lets two managers work on one cluster at the same time, each believing to be alone.
func TestTwoManagers(t *testing.T) {
	for round := range 3 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := newWorld(t)
			c := w.cluster("c")
			managers := []*manager{w.start(w.Client), w.start(w.Client)}
			for range rig.MaxSteps {
				var wg sync.WaitGroup
				for _, m := range managers {
					m.Poll()
					wg.Go(func() { _, _ = m.Once(c) })
				}
				wg.Wait()
				w.Clock.Step(2e9)
				if ready(w.get(c)) {
					break
				}
			}
			managers[0].Drive(c, ready)
			if got := w.made(); got.Networks != 1 || got.Addresses != 1 || got.Balancers != 1 || got.Firewall != 1 || got.Egress != 1 {
				t.Errorf("the cloud holds %+v", got)
			}
			managers[0].delete(c)
			w.wantMade(made{})
		})
	}
}
