package cluster_test

import (
	"testing"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
)

// TestStatusLostBeforeDeletion: a cluster whose status is lost, as by a move to another management cluster, and which is deleted
// before anything else is done, leaves nothing of its own in a network that is somebody else's.
func TestStatusLostBeforeDeletion(t *testing.T) {
	rows := map[string]func(*world) change{
		"in a network that is made": func(*world) change { return network(infrav1.Network{}) },
		"in a network by name": func(w *world) change {
			w.network("found", natOffering)
			return network(infrav1.Network{Name: "found"})
		},
		"in a network by id": func(w *world) change { return network(infrav1.Network{ID: w.network("found", natOffering)}) },
		"behind an address that was there": func(w *world) change {
			id := w.network("found", natOffering)
			address, job, err := w.cloud.AssociateAddress(w.T.Context(), cloudstack.NewAddress{NetworkID: id})
			w.await(job, err)
			a, err := w.cloud.FindAddress(w.T.Context(), ownerless, address)
			w.Must(err)
			return spec(func(s *infrav1.CloudStackClusterSpec) {
				s.Network, s.ControlPlaneEndpointIP = &infrav1.Network{ID: id}, a.IP
			})
		},
		"in a tier of a VPC that are there": func(w *world) change {
			return network(infrav1.Network{ID: w.tier("t", w.vpc("cloud"), "10.80.1.1", cloudstack.ACLAllowAll)})
		},
		"in a tier that is made of a VPC that is there": func(w *world) change {
			w.vpc("cloud")
			return tierOf(infrav1.VPC{Name: "cloud"})
		},
		"in a VPC that is made": func(*world) change { return tierOf(infrav1.VPC{Name: "cloud", CIDR: "10.80.0.0/16"}) },
	}
	for name, prepare := range rows {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			changed := prepare(w)
			before := w.made()
			m := w.start(w.Client)
			c := w.cluster("c", changed)
			m.Drive(c, ready)
			m.Stop()

			moved := w.get(c)
			moved.Status = infrav1.CloudStackClusterStatus{}
			w.Must(w.Client.Status().Update(t.Context(), moved))
			w.start(w.Client).delete(c)
			w.wantMade(before)
		})
	}
}

// TestDeletionWithoutAnythingMade: what belongs to somebody else under the names that the cluster would have used stays.
func TestDeletionWithoutAnythingMade(t *testing.T) {
	w := newWorld(t)
	w.network("found", natOffering)
	w.network("twin", natOffering)
	w.network("twin", natOffering)
	before := w.made()
	for name, n := range map[string]infrav1.Network{"found": {Name: "found"}, "ambiguous": {Name: "twin"}, "absent": {Name: "nowhere"}} {
		t.Run(name, func(t *testing.T) {
			inner := *w
			inner.T = t
			m := inner.start(inner.Client)
			c := inner.cluster(name, network(n))
			_, err := m.Once(c) // the finalizer and the identity are there, and nothing else
			inner.Must(err)
			m.delete(c)
			inner.wantMade(before)
		})
	}
}
