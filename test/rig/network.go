package rig

import (
	"cmp"

	"github.com/capcat/capcat/controllers/cloudstack"
)

// NATOffering is what CloudStack itself comes with for isolated networks.
const NATOffering = "DefaultIsolatedNetworkOfferingWithSourceNatService"

// Network makes a network with the offering of a name, and returns its id.
func (w *World) Network(as *cloudstack.Session, n cloudstack.NewNetwork, offering string) string {
	w.T.Helper()
	all, err := as.NetworkOfferings(w.T.Context(), n.ZoneID)
	w.Must(err)
	for _, o := range all {
		if o.Name == offering {
			n.OfferingID = o.ID
		}
	}
	if n.OfferingID == "" {
		w.T.Fatalf("no offering %s", offering)
	}
	n.DisplayText = cmp.Or(n.DisplayText, n.Name)
	id, err := as.CreateNetwork(w.T.Context(), n)
	w.Must(err)
	return id
}
