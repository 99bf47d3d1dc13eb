package cloudstack_test

import (
	"testing"

	"github.com/capcat/capcat/controllers/cloudstack"
)

// standing is a cluster's network with everything on it and one machine.
type standing struct {
	*site
	parts                                   cloudstack.NetworkParts
	address, balancer, firewall, egress, vm string
	woken                                   wakes
}

func newStanding(t *testing.T) *standing {
	t.Helper()
	s := &standing{site: newSite(t), woken: wakes{}}
	var job cloudstack.Job
	var err error
	s.egress, job, err = s.CreateEgressRule(t.Context(), cloudstack.FirewallRule{NetworkID: s.network, Protocol: "all"})
	s.await(t, job, err)
	s.takeAddress(t) // becomes the source NAT
	s.address = s.takeAddress(t)
	s.balancer = s.balance(t, s.address)
	rule := cloudstack.FirewallRule{AddressID: s.address, Protocol: "tcp", StartPort: 6443, EndPort: 6443}
	s.firewall, job, err = s.CreateFirewallRule(t.Context(), rule)
	s.await(t, job, err)
	s.vm = s.deploy(t, s.site.vm)
	job, err = s.AddMembers(t.Context(), s.balancer, s.vm)
	s.await(t, job, err)
	s.parts = cloudstack.NetworkParts{
		Networks: []string{s.network}, EgressOf: []string{s.network}, Addresses: []string{s.address},
		FirewallOf: []string{s.address}, LoadBalancers: []string{s.balancer},
	}
	s.WatchNetwork("cluster", s.parts, s.woken.of("cluster"))
	s.WatchVM(cloudstack.Owner{}, s.vm, s.woken.of("machine"))
	s.minutes(t, 10)
	return s
}

func TestSteadyStateCostsFewCalls(t *testing.T) {
	s := newStanding(t)
	before, woken := s.calls(""), s.woken["cluster"]+s.woken["machine"]
	s.minutes(t, 60)
	if got := s.calls("") - before; got > 60*6 {
		t.Errorf("%d calls an hour, want at most 360", got)
	}
	if got := s.woken["cluster"] + s.woken["machine"]; got != woken {
		t.Errorf("woken %d times although nothing changed", got-woken)
	}
	sight := s.WatchNetwork("cluster", s.parts, nil)
	if len(sight.Members[s.balancer]) != 1 || len(sight.Firewall[s.address]) != 1 || len(sight.Egress[s.network]) != 1 ||
		sight.Networks[s.network].ID == "" || sight.Addresses[s.address].ID == "" || sight.LoadBalancers[s.balancer].ID == "" {
		t.Errorf("seen is %+v, want one of everything", sight)
	}
}

func TestDriftIsSeen(t *testing.T) {
	tests := map[string]struct {
		drift   func(t *testing.T, s *standing) (cloudstack.Job, error)
		wakes   string
		minutes int
	}{
		"member removed": {func(t *testing.T, s *standing) (cloudstack.Job, error) {
			return s.RemoveMembers(t.Context(), s.balancer, s.vm)
		}, "cluster", 1},
		"load balancer deleted": {func(t *testing.T, s *standing) (cloudstack.Job, error) {
			return s.DeleteLoadBalancer(t.Context(), s.balancer)
		}, "cluster", 1},
		"firewall rule deleted": {func(t *testing.T, s *standing) (cloudstack.Job, error) {
			return s.DeleteFirewallRule(t.Context(), s.firewall)
		}, "cluster", 1},
		"address released": {func(t *testing.T, s *standing) (cloudstack.Job, error) {
			return s.ReleaseAddress(t.Context(), cloudstack.Lease{AddressID: s.address, NetworkID: s.network})
		}, "cluster", 1},
		"machine destroyed": {func(t *testing.T, s *standing) (cloudstack.Job, error) {
			return s.DestroyVM(t.Context(), s.vm, cloudstack.DestroyOptions{})
		}, "machine", 1},
		"machine stopped": {func(t *testing.T, s *standing) (cloudstack.Job, error) {
			return s.StopVM(t.Context(), s.vm)
		}, "machine", 1},
		"egress rule deleted": {func(t *testing.T, s *standing) (cloudstack.Job, error) {
			return s.DeleteFirewallRule(t.Context(), s.egress)
		}, "cluster", 5},
		"network tagged": {func(t *testing.T, s *standing) (cloudstack.Job, error) {
			return s.CreateTags(t.Context(), cloudstack.TagsOfNetwork, map[string]string{"a": "b"}, s.network)
		}, "cluster", 5},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStanding(t)
			before := s.woken[tc.wakes]
			job, err := tc.drift(t, s)
			s.await(t, job, err)
			s.minutes(t, tc.minutes)
			if s.woken[tc.wakes] == before {
				t.Errorf("the %s was not woken within %d minutes", tc.wakes, tc.minutes)
			}
		})
	}
}
