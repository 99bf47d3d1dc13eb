package cluster_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/test/cloudsim"
)

// TestDriftIsRepaired: what is lost is seen in time, which is when something is done about it, and repaired soon after.
func TestDriftIsRepaired(t *testing.T) {
	rows := map[string]struct {
		hurt   func(*world, infrav1.CloudStackClusterStatus)
		within time.Duration
	}{
		"firewall rule": {func(w *world, st infrav1.CloudStackClusterStatus) {
			w.await(w.cloud.DeleteFirewallRule(w.T.Context(), st.LoadBalancer.FirewallRules[0].ID))
		}, time.Minute},
		"load-balancer rule": {func(w *world, st infrav1.CloudStackClusterStatus) {
			w.await(w.cloud.DeleteLoadBalancer(w.T.Context(), st.LoadBalancer.RuleIDs()[0]))
		}, time.Minute},
		"egress rule": {func(w *world, st infrav1.CloudStackClusterStatus) {
			w.await(w.cloud.DeleteFirewallRule(w.T.Context(), st.Domain(zone).Network.EgressRuleIDs[0]))
		}, 5 * time.Minute},
		"address": {func(w *world, st infrav1.CloudStackClusterStatus) {
			w.await(w.cloud.ReleaseAddress(w.T.Context(), cloudstack.Lease{AddressID: st.LoadBalancer.PublicIPID, NetworkID: st.LoadBalancer.NetworkID}))
		}, time.Minute},
		"tags of the network": {func(w *world, st infrav1.CloudStackClusterStatus) {
			id := st.Domain(zone).Network.ID
			tags, err := w.cloud.Tags(w.T.Context(), cloudstack.Owner{}, cloudstack.TagsOfNetwork, id)
			w.Must(err)
			w.await(w.cloud.DeleteTags(w.T.Context(), cloudstack.TagsOfNetwork, tags, id))
		}, 5 * time.Minute},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.start(w.Client)
			c := w.cluster("c1")
			before := m.Drive(c, ready)
			m.Live(10 * time.Minute)
			row.hurt(w, before.Status)
			calls := w.Calls("")
			m.Live(row.within)
			changes := slices.DeleteFunc(w.Commands(calls), func(c string) bool { return strings.HasPrefix(c, "list") || strings.HasPrefix(c, "query") })
			if len(changes) == 0 {
				t.Errorf("nothing was done within %s", row.within)
			}
			m.Live(time.Minute)
			w.wantMade(whole)
			after := m.Drive(c, ready)
			if diff := cmp.Diff(before.Spec.ControlPlaneEndpoint, after.Spec.ControlPlaneEndpoint); diff != "" {
				t.Errorf("the endpoint changed (-before +after):\n%s", diff)
			}
			m.delete(c)
			w.wantMade(made{})
		})
	}
}

// TestRefusedCredentialsAreSeen: a cluster at rest tells within a minute that CloudStack takes its credentials no more, and when it
// does again.
func TestRefusedCredentialsAreSeen(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	c := w.cluster("c1")
	m.Drive(c, ready)
	m.Live(10 * time.Minute)
	w.Must(w.Sim.AddFault(cloudsim.Fault{Command: "*", Kind: cloudsim.Fault401, Count: -1}))
	m.Live(time.Minute)
	got := m.Get(c)
	if told := condition(got, infrav1.ConditionCredentialsAvailable); told.Status != metav1.ConditionFalse || told.Reason != infrav1.ReasonCredentialsRefused {
		t.Errorf("a minute after CloudStack refused the credentials: %+v", told)
	}
	if network := condition(got, infrav1.ConditionNetworkReady); network.Status != metav1.ConditionTrue {
		t.Errorf("the network is as it was, but told is %+v", network)
	}
	w.Sim.ClearFaults()
	m.Live(2 * time.Minute)
	m.Drive(c, ready)
	if told := condition(m.Get(c), infrav1.ConditionCredentialsAvailable); told.Status != metav1.ConditionTrue {
		t.Errorf("when CloudStack takes them again: %+v", told)
	}
	m.delete(c)
}

// TestOutageIsTold: a cluster at rest stays ready while CloudStack does not answer, but says so within three minutes, and no more
// when it answers again. A short trouble is not worth a word.
func TestOutageIsTold(t *testing.T) {
	for _, kind := range []string{cloudsim.Fault502, cloudsim.FaultReset, cloudsim.Fault429} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			m := w.start(w.Client)
			c := w.cluster("c1")
			m.Drive(c, ready)
			m.Live(10 * time.Minute)
			well := condition(m.Get(c), infrav1.ConditionReady)
			w.Must(w.Sim.AddFault(cloudsim.Fault{Command: "*", Kind: kind, Count: -1}))
			m.Live(100 * time.Second)
			if told := condition(m.Get(c), infrav1.ConditionReady); told.Message != well.Message {
				t.Errorf("after a short trouble: %+v", told)
			}
			m.Live(100 * time.Second)
			told := condition(m.Get(c), infrav1.ConditionReady)
			if told.Status != metav1.ConditionTrue || !strings.Contains(told.Message, "cannot be looked at") {
				t.Errorf("after more than three minutes: %+v", told)
			}
			w.Sim.ClearFaults()
			m.Live(2 * time.Minute)
			m.Drive(c, ready)
			if told := condition(m.Get(c), infrav1.ConditionReady); told.Message != well.Message {
				t.Errorf("when CloudStack answers again: %+v", told)
			}
			m.delete(c)
		})
	}
}

func TestSteadyStateIsQuiet(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	c := w.cluster("c1")
	m.Drive(c, ready)
	m.Live(10 * time.Minute)
	calls := m.Live(20 * time.Minute)
	t.Logf("%.1f calls a minute", float64(calls)/20)
	if calls > 20*6 {
		t.Errorf("%d calls in 20 minutes, want at most 6 a minute", calls)
	}
}

func TestLostNetworkIsNotReplaced(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	c := w.cluster("c1")
	got := m.Drive(c, ready)
	m.Live(10 * time.Minute)
	w.await(w.cloud.DeleteNetwork(t.Context(), got.Status.Domain(zone).Network.ID))
	m.Live(5 * time.Minute)
	if now := m.Get(c); !because(infrav1.ReasonNetworkLost)(now) {
		t.Errorf("five minutes after the network was deleted: %+v", condition(now, infrav1.ConditionReady))
	}
	m.Drive(c, because(infrav1.ReasonNetworkLost))
	if n := w.made().Networks; n != 0 {
		t.Errorf("%d networks, want none", n)
	}
	m.delete(c)
}

func TestStatusIsFoundAgain(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	c := w.cluster("c1")
	before := m.Drive(c, ready)
	moved := before.DeepCopy()
	moved.Status = infrav1.CloudStackClusterStatus{ObservedGeneration: 1}
	w.Must(w.Client.Status().Update(t.Context(), moved))
	after := w.start(w.Client).Drive(c, ready)
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
	m := w.start(w.Client)
	c := w.cluster("c1", spec(func(s *infrav1.CloudStackClusterSpec) {
		s.ControlPlaneLoadBalancer = &infrav1.ControlPlaneLoadBalancer{
			AllowedCIDRs: []string{"198.51.100.0/24"}, AdditionalPorts: []infrav1.LoadBalancerPort{{Name: "join", Port: 9345}},
		}
	}))
	got := m.Drive(c, ready)
	want := got.Spec.ControlPlaneEndpoint
	got.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{}
	got.Spec.ControlPlaneLoadBalancer = &infrav1.ControlPlaneLoadBalancer{AllowedCIDRs: []string{"198.51.100.0/24", "203.0.113.0/24"}}
	w.Must(w.Client.Update(t.Context(), got))
	got = m.Drive(c, func(c *infrav1.CloudStackCluster) bool {
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
	m := w.start(w.Client)
	c := w.cluster("c1")
	m.Drive(c, ready)
	machine := &infrav1.CloudStackMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "m", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"}},
		Spec:       infrav1.CloudStackMachineSpec{Offering: infrav1.OfferingReference{Name: "Small Instance"}},
	}
	w.Must(w.Client.Create(t.Context(), machine))
	w.Must(client.IgnoreNotFound(w.Client.Delete(t.Context(), c.DeepCopy())))
	m.Drive(c, because(infrav1.ReasonWaitingForMachines))
	w.wantMade(whole)
	w.Must(w.Client.Delete(t.Context(), machine))
	m.Drive(c, gone)
	w.wantMade(made{})
}
