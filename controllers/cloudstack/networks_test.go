package cloudstack_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/test/cloudsim"
)

func TestNetworkLife(t *testing.T) {
	s := newSite(t)
	twin := s.makeNetwork(t, "net-twin")
	again := s.makeNetwork(t, "net")
	found, err := s.NetworksNamed(t.Context(), cloudstack.Owner{}, s.zone, "net")
	var ids []string
	for _, n := range found {
		ids = append(ids, n.ID)
	}
	want := []string{s.network, again}
	slices.Sort(want)
	slices.Sort(ids)
	if diff := cmp.Diff(want, ids); err != nil || diff != "" {
		t.Errorf("networks of the name: %v (-want +got):\n%s", err, diff)
	}
	one, err := s.FindNetwork(t.Context(), cloudstack.Owner{}, twin)
	if err != nil || one.Type != "Isolated" || one.State != cloudstack.NetworkAllocated || one.DisplayText != mark+"=me" || !one.Offers("Lb") {
		t.Errorf("FindNetwork() = %+v, %v, want an isolated one with its mark", one, err)
	}

	job, err := s.CreateTags(t.Context(), cloudstack.TagsOfNetwork, map[string]string{mark: "me"}, twin)
	s.await(t, job, err)
	if one, err = s.FindNetwork(t.Context(), cloudstack.Owner{}, twin); err != nil || one.Tags[mark] != "me" {
		t.Errorf("tagged it is %+v, %v", one, err)
	}

	id := s.deploy(t, s.vm)
	job, err = s.DeleteNetwork(t.Context(), s.network)
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Step(time.Minute)
	if outcome, err := s.JobOutcome(t.Context(), job, "deleteNetwork"); err != nil || outcome.Err == nil || outcome.Err.Kind != cloudstack.InUse {
		t.Errorf("deleting a network with a machine is %+v, %v, want InUse", outcome, err)
	}
	job, err = s.DestroyVM(t.Context(), id, cloudstack.DestroyOptions{})
	s.await(t, job, err)
	s.clock.Step(72 * time.Hour)
	for _, network := range []string{s.network, twin, again} {
		job, err = s.DeleteNetwork(t.Context(), network)
		s.await(t, job, err)
		if _, err := s.FindNetwork(t.Context(), cloudstack.Owner{}, network); !cloudstack.Is(err, cloudstack.NotFound) {
			t.Errorf("the deleted network: %v, want NotFound", err)
		}
		if _, err := s.DeleteNetwork(t.Context(), network); !cloudstack.Is(err, cloudstack.NotFound) {
			t.Errorf("deleting it again: %v, want NotFound", err)
		}
	}
}

func TestHalfAnAddressPlanIsRefused(t *testing.T) {
	s := session(t, newStub(t))
	n := cloudstack.NewNetwork{Name: "n", ZoneID: "z", OfferingID: "o", Gateway: "10.0.0.1"}
	if _, err := s.CreateNetwork(t.Context(), n); !cloudstack.Is(err, cloudstack.Invalid) {
		t.Errorf("a gateway without a netmask: %v, want Invalid", err)
	}
}

// takeAddress takes a public address for the site's network.
func (s *site) takeAddress(t *testing.T) string {
	t.Helper()
	id, job, err := s.AssociateAddress(t.Context(), cloudstack.NewAddress{NetworkID: s.network})
	s.await(t, job, err)
	return id
}

// balance makes a load-balancer rule for the API on an address.
func (s *site) balance(t *testing.T, address string) string {
	t.Helper()
	id, job, err := s.CreateLoadBalancer(t.Context(), cloudstack.NewLoadBalancer{
		Name: "api", Description: mark + "=me", AddressID: address, PublicPort: 6443, PrivatePort: 6443, Algorithm: "roundrobin",
	})
	s.await(t, job, err)
	return id
}

func TestAddressLife(t *testing.T) {
	s := newSite(t)
	nat := s.takeAddress(t)
	id, job, err := s.AssociateAddress(t.Context(), cloudstack.NewAddress{NetworkID: s.network})
	if err != nil {
		t.Fatal(err)
	}
	young, err := s.FindAddress(t.Context(), cloudstack.Owner{}, id)
	if err != nil || young.State != cloudstack.AddressAllocating {
		t.Errorf("right after the call it is %+v, %v, want it being allocated", young, err)
	}
	if _, err := s.ReleaseAddress(t.Context(), cloudstack.Lease{AddressID: id, NetworkID: s.network, Unfinished: true}); !cloudstack.Is(err, cloudstack.Forbidden) {
		t.Errorf("giving back what a job is still taking: %v, want Forbidden", err)
	}
	s.await(t, job, nil)
	all, err := s.Addresses(t.Context(), cloudstack.AddressQuery{NetworkID: s.network})
	if err != nil || len(all) != 2 {
		t.Errorf("Addresses() = %+v, %v, want two", all, err)
	}
	a, err := s.FindAddress(t.Context(), cloudstack.Owner{}, id)
	if err != nil || a.State != cloudstack.AddressAllocated || a.NetworkID != s.network || a.SourceNAT {
		t.Fatalf("FindAddress() = %+v, %v", a, err)
	}
	if first, err := s.FindAddress(t.Context(), cloudstack.Owner{}, nat); err != nil || !first.SourceNAT {
		t.Errorf("the first address is %+v, %v, want the source NAT", first, err)
	}
	if _, _, err := s.AssociateAddress(t.Context(), cloudstack.NewAddress{NetworkID: s.network, IP: a.IP}); !cloudstack.Is(err, cloudstack.Capacity) {
		t.Errorf("asking for a taken address: %v, want Capacity", err)
	}
	job, err = s.CreateTags(t.Context(), cloudstack.TagsOfAddress, map[string]string{mark: "me"}, id)
	s.await(t, job, err)

	lease := cloudstack.Lease{AddressID: id, NetworkID: s.network, TagKey: mark, TagValue: "me"}
	for name, other := range map[string]cloudstack.Lease{
		"another owner's tag": {AddressID: id, NetworkID: s.network, TagKey: mark, TagValue: "you"},
		"another network":     {AddressID: id, NetworkID: "other", TagKey: mark, TagValue: "me"},
	} {
		if _, err := s.ReleaseAddress(t.Context(), other); !cloudstack.Is(err, cloudstack.Forbidden) {
			t.Errorf("%s: %v, want Forbidden", name, err)
		}
	}
	job, err = s.ReleaseAddress(t.Context(), lease)
	s.await(t, job, err)
	if _, err := s.ReleaseAddress(t.Context(), lease); !cloudstack.Is(err, cloudstack.NotFound) {
		t.Errorf("releasing it again: %v, want NotFound", err)
	}

	// The id belongs to the address: another tenant takes it, and a root administrator must not take it away.
	other := &site{cloud: s.cloud, Session: s.as(t, "user"), zone: s.zone}
	other.network = other.makeNetwork(t, "net")
	_, job, err = other.AssociateAddress(t.Context(), cloudstack.NewAddress{NetworkID: other.network, IP: a.IP})
	other.await(t, job, err)
	for caller, want := range map[string]cloudstack.Kind{"tenant": cloudstack.NotFound, "admin": cloudstack.Forbidden} {
		if _, err := s.as(t, caller).ReleaseAddress(t.Context(), lease); !cloudstack.Is(err, want) {
			t.Errorf("%s releases an address that is another tenant's now: %v, want %s", caller, err, want)
		}
	}
}

func TestLoadBalancerLife(t *testing.T) {
	s := newSite(t)
	address := s.takeAddress(t)
	id := s.balance(t, address)
	got, err := s.FindLoadBalancer(t.Context(), cloudstack.Owner{}, id)
	if err != nil {
		t.Fatal(err)
	}
	want := cloudstack.LoadBalancer{
		ID: id, Name: "api", Description: mark + "=me", AddressID: address, IP: got.IP, NetworkID: s.network, PublicPort: 6443,
		PrivatePort: 6443, Algorithm: "roundrobin", Protocol: "tcp", State: "Add", Tags: map[string]string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the rule (-want +got):\n%s", diff)
	}
	if rules, err := s.LoadBalancers(t.Context(), cloudstack.Owner{}, address); err != nil || len(rules) != 1 {
		t.Errorf("LoadBalancers() = %+v, %v, want one", rules, err)
	}
	if rules, err := s.FirewallRules(t.Context(), cloudstack.Owner{}, address); err != nil || len(rules) > 0 {
		t.Errorf("FirewallRules() = %+v, %v, want none that came with the rule", rules, err)
	}
	n := cloudstack.NewLoadBalancer{Name: "again", AddressID: address, PublicPort: 6443, PrivatePort: 6443, Algorithm: "source"}
	if _, _, err := s.CreateLoadBalancer(t.Context(), n); !cloudstack.Is(err, cloudstack.Conflict) {
		t.Errorf("a second rule of the port: %v, want Conflict", err)
	}

	vm := s.deploy(t, s.vm)
	job, err := s.AddMembers(t.Context(), id, vm)
	s.await(t, job, err)
	members, err := s.Members(t.Context(), id)
	if diff := cmp.Diff([]string{vm}, members); err != nil || diff != "" {
		t.Errorf("members: %v (-want +got):\n%s", err, diff)
	}
	job, err = s.AddMembers(t.Context(), id, vm)
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Step(time.Minute)
	if outcome, err := s.JobOutcome(t.Context(), job, ""); err != nil || outcome.State != cloudstack.JobFailed {
		t.Errorf("adding a member again is %+v, %v, want a failure that tells nothing", outcome, err)
	}
	job, err = s.RemoveMembers(t.Context(), id, vm)
	s.await(t, job, err)
	if members, err = s.Members(t.Context(), id); err != nil || len(members) > 0 {
		t.Errorf("members after the removal are %v, %v", members, err)
	}

	job, err = s.DeleteLoadBalancer(t.Context(), id)
	s.await(t, job, err)
	gone := map[string]error{}
	_, gone["find"] = s.FindLoadBalancer(t.Context(), cloudstack.Owner{}, id)
	_, gone["members"] = s.Members(t.Context(), id)
	_, gone["add"] = s.AddMembers(t.Context(), id, vm)
	_, gone["remove"] = s.RemoveMembers(t.Context(), id, vm)
	_, gone["delete"] = s.DeleteLoadBalancer(t.Context(), id)
	for name, err := range gone {
		if !cloudstack.Is(err, cloudstack.NotFound) {
			t.Errorf("%s after the deletion: %v, want NotFound", name, err)
		}
	}
}

func TestRulesOfBothDirections(t *testing.T) {
	s := newSite(t)
	address := s.takeAddress(t)
	in := cloudstack.FirewallRule{AddressID: address, Protocol: "tcp", StartPort: 6443, EndPort: 6443, CIDRs: []string{"192.0.2.0/24", "10.0.0.0/8"}}
	id, job, err := s.CreateFirewallRule(t.Context(), in)
	s.await(t, job, err)
	got, err := s.FirewallRules(t.Context(), cloudstack.Owner{}, address)
	want := []cloudstack.FirewallRule{{
		ID: id, AddressID: address, NetworkID: s.network, Protocol: "tcp", StartPort: 6443, EndPort: 6443,
		CIDRs: []string{"10.0.0.0/8", "192.0.2.0/24"}, State: "Active", Tags: map[string]string{},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("firewall rules: %v (-want +got):\n%s", err, diff)
	}
	out := cloudstack.FirewallRule{NetworkID: s.network, Protocol: "all"}
	egress, job, err := s.CreateEgressRule(t.Context(), out)
	s.await(t, job, err)
	rules, err := s.EgressRules(t.Context(), cloudstack.Owner{}, s.network)
	if err != nil || len(rules) != 1 || rules[0].ID != egress || rules[0].Protocol != "all" || rules[0].StartPort != 0 {
		t.Errorf("EgressRules() = %+v, %v, want the one", rules, err)
	}
	if _, _, err := s.CreateFirewallRule(t.Context(), in); !cloudstack.Is(err, cloudstack.Conflict) {
		t.Errorf("the firewall rule again: %v, want Conflict", err)
	}
	if _, _, err := s.CreateEgressRule(t.Context(), out); !cloudstack.Is(err, cloudstack.Conflict) {
		t.Errorf("the egress rule again: %v, want Conflict", err)
	}
	for _, rule := range []string{id, egress} {
		job, err := s.DeleteFirewallRule(t.Context(), rule)
		s.await(t, job, err)
		if _, err := s.DeleteFirewallRule(t.Context(), rule); !cloudstack.Is(err, cloudstack.NotFound) {
			t.Errorf("deleting a rule again: %v, want NotFound", err)
		}
	}
}

func TestRulesBeforeTheirAddressIsThere(t *testing.T) {
	s := newSite(t)
	address, _, err := s.AssociateAddress(t.Context(), cloudstack.NewAddress{NetworkID: s.network})
	if err != nil {
		t.Fatal(err)
	}
	early := map[string]error{}
	n := cloudstack.NewLoadBalancer{Name: "api", AddressID: address, PublicPort: 6443, PrivatePort: 6443, Algorithm: "roundrobin"}
	_, _, early["load balancer"] = s.CreateLoadBalancer(t.Context(), n)
	_, _, early["firewall"] = s.CreateFirewallRule(t.Context(), cloudstack.FirewallRule{AddressID: address, Protocol: "tcp", StartPort: 1})
	for name, err := range early {
		if !cloudstack.Is(err, cloudstack.Busy) {
			t.Errorf("%s: %v, want Busy", name, err)
		}
	}
}

// TestCreateFaults strikes what is made on the network and tells what there is afterwards.
func TestCreateFaults(t *testing.T) {
	creates := map[string]struct {
		make  func(t *testing.T, s *site, address string) error
		count func(t *testing.T, s *site, address string) (int, error)
	}{
		"createNetwork": {
			func(t *testing.T, s *site, _ string) error {
				old, err := s.FindNetwork(t.Context(), cloudstack.Owner{}, s.network)
				if err != nil {
					return err
				}
				_, err = s.CreateNetwork(t.Context(), cloudstack.NewNetwork{Name: "new", ZoneID: s.zone, OfferingID: old.OfferingID})
				return err
			},
			func(t *testing.T, s *site, _ string) (int, error) {
				rows, err := s.NetworksNamed(t.Context(), cloudstack.Owner{}, s.zone, "new")
				return len(rows), err
			},
		},
		"associateIpAddress": {
			func(t *testing.T, s *site, _ string) error {
				_, _, err := s.AssociateAddress(t.Context(), cloudstack.NewAddress{NetworkID: s.network})
				return err
			},
			func(t *testing.T, s *site, _ string) (int, error) {
				s.clock.Step(time.Minute)
				rows, err := s.Addresses(t.Context(), cloudstack.AddressQuery{NetworkID: s.network})
				return len(rows) - 1, err
			},
		},
		"createLoadBalancerRule": {
			func(t *testing.T, s *site, address string) error {
				n := cloudstack.NewLoadBalancer{Name: "api", AddressID: address, PublicPort: 6443, PrivatePort: 6443, Algorithm: "roundrobin"}
				_, _, err := s.CreateLoadBalancer(t.Context(), n)
				return err
			},
			func(t *testing.T, s *site, address string) (int, error) {
				rows, err := s.LoadBalancers(t.Context(), cloudstack.Owner{}, address)
				return len(rows), err
			},
		},
		"createFirewallRule": {
			func(t *testing.T, s *site, address string) error {
				_, _, err := s.CreateFirewallRule(t.Context(), cloudstack.FirewallRule{AddressID: address, Protocol: "tcp", StartPort: 22})
				return err
			},
			func(t *testing.T, s *site, address string) (int, error) {
				rows, err := s.FirewallRules(t.Context(), cloudstack.Owner{}, address)
				return len(rows), err
			},
		},
		"createEgressFirewallRule": {
			func(t *testing.T, s *site, _ string) error {
				_, _, err := s.CreateEgressRule(t.Context(), cloudstack.FirewallRule{NetworkID: s.network, Protocol: "all"})
				return err
			},
			func(t *testing.T, s *site, _ string) (int, error) {
				rows, err := s.EgressRules(t.Context(), cloudstack.Owner{}, s.network)
				return len(rows), err
			},
		},
		"createAffinityGroup": {
			func(t *testing.T, s *site, _ string) error {
				_, _, err := s.CreateAffinityGroup(t.Context(), cloudstack.Owner{}, cloudstack.AffinityGroup{Name: "g", Type: cloudstack.HostAffinity})
				return err
			},
			func(t *testing.T, s *site, _ string) (int, error) {
				_, err := s.AffinityGroupNamed(t.Context(), cloudstack.Owner{}, "g")
				if cloudstack.Is(err, cloudstack.NotFound) {
					return 0, nil
				}
				return 1, err
			},
		},
	}
	faults := []struct {
		phase, kind string
		want        cloudstack.Kind
		made        int
	}{
		{cloudsim.PhaseBefore, cloudsim.FaultReset, cloudstack.LostReply, 0},
		{cloudsim.PhaseBefore, cloudsim.FaultError, cloudstack.Internal, 0},
		{cloudsim.PhaseBefore, cloudsim.Fault429, cloudstack.Throttled, 0},
		{cloudsim.PhaseDuring, cloudsim.FaultReset, cloudstack.LostReply, 1},
		{cloudsim.PhaseAfter, cloudsim.FaultError, cloudstack.Internal, 1},
		{cloudsim.PhaseAfter, cloudsim.Fault502, cloudstack.LostReply, 1},
	}
	for command, create := range creates {
		for _, f := range faults {
			t.Run(command+" "+f.kind+" "+f.phase, func(t *testing.T) {
				s := newSite(t)
				address := s.takeAddress(t)
				if err := s.AddFault(cloudsim.Fault{Command: command, Phase: f.phase, Kind: f.kind}); err != nil {
					t.Fatal(err)
				}
				if err := create.make(t, s, address); !cloudstack.Is(err, f.want) {
					t.Fatalf("%v, want %s", err, f.want)
				}
				s.clock.Step(2 * time.Second)
				if made, err := create.count(t, s, address); err != nil || made != f.made {
					t.Errorf("there are %d, %v, want %d", made, err, f.made)
				}
			})
		}
	}
}
