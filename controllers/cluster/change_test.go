package cluster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/rig"
)

// edit changes the spec of a cluster and drives it until the change is seen through.
func (m *manager) edit(c *infrav1.CloudStackCluster, change func(*infrav1.CloudStackClusterSpec)) *infrav1.CloudStackCluster {
	m.T.Helper()
	now := m.get(c)
	change(&now.Spec)
	m.Must(m.Client.Update(m.T.Context(), now))
	return m.Drive(c, func(c *infrav1.CloudStackCluster) bool {
		return ready(c) && c.Status.ObservedGeneration == c.Generation
	})
}

func balancer(b infrav1.ControlPlaneLoadBalancer) change {
	return spec(func(s *infrav1.CloudStackClusterSpec) { s.ControlPlaneLoadBalancer = &b })
}

// TestLoadBalancerIsChangedInPlace: the rule keeps its id, and with it its members, and so does the firewall where it can.
func TestLoadBalancerIsChangedInPlace(t *testing.T) {
	rows := map[string]struct {
		before, after infrav1.ControlPlaneLoadBalancer
		deleted       []string
		algorithm     string
		firewall      string
	}{
		"another algorithm": {
			infrav1.ControlPlaneLoadBalancer{}, infrav1.ControlPlaneLoadBalancer{Algorithm: infrav1.AlgorithmSource},
			nil, "source", "0.0.0.0/0",
		},
		"other clients": {
			infrav1.ControlPlaneLoadBalancer{AllowedCIDRs: []string{"198.51.100.0/24"}},
			infrav1.ControlPlaneLoadBalancer{AllowedCIDRs: []string{"203.0.113.0/24", "198.51.100.0/24"}},
			[]string{"deleteFirewallRule"}, "roundrobin", "198.51.100.0/24,203.0.113.0/24",
		},
		"one port less": {
			infrav1.ControlPlaneLoadBalancer{AdditionalPorts: []infrav1.LoadBalancerPort{{Name: "join", Port: 9345}}},
			infrav1.ControlPlaneLoadBalancer{}, []string{"deleteLoadBalancerRule", "deleteFirewallRule"}, "roundrobin", "0.0.0.0/0",
		},
		"another port": {
			infrav1.ControlPlaneLoadBalancer{AdditionalPorts: []infrav1.LoadBalancerPort{{Name: "join", Port: 9345}}},
			infrav1.ControlPlaneLoadBalancer{AdditionalPorts: []infrav1.LoadBalancerPort{{Name: "join", Port: 9346}}},
			[]string{"deleteLoadBalancerRule", "deleteFirewallRule"}, "roundrobin", "0.0.0.0/0",
		},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.start(w.Client)
			c := w.cluster("c1", balancer(row.before))
			first := m.Drive(c, ready).Status.LoadBalancer.Rules[0].ID
			from := len(w.Sim.Journal())
			lb := m.edit(c, func(s *infrav1.CloudStackClusterSpec) { s.ControlPlaneLoadBalancer = &row.after }).Status.LoadBalancer
			if lb.Rules[0].ID != first {
				t.Errorf("the rule of the API is %s, want %s as before", lb.Rules[0].ID, first)
			}
			rule, err := w.cloud.FindLoadBalancer(t.Context(), ownerless, first)
			w.Must(err)
			if rule.Algorithm != row.algorithm || len(lb.Rules) != 1+len(row.after.AdditionalPorts) {
				t.Errorf("algorithm %s, rules %+v", rule.Algorithm, lb.Rules)
			}
			var deleted []string
			for _, command := range w.Commands(from) {
				if command == "deleteLoadBalancerRule" || command == "deleteFirewallRule" {
					deleted = append(deleted, command)
				}
			}
			if diff := cmp.Diff(row.deleted, deleted); diff != "" {
				t.Errorf("deletions (-want +got):\n%s", diff)
			}
			want := whole
			want.Balancers, want.Firewall = len(lb.Rules), len(lb.Rules)
			w.wantMade(want)
			for _, f := range lb.FirewallRules {
				if f.CIDRs != row.firewall {
					t.Errorf("firewall rule %+v, want %s", f, row.firewall)
				}
			}
			m.delete(c)
			w.wantMade(made{})
		})
	}
}

// TestClientsOfATier: in a VPC the load balancer itself refuses clients, and is told of others.
func TestClientsOfATier(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	c := w.cluster("c1", tierOf(infrav1.VPC{Name: "cloud", CIDR: "10.80.0.0/16"}), balancer(infrav1.ControlPlaneLoadBalancer{AllowedCIDRs: []string{"198.51.100.0/24"}}))
	id := m.Drive(c, ready).Status.LoadBalancer.Rules[0].ID
	for _, clients := range [][]string{{"203.0.113.0/24"}, nil} {
		m.edit(c, func(s *infrav1.CloudStackClusterSpec) {
			s.ControlPlaneLoadBalancer = &infrav1.ControlPlaneLoadBalancer{AllowedCIDRs: clients}
		})
		rule, err := w.cloud.FindLoadBalancer(t.Context(), ownerless, id)
		w.Must(err)
		want := clients
		if want == nil {
			want = []string{"0.0.0.0/0"}
		}
		if diff := cmp.Diff(want, rule.CIDRs); diff != "" {
			t.Errorf("clients (-want +got):\n%s", diff)
		}
	}
	if calls := m.Live(10 * time.Minute); calls > 60 {
		t.Errorf("%d calls in ten quiet minutes", calls)
	}
	m.delete(c)
	w.wantMade(made{})
}

func TestLoadBalancerIsTurnedOffLater(t *testing.T) {
	rows := map[string]func(*world) []change{
		"on a network that is made": func(*world) []change { return nil },
		"on a network that is there": func(w *world) []change {
			w.network("found", natOffering)
			return []change{network(infrav1.Network{Name: "found"})}
		},
		"in a VPC": func(*world) []change { return []change{tierOf(infrav1.VPC{Name: "cloud", CIDR: "10.80.0.0/16"})} },
	}
	for name, changes := range rows {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.start(w.Client)
			changed := changes(w)
			before := w.made()
			c := w.cluster("c1", changed...)
			host := m.Drive(c, ready).Spec.ControlPlaneEndpoint.Host
			no := false
			got := m.edit(c, func(s *infrav1.CloudStackClusterSpec) {
				s.ControlPlaneLoadBalancer = &infrav1.ControlPlaneLoadBalancer{Enabled: &no}
			})
			if got.Status.LoadBalancer != nil || got.Spec.ControlPlaneEndpoint.Host != host {
				t.Errorf("load balancer %+v, endpoint %+v", got.Status.LoadBalancer, got.Spec.ControlPlaneEndpoint)
			}
			if now := w.made(); now.Balancers != 0 || now.Firewall != 0 {
				t.Errorf("the cloud holds %+v", now)
			}
			m.edit(c, func(s *infrav1.CloudStackClusterSpec) { s.ControlPlaneLoadBalancer = nil })
			if again := w.get(c); again.Spec.ControlPlaneEndpoint.Host != host || again.Status.LoadBalancer.PublicIP != host {
				t.Errorf("turned on again, the load balancer is %+v", again.Status.LoadBalancer)
			}
			m.delete(c)
			if name == "on a network that is there" {
				before.Addresses = w.made().Addresses // its source NAT is the network's by now
			}
			w.wantMade(before)
		})
	}
}

func domain(name, network string) infrav1.FailureDomainSpec {
	return infrav1.FailureDomainSpec{Name: name, Zone: infrav1.FailureDomainZone{Name: zone, Network: infrav1.Network{Name: network}}}
}

// TestFailureDomainIsGivenUp: what was made there goes when its last machine has.
func TestFailureDomainIsGivenUp(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	w.network("found", natOffering)
	before := w.made()
	c := w.cluster("c1", spec(func(s *infrav1.CloudStackClusterSpec) {
		s.Zone = nil
		s.FailureDomains = []infrav1.FailureDomainSpec{domain("a", "net-a"), domain("b", "net-b"), domain("c", "found")}
	}))
	m.Drive(c, ready)
	machine := &infrav1.CloudStackMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "m", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"}},
		Spec:       infrav1.CloudStackMachineSpec{Offering: infrav1.OfferingReference{Name: "Small Instance"}, FailureDomainName: "b"},
	}
	w.Must(w.Client.Create(t.Context(), machine))
	all := w.made()
	m.edit(c, func(s *infrav1.CloudStackClusterSpec) {
		s.FailureDomains = []infrav1.FailureDomainSpec{domain("a", "net-a"), domain("c", "found")}
	})
	m.Live(time.Minute)
	w.wantMade(all)
	if now := w.get(c); len(now.Status.FailureDomains) != 2 || now.Status.Domain("b") == nil {
		t.Errorf("status %+v", now.Status)
	}
	w.Must(w.Client.Delete(t.Context(), machine))
	got := m.Drive(c, func(c *infrav1.CloudStackCluster) bool { return c.Status.Domain("b") == nil && ready(c) })
	if now := w.made(); now.Networks != all.Networks-1 || now.Egress != all.Egress-1 {
		t.Errorf("the cloud holds %+v of %+v; status %+v", now, all, got.Status)
	}
	got = m.edit(c, func(s *infrav1.CloudStackClusterSpec) {
		s.FailureDomains = []infrav1.FailureDomainSpec{domain("a", "net-a")}
	})
	if now := w.made(); got.Status.Domain("c") != nil || now.Egress != 1 || now.Networks != before.Networks+1 {
		t.Errorf("the cloud holds %+v; status %+v", now, got.Status)
	}
	now := w.get(c)
	now.Spec.FailureDomains = []infrav1.FailureDomainSpec{domain("d", "net-d")}
	w.Must(w.Client.Update(t.Context(), now))
	m.Drive(c, func(c *infrav1.CloudStackCluster) bool { return rig.Because(c, infrav1.ReasonInvalidSpec) })
	m.delete(c)
	w.wantMade(before)
}
