package machine_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/faults"
	"github.com/capcat/capcat/test/rig"
)

// lifeOf is the kind of machine whose life has every call.
func lifeOf(p *pair) {
	controlPlane(p)
	p.infra.Spec.Affinity = infrav1.AffinitySoftAnti
}

// commandsOf lists the commands of a whole life of a machine.
func commandsOf(w *world) []string {
	w.T.Helper()
	before := len(w.Sim.Journal())
	m := w.start(w.Client)
	cm := w.machine("pattern", lifeOf)
	m.Drive(cm, ready)
	m.delete(cm)
	m.Stop()
	return w.Commands(before)
}

// TestEveryCallFails fails every CloudStack call of a machine's life once, before, during and after it took effect.
func TestEveryCallFails(t *testing.T) {
	w := newWorld(t)
	w.balancer(6443)
	all := faults.Points(commandsOf(w))
	some := faults.Select(all)
	for i, p := range some {
		t.Run(p.String(), func(t *testing.T) {
			inner := *w
			inner.T = t
			inner.surviveFault(fmt.Sprintf("cp-%d", i), p.Fault)
		})
	}
	faults.Tell(t, fmt.Sprintf("%d of %d points were tried at a machine", len(some), len(all)))
}

// surviveFault takes a machine through its life with one fault, and checks that nothing is doubled, lost or stuck.
func (w *world) surviveFault(name string, fault cloudsim.Fault) {
	w.T.Helper()
	w.Sim.ClearFaults()
	w.Must(w.Sim.AddFault(fault))
	m := w.start(w.Client)
	defer m.Stop()
	cm := w.machine(name, lifeOf)
	got := m.Drive(cm, ready)
	w.wantVMs(1)
	for _, rule := range got.Status.LoadBalancerRuleIDs {
		if members := w.members(rule); len(members) != 1 || members[0] != got.Status.InstanceID {
			w.T.Errorf("members %v, want %s", members, got.Status.InstanceID)
		}
	}
	m.delete(cm)
	w.wantVMs(0)
	w.Sim.ClearFaults()
}

// TestKilledAtEveryWrite kills the manager at every write of a machine's life, before and after the write took effect.
// As every call to CloudStack stands between two writes, that is after every call, too.
func TestKilledAtEveryWrite(t *testing.T) {
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("after=%t", after), func(t *testing.T) {
			w := newWorld(t)
			w.balancer(6443)
			for n := 0; n < 60; n += faults.Every(3) {
				inner := *w
				inner.T = t
				if survived := inner.surviveKill(fmt.Sprintf("cp-%d", n), &rig.Cutter{Left: n, After: after}); survived {
					faults.Tell(t, fmt.Sprintf("every %d. of %d writes of a machine was tried", faults.Every(3), n))
					return
				}
			}
			t.Error("a machine needs more than 60 writes")
		})
	}
}

// surviveKill tells whether the life ended before the cut.
func (w *world) surviveKill(name string, c *rig.Cutter) bool {
	w.T.Helper()
	first := w.start(c.Wrap(w.Client))
	cm := w.machine(name, lifeOf)
	first.Drive(cm, func(cm *infrav1.CloudStackMachine) bool { return c.Dead() || ready(cm) })
	if !c.Dead() {
		w.Must(w.Client.Delete(w.T.Context(), w.get(cm)))
		first.Drive(cm, func(cm *infrav1.CloudStackMachine) bool { return c.Dead() || cm == nil })
	}
	first.Stop()
	if !c.Dead() {
		w.wantVMs(0)
		return true
	}
	second := w.start(w.Client)
	defer second.Stop()
	if now := w.get(cm); now != nil && now.DeletionTimestamp.IsZero() {
		second.Drive(cm, ready)
		w.wantVMs(1)
		second.delete(cm)
	} else if now != nil {
		second.Drive(cm, gone)
	}
	w.wantVMs(0)
	return false
}

// TestNewManagerAtEveryReconcile forgets everything in memory after each reconcile.
func TestNewManagerAtEveryReconcile(t *testing.T) {
	w := newWorld(t)
	w.balancer(6443)
	cm := w.machine("cp", lifeOf)
	for range rig.MaxSteps {
		m := w.start(w.Client)
		_, _ = m.Once(cm)
		m.Poll()
		_, _ = m.Once(cm)
		m.Stop()
		now := w.get(cm)
		if now == nil {
			break
		}
		if ready(now) && now.DeletionTimestamp.IsZero() {
			w.wantVMs(1)
			w.Must(w.Client.Delete(t.Context(), now))
		}
		w.Clock.Step(3 * time.Second)
	}
	if w.get(cm) != nil {
		t.Errorf("the machine is still there: %+v", w.get(cm).Status)
	}
	w.wantVMs(0)
	if n := w.Calls("deployVirtualMachine"); n != 1 {
		t.Errorf("%d calls of deployVirtualMachine, want 1", n)
	}
}

// TestTwoManagers lets two managers work on the same machine at the same time, each believing to be alone.
func TestTwoManagers(t *testing.T) {
	w := newWorld(t)
	w.balancer(6443)
	for round := range 5 {
		cm := w.machine(fmt.Sprintf("cp-%d", round), controlPlane)
		managers := []*manager{w.start(w.Client), w.start(w.Client)}
		for range rig.MaxSteps {
			var wg sync.WaitGroup
			for _, m := range managers {
				wg.Go(func() {
					m.Poll()
					_, _ = m.Once(cm)
				})
			}
			wg.Wait()
			w.Clock.Step(2 * time.Second)
			if ready(w.get(cm)) {
				break
			}
		}
		w.wantVMs(1)
		if n := w.Calls("deployVirtualMachine"); n != round+1 {
			t.Errorf("%d calls of deployVirtualMachine after %d machines", n, round+1)
		}
		managers[0].delete(cm)
		w.wantVMs(0)
		for _, m := range managers {
			m.Stop()
		}
	}
}

// TestFailedDeploymentIsClearedAway: a VM in Error is destroyed before the next try, and the machine gets one that runs.
func TestFailedDeploymentIsClearedAway(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	w.Must(w.Sim.AddFault(cloudsim.Fault{Command: "deployVirtualMachine", Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultJob}))
	cm := w.machine("worker")
	m.Drive(cm, ready)
	w.wantVMs(1)
	m.delete(cm)
	w.wantVMs(0)
}
