//go:build e2e

package clusters

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/test/stage"
)

// The provider is upgraded by clusterctl under a running cluster, which keeps its VMs and goes on.
func TestUpgradeOfTheProvider(t *testing.T) {
	s := begin(t)
	s.catalog([]string{"zone-kvm"}, "v1.34.2")
	s.generate("steady", "v1.34.2", size{1, 1}, "", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	s.runs("steady", "v1.34.2", size{1, 1})
	before := s.instances("steady")

	_, err := s.management.Clusterctl(t.Context(), "upgrade", "apply", "--infrastructure", stage.Infrastructure+":"+nextVersion, "--wait-providers")
	s.must(err)
	s.eventually("version "+nextVersion+" of the provider", func(ctx context.Context) error {
		have, err := s.management.Kubectl(ctx, "get", "providers.clusterctl.cluster.x-k8s.io", "infrastructure-"+stage.Infrastructure,
			"-n", stage.ManagerNamespace, "-o", "jsonpath={.version}")
		if err == nil && have != nextVersion {
			err = fmt.Errorf("it has version %s", have)
		}
		return err
	})
	if diff := cmp.Diff(before, s.instances("steady")); diff != "" {
		t.Errorf("VMs have come (+) or gone (-) with the upgrade of the provider:\n%s", diff)
	}
	s.scale("steady", size{1, 2})
	s.runs("steady", "v1.34.2", size{1, 2})
	s.remove("steady")
}
