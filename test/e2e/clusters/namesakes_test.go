//go:build e2e

package clusters

import (
	"slices"
	"testing"
)

// Two clusters of one name in two namespaces, with the same credentials and the same manifest, share nothing.
func TestClustersOfOneName(t *testing.T) {
	one, two := begin(t), elsewhere(t)
	for _, s := range []*story{one, two} {
		s.catalog([]string{"zone-kvm"}, "v1.34.2")
		s.generate("same", "v1.34.2", size{1, 1}, "", "CLOUDSTACK_ZONE_NAME=zone-kvm", "CLOUDSTACK_NETWORK_NAME=same")
	}
	for _, s := range []*story{one, two} {
		s.runs("same", "v1.34.2", size{1, 1})
	}
	for _, id := range one.instances("same") {
		if slices.Contains(two.instances("same"), id) {
			t.Errorf("both clusters have the VM %s", id)
		}
	}
	one.remove("same")
	two.runs("same", "v1.34.2", size{1, 1})
	two.remove("same")
}
