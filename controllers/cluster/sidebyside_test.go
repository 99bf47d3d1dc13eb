package cluster_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
)

// inDomains has a cluster work in so many failure domains, each with a network of its own.
func inDomains(n int) change {
	return spec(func(s *infrav1.CloudStackClusterSpec) {
		s.Zone, s.FailureDomains = nil, nil
		for i := range n {
			s.FailureDomains = append(s.FailureDomains, domain(fmt.Sprintf("d%d", i), fmt.Sprintf("net-%d", i)))
		}
	})
}

// lasts tells how long a cluster takes to be ready, and then to be gone, on the clock of the cloud.
func (w *world) lasts(name string, changes ...change) (toReady, toGone time.Duration) {
	w.T.Helper()
	m := w.start(w.Client)
	defer m.Stop()
	began := w.Clock.Now()
	c := w.cluster(name, changes...)
	m.Drive(c, ready)
	toReady = w.Clock.Since(began)
	began = w.Clock.Now()
	m.delete(c)
	return toReady, w.Clock.Since(began)
}

// TestFailureDomainsAreWorkedOnSideBySide: no failure domain waits for the jobs of another.
func TestFailureDomainsAreWorkedOnSideBySide(t *testing.T) {
	w := newWorld(t)
	before := w.made()
	one, oneGone := w.lasts("one", inDomains(1))
	three, threeGone := w.lasts("three", inDomains(3))
	w.wantMade(before)
	t.Logf("one failure domain: ready after %s, gone after %s; three: %s and %s", one, oneGone, three, threeGone)
	const slack = time.Second // each status is saved before the next failure domain is worked on
	if three > one+slack || threeGone > oneGone+slack {
		t.Errorf("three failure domains are ready after %s and gone after %s, want no longer than the %s and %s of one", three, threeGone, one, oneGone)
	}
}

// TestOneFailureDomainHoldsUpNoOther: what can be made is made while a network cannot, and the status tells of it.
func TestOneFailureDomainHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	before := w.made()
	c := w.cluster("c", inDomains(3), spec(func(s *infrav1.CloudStackClusterSpec) {
		s.FailureDomains[0].Zone.Network = infrav1.Network{Name: "nowhere", Type: infrav1.NetworkTypeShared}
	}))
	got := m.Drive(c, because(infrav1.ReasonNetworkNotFound))
	if now := w.made(); now.Networks != before.Networks+2 {
		t.Errorf("the cloud holds %+v, want two networks more than %+v; status %+v", now, before, got.Status)
	}
	m.delete(c)
	w.wantMade(before)
}

// TestLostReplyInOneOfThreeFailureDomains: every thing is made once, whichever call got no answer.
func TestLostReplyInOneOfThreeFailureDomains(t *testing.T) {
	for _, command := range []string{"createNetwork", "createEgressFirewallRule", "deleteNetwork"} {
		for skip := range 3 {
			t.Run(fmt.Sprintf("%s/%d", command, skip+1), func(t *testing.T) {
				w := newWorld(t)
				before := w.made()
				w.Must(w.Sim.AddFault(cloudsim.Fault{Command: command, Phase: cloudsim.PhaseAfter, Kind: cloudsim.FaultReset, Skip: skip}))
				m := w.start(w.Client)
				c := w.cluster("c", inDomains(3))
				got := m.Drive(c, ready)
				if now := w.made(); now.Networks != before.Networks+3 || now.Egress != before.Egress+3 {
					t.Errorf("the cloud holds %+v", now)
				}
				var egress []string
				for _, d := range got.Status.Resolved {
					egress = append(egress, d.Network.EgressRuleIDs...)
				}
				if slices.Sort(egress); len(slices.Compact(egress)) != 3 {
					t.Errorf("egress rules %q, want one for each network", egress)
				}
				m.delete(c)
				w.wantMade(before)
			})
		}
	}
}

// TestFailureDomainsInOneNetwork: they do not work on the same thing at one time.
func TestFailureDomainsInOneNetwork(t *testing.T) {
	for name, network := range map[string]infrav1.Network{
		"network": {Name: "shared"},
		"VPC":     {Name: "tier", Gateway: "10.7.1.1", Netmask: "255.255.255.0", VPC: &infrav1.VPC{Name: "vpc", CIDR: "10.7.0.0/16"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := w.made()
			m := w.start(w.Client)
			c := w.cluster("c", inDomains(2), spec(func(s *infrav1.CloudStackClusterSpec) {
				for i := range s.FailureDomains {
					s.FailureDomains[i].Zone.Network = network
				}
			}))
			m.Drive(c, ready)
			if now := w.made(); now.Networks != before.Networks+1 || now.VPCs > before.VPCs+1 || now.Egress > before.Egress+1 {
				t.Errorf("the cloud holds %+v", now)
			}
			m.delete(c)
			w.wantMade(before)
		})
	}
}
