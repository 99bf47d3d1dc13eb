package machine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
	for _, kind := range []string{cloudsim.FaultReset, cloudsim.FaultError, cloudsim.Fault502, cloudsim.Fault401, cloudsim.Fault429} {
		all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseBefore, Kind: kind})
		if !reads {
			all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseAfter, Kind: kind})
		}
	}
	all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultReset})
	if !reads {
		all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultError},
			cloudsim.Fault{Command: command, Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultJob})
	}
	return all
}

// lifeOf is the kind of machine whose life has every call.
func lifeOf(p *pair) {
	controlPlane(p)
	p.infra.Spec.Affinity = infrav1.AffinitySoftAnti
}

// commandsOf lists the commands of a whole life of a machine.
func commandsOf(w *world) []string {
	w.t.Helper()
	before := len(w.sim.Journal())
	m := w.start(w.client)
	cm := w.machine("pattern", lifeOf)
	m.drive(cm, ready)
	m.delete(cm)
	m.stop()
	var commands []string
	for _, e := range w.sim.Journal()[before:] {
		if !slices.Contains(commands, e.Command) {
			commands = append(commands, e.Command)
		}
	}
	return commands
}

// TestEveryCallFails fails every CloudStack call of a machine's life once, before, during and after it took effect.
func TestEveryCallFails(t *testing.T) {
	w := newWorld(t)
	w.balancer(6443)
	points := 0
	for _, command := range commandsOf(w) {
		for _, fault := range faults(command) {
			points++
			name := fmt.Sprintf("cp-%d", points)
			t.Run(strings.Join([]string{fault.Command, fault.Phase, fault.Kind}, "/"), func(t *testing.T) {
				inner := *w
				inner.t = t
				inner.surviveFault(name, fault)
			})
		}
	}
	t.Logf("%d points were tried", points)
}

// surviveFault takes a machine through its life with one fault, and checks that nothing is doubled, lost or stuck.
func (w *world) surviveFault(name string, fault cloudsim.Fault) {
	w.t.Helper()
	w.sim.ClearFaults()
	w.must(w.sim.AddFault(fault))
	m := w.start(w.client)
	defer m.stop()
	cm := w.machine(name, lifeOf)
	got := m.drive(cm, ready)
	w.wantVMs(1)
	for _, rule := range got.Status.LoadBalancerRuleIDs {
		if members := w.members(rule); len(members) != 1 || members[0] != got.Status.InstanceID {
			w.t.Errorf("members %v, want %s", members, got.Status.InstanceID)
		}
	}
	m.delete(cm)
	w.wantVMs(0)
	w.sim.ClearFaults()
}

var errCut = errors.New("the manager was killed here")

// cutter is a client that fails its nth write, before or after it took effect, and every later one, as when the manager is
// killed there.
type cutter struct {
	mu    sync.Mutex
	left  int
	after bool
	cut   bool
}

func (c *cutter) strikes() (now, dead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return false, true
	}
	c.left--
	c.cut = c.left < 0
	return c.cut, c.cut
}

func (c *cutter) dead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

func (c *cutter) wrap(inner client.WithWatch) client.Client {
	write := func(do func() error) error {
		now, dead := c.strikes()
		switch {
		case !dead:
			return do()
		case now && c.after:
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

// TestKilledAtEveryWrite kills the manager at every write of a machine's life, before and after the write took effect.
// As every call to CloudStack stands between two writes, that is after every call, too.
func TestKilledAtEveryWrite(t *testing.T) {
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("after=%t", after), func(t *testing.T) {
			w := newWorld(t)
			w.balancer(6443)
			for n := range 60 {
				inner := *w
				inner.t = t
				if survived := inner.surviveKill(fmt.Sprintf("cp-%d", n), &cutter{left: n, after: after}); survived {
					t.Logf("%d points were tried", n)
					return
				}
			}
			t.Error("a machine needs more than 60 writes")
		})
	}
}

// surviveKill tells whether the life ended before the cut.
func (w *world) surviveKill(name string, c *cutter) bool {
	w.t.Helper()
	first := w.start(c.wrap(w.client))
	cm := w.machine(name, lifeOf)
	first.drive(cm, func(cm *infrav1.CloudStackMachine) bool { return c.dead() || ready(cm) })
	if !c.dead() {
		w.must(w.client.Delete(w.t.Context(), w.get(cm)))
		first.drive(cm, func(cm *infrav1.CloudStackMachine) bool { return c.dead() || cm == nil })
	}
	first.stop()
	if !c.dead() {
		w.wantVMs(0)
		return true
	}
	second := w.start(w.client)
	defer second.stop()
	if now := w.get(cm); now != nil && now.DeletionTimestamp.IsZero() {
		second.drive(cm, ready)
		w.wantVMs(1)
		second.delete(cm)
	} else if now != nil {
		second.drive(cm, gone)
	}
	w.wantVMs(0)
	return false
}

// TestNewManagerAtEveryReconcile forgets everything in memory after each reconcile.
func TestNewManagerAtEveryReconcile(t *testing.T) {
	w := newWorld(t)
	w.balancer(6443)
	cm := w.machine("cp", lifeOf)
	for range maxSteps {
		m := w.start(w.client)
		_, _ = m.once(cm)
		m.poll()
		_, _ = m.once(cm)
		m.stop()
		now := w.get(cm)
		if now == nil {
			break
		}
		if ready(now) && now.DeletionTimestamp.IsZero() {
			w.wantVMs(1)
			w.must(w.client.Delete(t.Context(), now))
		}
		w.clock.Step(3 * time.Second)
	}
	if w.get(cm) != nil {
		t.Errorf("the machine is still there: %+v", w.get(cm).Status)
	}
	w.wantVMs(0)
	if n := w.calls("deployVirtualMachine"); n != 1 {
		t.Errorf("%d calls of deployVirtualMachine, want 1", n)
	}
}

// TestTwoManagers lets two managers work on the same machine at the same time, each believing to be alone.
func TestTwoManagers(t *testing.T) {
	w := newWorld(t)
	w.balancer(6443)
	for round := range 5 {
		cm := w.machine(fmt.Sprintf("cp-%d", round), controlPlane)
		managers := []*manager{w.start(w.client), w.start(w.client)}
		for range maxSteps {
			var wg sync.WaitGroup
			for _, m := range managers {
				wg.Go(func() {
					m.poll()
					_, _ = m.once(cm)
				})
			}
			wg.Wait()
			w.clock.Step(2 * time.Second)
			if ready(w.get(cm)) {
				break
			}
		}
		w.wantVMs(1)
		if n := w.calls("deployVirtualMachine"); n != round+1 {
			t.Errorf("%d calls of deployVirtualMachine after %d machines", n, round+1)
		}
		managers[0].delete(cm)
		w.wantVMs(0)
		for _, m := range managers {
			m.stop()
		}
	}
}

// TestFailedDeploymentIsClearedAway: a VM in Error is destroyed before the next try, and the machine gets one that runs.
func TestFailedDeploymentIsClearedAway(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.client)
	w.must(w.sim.AddFault(cloudsim.Fault{Command: "deployVirtualMachine", Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultJob}))
	cm := w.machine("worker")
	m.drive(cm, ready)
	w.wantVMs(1)
	m.delete(cm)
	w.wantVMs(0)
}
