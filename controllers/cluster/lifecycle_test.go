package cluster_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
)

// whole is what a cluster has whose network is made for it.
var whole = made{Networks: 1, Addresses: 1, Balancers: 1, Firewall: 1, Egress: 1, Tags: 4}

// TestWithoutCommandsThatAreNotNeeded: a role that lacks what the table of API commands calls not needed will do, on a network of
// one's own and on one that is there.
func TestWithoutCommandsThatAreNotNeeded(t *testing.T) {
	for _, command := range []string{"createTags", "deleteTags", "listApis", "listAsyncJobs", "listCapabilities", "listTags"} {
		t.Run(command, func(t *testing.T) {
			w := newWorld(t)
			w.network("there", natOffering)
			before := w.made()
			w.Must(w.Sim.AddFault(cloudsim.Fault{Command: command, Kind: cloudsim.Fault432, Count: -1}))
			m := w.start(w.Client)
			own, foreign := w.cluster("c1"), w.cluster("c2", network(infrav1.Network{Name: "there"}))
			for _, c := range []*infrav1.CloudStackCluster{own, foreign} {
				m.Drive(c, ready)
			}
			for _, c := range []*infrav1.CloudStackCluster{own, foreign} {
				m.delete(c)
			}
			after := w.made()
			after.Tags = before.Tags // those of an address that was given back are nobody's
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("CloudStack has not what it had before (-before +after):\n%s", diff)
			}
		})
	}
}

func TestClusterIsMadeAndDeleted(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	before := w.made()
	calls := w.Calls("")
	c := w.cluster("c1")
	got := m.Drive(c, ready)
	used := w.Calls("") - calls
	t.Logf("%d calls", used)
	if used > 20 {
		t.Errorf("%d calls for a cluster without machines, want at most 20", used)
	}
	w.wantMade(whole)
	st := got.Status
	lb := st.LoadBalancer
	if lb == nil || !lb.Created || len(lb.RuleIDs()) != 1 || len(lb.FirewallRules) != 1 || lb.PublicIP == "" {
		t.Fatalf("load balancer %+v", lb)
	}
	want := infrav1.APIEndpoint{Host: lb.PublicIP, Port: 6443}
	if got.Spec.ControlPlaneEndpoint != want {
		t.Errorf("endpoint %+v, want %+v", got.Spec.ControlPlaneEndpoint, want)
	}
	if st.Initialization.Provisioned == nil || !*st.Initialization.Provisioned {
		t.Error("not provisioned")
	}
	d := st.Domain(zone)
	if d == nil || d.ZoneID != w.zoneID || d.Network == nil || !d.Network.Created || d.Network.Name != "c1" || len(d.Network.EgressRuleIDs) != 1 || len(d.Hypervisors) == 0 {
		t.Errorf("resolved %+v", st.Resolved)
	}
	if len(st.FailureDomains) != 1 || st.FailureDomains[0].Name != zone || !*st.FailureDomains[0].ControlPlane {
		t.Errorf("failure domains %+v", st.FailureDomains)
	}
	for _, name := range []string{infrav1.ConditionCredentialsAvailable, infrav1.ConditionNetworkReady, infrav1.ConditionEndpointReady} {
		if found := condition(got, name); found == nil || found.Status != "True" {
			t.Errorf("condition %s is %+v", name, found)
		}
	}
	m.wantProtected(true)
	m.delete(c)
	w.wantMade(before)
	_, err := m.keeper.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.NS, Name: "cloudstack"}})
	w.Must(err)
	m.wantProtected(false)
}

func (m *manager) wantProtected(want bool) {
	m.T.Helper()
	secret := &corev1.Secret{}
	m.Must(m.Client.Get(m.T.Context(), client.ObjectKey{Namespace: m.NS, Name: "cloudstack"}, secret))
	if got := controllerutil.ContainsFinalizer(secret, infrav1.FinalizerIdentity); got != want {
		m.T.Errorf("the Secret is protected: %t, want %t", got, want)
	}
}

func TestNetworkThatIsThereStays(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	id := w.network("c1-net", natOffering)
	w.network("c1-network", natOffering)
	before := w.made()
	c := w.cluster("c1", spec(func(s *infrav1.CloudStackClusterSpec) { s.Network = &infrav1.Network{Name: "c1-net"} }))
	got := m.Drive(c, ready)
	if d := got.Status.Domain(zone); d.Network.ID != id || d.Network.Created {
		t.Errorf("network %+v, want %s and not made here", d.Network, id)
	}
	m.delete(c)
	w.wantMade(before)
}

func TestLoadBalancerTurnedOff(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	no := false
	c := w.cluster("c1", spec(func(s *infrav1.CloudStackClusterSpec) {
		s.ControlPlaneLoadBalancer = &infrav1.ControlPlaneLoadBalancer{Enabled: &no}
	}))
	got := m.Drive(c, because(infrav1.ReasonWaitingForEndpoint))
	if p := got.Status.Initialization.Provisioned; p == nil || !*p {
		t.Error("not provisioned")
	}
	w.wantMade(made{Networks: 1, Egress: 1, Tags: 2})
	got.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "vip.example.org", Port: 6443}
	w.Must(w.Client.Update(t.Context(), got))
	got = m.Drive(c, ready)
	if got.Spec.ControlPlaneEndpoint.Host != "vip.example.org" {
		t.Errorf("endpoint %+v was overwritten", got.Spec.ControlPlaneEndpoint)
	}
	m.delete(c)
	w.wantMade(made{})
}

// TestEqualNamesInTwoNamespaces: neither cluster touches what the other has.
func TestEqualNamesInTwoNamespaces(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	other := plane.Namespace(t)
	w.Secret(other, caller)
	named := spec(func(s *infrav1.CloudStackClusterSpec) { s.Network = &infrav1.Network{Name: "net"} })
	first, second := w.cluster("c1", named), w.clusterIn(other, "c1", named)
	a, b := m.Drive(first, ready), m.Drive(second, ready)
	if a.Status.Domain(zone).Network.ID == b.Status.Domain(zone).Network.ID {
		t.Error("both clusters use one network")
	}
	m.delete(second)
	w.wantMade(whole)
	if diff := cmp.Diff(a.Status.LoadBalancer, m.Drive(first, ready).Status.LoadBalancer); diff != "" {
		t.Errorf("the first cluster changed (-before +after):\n%s", diff)
	}
	m.delete(first)
	w.wantMade(made{})
}

func TestGuards(t *testing.T) {
	rows := map[string]struct {
		change change
		reason string
	}{
		"no owner":          {func(c *infrav1.CloudStackCluster) { c.OwnerReferences = nil }, infrav1.ReasonWaitingForOwner},
		"unknown zone":      {spec(func(s *infrav1.CloudStackClusterSpec) { s.Zone.Name = "zone-" }), infrav1.ReasonZoneNotFound},
		"several zones":     {spec(func(s *infrav1.CloudStackClusterSpec) { s.Zone = nil }), infrav1.ReasonZoneAmbiguous},
		"no Secret":         {spec(func(s *infrav1.CloudStackClusterSpec) { s.IdentityRef.Name = "x" }), infrav1.ReasonSecretNotFound},
		"unknown network":   {network(infrav1.Network{ID: "00000000-0000-4000-8000-000000000000"}), infrav1.ReasonNetworkNotFound},
		"unknown offering":  {network(infrav1.Network{Name: "n", Offering: "x"}), infrav1.ReasonNetworkOfferingNotFound},
		"no shared network": {network(infrav1.Network{Name: "n", Type: infrav1.NetworkTypeShared}), infrav1.ReasonNetworkNotFound},
		"twin networks":     {network(infrav1.Network{Name: "twin"}), infrav1.ReasonNetworkAmbiguous},
		"address out of range": {
			spec(func(s *infrav1.CloudStackClusterSpec) { s.ControlPlaneEndpointIP = "203.0.113.9" }), infrav1.ReasonAddressUnavailable,
		},
		"credentials of another namespace": {spec(func(s *infrav1.CloudStackClusterSpec) {
			s.Zone = nil
			s.FailureDomains = []infrav1.FailureDomainSpec{{Name: "fd", ACSEndpoint: infrav1.EndpointReference{Name: "cloudstack", Namespace: "other"}}}
		}), infrav1.ReasonInvalidSpec},
	}
	w := newWorld(t)
	m := w.start(w.Client)
	w.network("twin", natOffering)
	w.network("twin", natOffering)
	before := w.made()
	n := 0
	for name, row := range rows {
		n++
		t.Run(name, func(t *testing.T) {
			c := w.cluster("c"+string(rune('a'+n)), row.change)
			m.Drive(c, because(row.reason))
			m.delete(c)
			w.wantMade(before)
		})
	}
}

func network(n infrav1.Network) change {
	return spec(func(s *infrav1.CloudStackClusterSpec) { s.Network = &n })
}

func TestExternallyManagedIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	c := w.cluster("c1", func(c *infrav1.CloudStackCluster) {
		c.Annotations = map[string]string{"cluster.x-k8s.io/managed-by": "somebody"}
	})
	_, err := m.Once(c)
	w.Must(err)
	if diff := cmp.Diff(c, w.get(c)); diff != "" {
		t.Errorf("the object was changed (-before +after):\n%s", diff)
	}
}

func TestPausedIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	c := w.cluster("c1", func(c *infrav1.CloudStackCluster) { c.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""} })
	calls := w.Calls("")
	result, err := m.Once(c)
	w.Must(err)
	now := w.get(c)
	if p := condition(now, infrav1.ConditionPaused); p == nil || p.Status != "True" || result.RequeueAfter != 0 || len(now.Finalizers) > 0 {
		t.Errorf("Paused is %+v, requeue %s, finalizers %v", p, result.RequeueAfter, now.Finalizers)
	}
	if w.Calls("") != calls {
		t.Error("CloudStack was called")
	}
}
