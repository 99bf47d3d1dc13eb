//go:build e2e

package clusters

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUpgradeByOneField(t *testing.T) {
	s := begin(t)
	s.catalog([]string{"zone-kvm"}, "v1.33.1", "v1.34.2")
	s.generate("one", "v1.33.1", size{1, 1}, "", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	s.runs("one", "v1.33.1", size{1, 1})
	s.scale("one", size{3, 2})
	s.runs("one", "v1.33.1", size{3, 2})
	before := s.templates()
	s.upgrade("one", "v1.34.2")
	s.runs("one", "v1.34.2", size{3, 2})
	if diff := cmp.Diff(before, s.templates()); diff != "" {
		t.Errorf("the CloudStackMachineTemplates have changed, -before +after:\n%s", diff)
	}
	s.remove("one")
}
