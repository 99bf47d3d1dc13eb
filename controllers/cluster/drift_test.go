package cluster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
)

// live lets time pass for a ready cluster, reconciling only when it is woken, and tells how many calls that took.
func (m *manager) live(c *infrav1.CloudStackCluster, d time.Duration) int {
	m.t.Helper()
	from := m.calls("")
	for range int(d / (3 * time.Second)) {
		m.clock.Step(3 * time.Second)
		m.poll()
		for m.queue.Len() > 0 {
			request, _ := m.queue.Get()
			m.queue.Forget(request)
			m.queue.Done(request)
			result, err := m.once(c)
			for range 20 {
				if err == nil && (result.RequeueAfter == 0 || result.RequeueAfter > time.Second) {
					break
				}
				result, err = m.once(c)
			}
		}
	}
	return m.calls("") - from
}

func TestDriftIsRepaired(t *testing.T) {
	rows := map[string]struct {
		hurt   func(*world, infrav1.CloudStackClusterStatus)
		within time.Duration
	}{
		"firewall rule": {func(w *world, st infrav1.CloudStackClusterStatus) {
			w.await(w.cloud.DeleteFirewallRule(w.t.Context(), st.LoadBalancer.FirewallRules[0].ID))
		}, 2 * time.Minute},
		"load-balancer rule": {func(w *world, st infrav1.CloudStackClusterStatus) {
			w.await(w.cloud.DeleteLoadBalancer(w.t.Context(), st.LoadBalancer.RuleIDs()[0]))
		}, 2 * time.Minute},
		"egress rule": {func(w *world, st infrav1.CloudStackClusterStatus) {
			w.await(w.cloud.DeleteFirewallRule(w.t.Context(), st.Domain(zone).Network.EgressRuleIDs[0]))
		}, 6 * time.Minute},
		"address": {func(w *world, st infrav1.CloudStackClusterStatus) {
			w.await(w.cloud.ReleaseAddress(w.t.Context(), cloudstack.Lease{AddressID: st.LoadBalancer.PublicIPID, NetworkID: st.LoadBalancer.NetworkID}))
		}, 6 * time.Minute},
		"tags of the network": {func(w *world, st infrav1.CloudStackClusterStatus) {
			id := st.Domain(zone).Network.ID
			tags, err := w.cloud.Tags(w.t.Context(), cloudstack.Owner{}, cloudstack.TagsOfNetwork, id)
			w.must(err)
			w.await(w.cloud.DeleteTags(w.t.Context(), cloudstack.TagsOfNetwork, tags, id))
		}, 6 * time.Minute},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.start(w.client)
			c := w.cluster("c1")
			before := m.drive(c, ready)
			m.live(c, 10*time.Minute)
			row.hurt(w, before.Status)
			m.live(c, row.within)
			w.wantMade(whole)
			after := m.drive(c, ready)
			if diff := cmp.Diff(before.Spec.ControlPlaneEndpoint, after.Spec.ControlPlaneEndpoint); diff != "" {
				t.Errorf("the endpoint changed (-before +after):\n%s", diff)
			}
			m.delete(c)
			w.wantMade(made{})
		})
	}
}

func TestSteadyStateIsQuiet(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.client)
	c := w.cluster("c1")
	m.drive(c, ready)
	m.live(c, 10*time.Minute)
	calls := m.live(c, 20*time.Minute)
	t.Logf("%.1f calls a minute", float64(calls)/20)
	if calls > 20*6 {
		t.Errorf("%d calls in 20 minutes, want at most 6 a minute", calls)
	}
}

func TestLostNetworkIsNotReplaced(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.client)
	c := w.cluster("c1")
	got := m.drive(c, ready)
	w.await(w.cloud.DeleteNetwork(t.Context(), got.Status.Domain(zone).Network.ID))
	m.drive(c, because(infrav1.ReasonNetworkLost))
	if n := w.made().Networks; n != 0 {
		t.Errorf("%d networks, want none", n)
	}
	m.delete(c)
}

func TestStatusIsFoundAgain(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.client)
	c := w.cluster("c1")
	before := m.drive(c, ready)
	moved := before.DeepCopy()
	moved.Status = infrav1.CloudStackClusterStatus{ObservedGeneration: 1}
	w.must(w.client.Status().Update(t.Context(), moved))
	after := w.start(w.client).drive(c, ready)
	if diff := cmp.Diff(before.Status.LoadBalancer.RuleIDs(), after.Status.LoadBalancer.RuleIDs()); diff != "" {
		t.Errorf("rules (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before.Status.Resolved, after.Status.Resolved); diff != "" {
		t.Errorf("resolved (-before +after):\n%s", diff)
	}
	w.wantMade(whole)
	m.delete(c)
	w.wantMade(made{})
}

func TestEmptiedHostIsFilledAgain(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.client)
	c := w.cluster("c1", spec(func(s *infrav1.CloudStackClusterSpec) {
		s.ControlPlaneLoadBalancer = &infrav1.ControlPlaneLoadBalancer{
			AllowedCIDRs: []string{"198.51.100.0/24"}, AdditionalPorts: []infrav1.LoadBalancerPort{{Name: "join", Port: 9345}},
		}
	}))
	got := m.drive(c, ready)
	want := got.Spec.ControlPlaneEndpoint
	got.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{}
	got.Spec.ControlPlaneLoadBalancer = &infrav1.ControlPlaneLoadBalancer{AllowedCIDRs: []string{"198.51.100.0/24", "203.0.113.0/24"}}
	w.must(w.client.Update(t.Context(), got))
	got = m.drive(c, func(c *infrav1.CloudStackCluster) bool {
		return ready(c) && c.Status.ObservedGeneration == c.Generation && c.Spec.ControlPlaneEndpoint.Host != ""
	})
	if got.Spec.ControlPlaneEndpoint != want {
		t.Errorf("endpoint %+v, want %+v", got.Spec.ControlPlaneEndpoint, want)
	}
	if rules := got.Status.LoadBalancer.FirewallRules; len(rules) != 1 || rules[0].CIDRs != "198.51.100.0/24,203.0.113.0/24" {
		t.Errorf("firewall rules %+v", rules)
	}
	w.wantMade(whole)
	m.delete(c)
}

func TestDeletionWaitsForMachines(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.client)
	c := w.cluster("c1")
	m.drive(c, ready)
	machine := &infrav1.CloudStackMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "m", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"}},
		Spec:       infrav1.CloudStackMachineSpec{Offering: infrav1.OfferingReference{Name: "Small Instance"}},
	}
	w.must(w.client.Create(t.Context(), machine))
	w.must(client.IgnoreNotFound(w.client.Delete(t.Context(), c.DeepCopy())))
	m.drive(c, because(infrav1.ReasonWaitingForMachines))
	w.wantMade(whole)
	w.must(w.client.Delete(t.Context(), machine))
	m.drive(c, gone)
	w.wantMade(made{})
}
