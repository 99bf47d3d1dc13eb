//go:build e2e

package clusters

import "testing"

func TestScaling(t *testing.T) {
	s := begin(t)
	s.catalog([]string{"zone-kvm"}, "v1.34.2")
	s.generate("elastic", "v1.34.2", size{1, 1}, "", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	for _, n := range []size{{1, 1}, {3, 5}, {3, 0}, {1, 3}} {
		s.scale("elastic", n)
		s.runs("elastic", "v1.34.2", n)
		if have := len(s.instances("elastic")); have != n.controlPlane+n.workers {
			t.Errorf("CloudStack has %d VMs for %d+%d machines", have, n.controlPlane, n.workers)
		}
	}
	s.remove("elastic")
}
