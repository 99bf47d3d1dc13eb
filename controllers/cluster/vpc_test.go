package cluster_test

import (
	"slices"
	"testing"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
)

const tierOffering = "DefaultIsolatedNetworkOfferingForVpcNetworks"

// vpc makes a VPC that is nobody's.
func (w *world) vpc(name string) string {
	w.T.Helper()
	all, err := w.cloud.VPCOfferings(w.T.Context())
	w.Must(err)
	at := slices.IndexFunc(all, func(o cloudstack.VPCOffering) bool { return o.Name == "Default VPC offering" })
	id, job, err := w.cloud.CreateVPC(w.T.Context(), cloudstack.NewVPC{Name: name, ZoneID: w.zoneID, OfferingID: all[at].ID, CIDR: "10.80.0.0/16"})
	w.await(job, err)
	return id
}

// tier makes a tier that is nobody's, behind the ACL list of that name.
func (w *world) tier(name, vpcID, gateway, acl string) string {
	w.T.Helper()
	list, err := w.cloud.FindACL(w.T.Context(), acl)
	w.Must(err)
	return w.Network(w.cloud, cloudstack.NewNetwork{
		Name: name, ZoneID: w.zoneID, VPCID: vpcID, ACLID: list, Gateway: gateway, Netmask: "255.255.255.0",
	}, tierOffering)
}

func tierOf(vpc infrav1.VPC) change {
	return network(infrav1.Network{Name: "tier", Gateway: "10.80.1.1", Netmask: "255.255.255.0", VPC: &vpc})
}

func TestClusterInAVPC(t *testing.T) {
	rows := map[string]struct {
		change func(*world) change
		// made is what the cluster makes, beside what was there.
		made         made
		tier, wholly bool
	}{
		"everything is made": {
			func(*world) change { return tierOf(infrav1.VPC{Name: "cloud", CIDR: "10.80.0.0/16"}) },
			made{VPCs: 1, Networks: 1, Addresses: 2, Balancers: 1, Tags: 6}, true, true,
		},
		"a tier is made in a VPC that is there": {
			func(w *world) change { w.vpc("cloud-2"); w.vpc("cloud"); return tierOf(infrav1.VPC{Name: "cloud"}) },
			made{Networks: 1, Addresses: 1, Balancers: 1, Tags: 4}, true, false,
		},
		"a tier that is there, by id": {
			func(w *world) change {
				return network(infrav1.Network{ID: w.tier("t", w.vpc("cloud"), "10.80.1.1", cloudstack.ACLAllowAll)})
			},
			made{Addresses: 1, Balancers: 1, Tags: 2}, false, false,
		},
		"a tier that is there, by names": {
			func(w *world) change {
				w.tier("t", w.vpc("other"), "10.80.1.1", cloudstack.ACLAllowAll)
				id := w.vpc("cloud")
				w.tier("t", id, "10.80.1.1", cloudstack.ACLAllowAll)
				return network(infrav1.Network{Name: "t", VPC: &infrav1.VPC{ID: id}})
			},
			made{Addresses: 1, Balancers: 1, Tags: 2}, false, false,
		},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.start(w.Client)
			changed := row.change(w)
			before, from := w.made(), w.Calls("")
			c := w.cluster("c1", changed)
			got := m.Drive(c, ready)
			if calls := w.Calls("") - from; calls > 24 {
				t.Errorf("%d calls", calls)
			}
			if diff := w.made().less(before); diff != row.made {
				t.Errorf("made %+v, want %+v", diff, row.made)
			}
			d := got.Status.Domain(zone)
			if d.VPC == nil || d.VPC.Created != row.wholly || d.Network.Created != row.tier {
				t.Errorf("resolved %+v, network %+v, VPC %+v", d, d.Network, d.VPC)
			}
			if got.Spec.ControlPlaneEndpoint.Host != got.Status.LoadBalancer.PublicIP || got.Status.LoadBalancer.PublicIP == "" {
				t.Errorf("endpoint %+v of %+v", got.Spec.ControlPlaneEndpoint, got.Status.LoadBalancer)
			}
			m.Live(10 * 60e9)
			if !ready(w.get(c)) {
				t.Errorf("later it is %+v", condition(w.get(c), infrav1.ConditionReady))
			}
			m.delete(c)
			w.wantMade(before)
		})
	}
}

// TestTierIsFoundAgain: what was made is deleted although the status is lost, as by a move.
func TestTierIsFoundAgain(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	before := w.made()
	c := w.cluster("c1", tierOf(infrav1.VPC{Name: "cloud", CIDR: "10.80.0.0/16"}))
	m.Drive(c, ready)
	whole := w.made()
	forget := func() {
		lost := w.get(c).DeepCopy()
		lost.Status = infrav1.CloudStackClusterStatus{ObservedGeneration: 1}
		w.Must(w.Client.Status().Update(t.Context(), lost))
		m = w.start(w.Client)
	}
	forget()
	if d := m.Drive(c, ready).Status.Domain(zone); !d.VPC.Created || !d.Network.Created {
		t.Errorf("resolved %+v", d)
	}
	w.wantMade(whole)
	forget()
	m.delete(c)
	w.wantMade(before)
}

func TestVPCGuards(t *testing.T) {
	rows := map[string]struct {
		change func(*world) change
		reason string
	}{
		"none of the name, and no range": {func(w *world) change { w.vpc("cloud-2"); return tierOf(infrav1.VPC{Name: "cloud"}) }, infrav1.ReasonVPCNotFound},
		"twins":                          {func(w *world) change { w.vpc("cloud"); w.vpc("cloud"); return tierOf(infrav1.VPC{Name: "cloud"}) }, infrav1.ReasonVPCAmbiguous},
		"no such id": {func(*world) change {
			return tierOf(infrav1.VPC{ID: "00000000-0000-4000-8000-000000000000"})
		}, infrav1.ReasonVPCNotFound},
		"no such offering": {func(*world) change {
			return tierOf(infrav1.VPC{Name: "cloud", CIDR: "10.80.0.0/16", Offering: "x"})
		}, infrav1.ReasonVPCOfferingNotFound},
		"no range for the tier": {func(w *world) change {
			return network(infrav1.Network{Name: "tier", VPC: &infrav1.VPC{ID: w.vpc("cloud")}})
		}, infrav1.ReasonInvalidSpec},
		"a range outside the VPC": {func(w *world) change {
			id := w.vpc("cloud")
			return network(infrav1.Network{Name: "tier", Gateway: "10.81.1.1", Netmask: "255.255.255.0", VPC: &infrav1.VPC{ID: id}})
		}, infrav1.ReasonInvalidSpec},
		"a tier that lets nobody in": {func(w *world) change {
			return network(infrav1.Network{ID: w.tier("t", w.vpc("cloud"), "10.80.1.1", "default_deny")})
		}, infrav1.ReasonNetworkUnsuitable},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.start(w.Client)
			changed := row.change(w)
			before := w.made()
			c := w.cluster("c1", changed)
			m.Drive(c, because(row.reason))
			m.delete(c)
			w.wantMade(before)
		})
	}
}
