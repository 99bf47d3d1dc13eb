package machine_test

import (
	"testing"
	"time"

	"github.com/capcat/capcat/controllers/cloudstack"
)

// TestLostVMIsSeenWithinAMinute also when nobody but the shared listing looks.
func TestLostVMIsSeenWithinAMinute(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	cm := w.machine("worker")
	id := m.Drive(cm, ready).Status.InstanceID
	m.Live(10 * time.Minute)
	_, err := w.cloud.DestroyVM(t.Context(), id, cloudstack.DestroyOptions{})
	w.Must(err)
	w.Clock.Step(10 * time.Second) // that is how long it takes
	m.Live(time.Minute)
	if ready(m.Get(cm)) {
		t.Error("the machine is ready a minute after its VM was destroyed")
	}
	m.delete(cm)
}

// TestLostMemberIsSeenWithinAMinute: it is put behind the load balancer again.
func TestLostMemberIsSeenWithinAMinute(t *testing.T) {
	w := newWorld(t)
	rules := w.balancer(6443)
	m := w.start(w.Client)
	cm := w.machine("cp", controlPlane)
	id := m.Drive(cm, ready).Status.InstanceID
	m.Live(10 * time.Minute)
	_, err := w.cloud.RemoveMembers(t.Context(), rules[0], id)
	w.Must(err)
	w.Clock.Step(10 * time.Second)
	before := w.Calls("assignToLoadBalancerRule")
	m.Live(time.Minute)
	if n := w.Calls("assignToLoadBalancerRule") - before; n != 1 {
		t.Errorf("%d calls of assignToLoadBalancerRule within a minute, want one", n)
	}
	w.Clock.Step(10 * time.Second)
	if members := w.members(rules[0]); len(members) != 1 || members[0] != id {
		t.Errorf("members %v, want %s", members, id)
	}
	m.delete(cm)
}
