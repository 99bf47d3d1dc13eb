//go:build e2e

package clusters

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/test/management"
	"github.com/capcat/capcat/test/stage"
)

// A cluster that is moved to another management cluster keeps its VMs, and is scaled, upgraded and deleted there.
func TestMoveToAnotherManagementCluster(t *testing.T) {
	s := begin(t)
	catalog := s.catalog([]string{"zone-kvm"}, "v1.33.1", "v1.34.2")
	s.generate("moving", "v1.33.1", size{1, 2}, "", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	s.runs("moving", "v1.33.1", size{1, 2})
	before := s.instances("moving")

	other := s.move()
	if machines, err := s.machines(t.Context(), "moving"); err != nil || len(machines) > 0 {
		t.Errorf("%d machines have stayed behind: %v", len(machines), err)
	}

	there, err := stage.NewClient(other.Config())
	s.must(err)
	s.management, s.client = other, there
	s.imagesReady(catalog)
	s.runs("moving", "v1.33.1", size{1, 2})
	if diff := cmp.Diff(before, s.instances("moving")); diff != "" {
		t.Errorf("the move has made VMs (+) or lost some (-):\n%s", diff)
	}
	s.scale("moving", size{1, 3})
	s.runs("moving", "v1.33.1", size{1, 3})
	s.upgrade("moving", "v1.34.2")
	s.runs("moving", "v1.34.2", size{1, 3})
	s.remove("moving")
}

// move moves the story to a second management cluster, in which clusterctl wants the version of the provider that the first has.
func (s *story) move() *management.Cluster {
	s.t.Helper()
	ctx := s.t.Context()
	other, err := world.Second(ctx)
	s.must(err)
	installation.Lock()
	defer installation.Unlock()
	version, err := s.installed(ctx)
	s.must(err)
	s.must(other.Init(ctx, stage.Infrastructure+":"+version))
	_, err = other.Kubectl(ctx, "create", "namespace", s.namespace)
	s.must(err)
	_, err = s.management.Clusterctl(ctx, "move", "--namespace", s.namespace, "--to-kubeconfig", other.Kubeconfig)
	s.must(err)
	return other
}
