//go:build e2e

package clusters

import (
	"context"
	"fmt"
	"sync"
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

	installation.Lock()
	_, err := s.management.Clusterctl(t.Context(), "upgrade", "apply", "--infrastructure", stage.Infrastructure+":"+nextVersion, "--wait-providers")
	installation.Unlock()
	s.must(err)
	s.eventually("version "+nextVersion+" of the provider", func(ctx context.Context) error {
		have, err := s.installed(ctx)
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

// installation is held while the version of the provider changes, and by those who need it to stay.
var installation sync.Mutex

// installed is the version of the provider.
func (s *story) installed(ctx context.Context) (string, error) {
	return s.management.Kubectl(ctx, "get", "providers.clusterctl.cluster.x-k8s.io", "infrastructure-"+stage.Infrastructure,
		"-n", stage.ManagerNamespace, "-o", "jsonpath={.version}")
}
