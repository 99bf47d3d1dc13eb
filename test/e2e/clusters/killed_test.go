//go:build e2e

package clusters

import (
	"context"
	"fmt"
	"testing"

	"github.com/capcat/capcat/test/stage"
)

// Managers that are killed at every turn of a cluster's life lose, double and leak nothing.
func TestManagersAreKilled(t *testing.T) {
	s := begin(t)
	s.catalog([]string{"zone-kvm"}, "v1.33.1", "v1.34.2")
	s.generate("struck", "v1.33.1", size{1, 2}, "", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	for want := range 3 {
		s.eventually(fmt.Sprintf("%d machines of struck with a VM", want+1), func(ctx context.Context) error { return s.haveVMs(ctx, "struck", want+1) })
		s.strike()
	}
	s.runs("struck", "v1.33.1", size{1, 2})
	s.upgrade("struck", "v1.34.2")
	s.eventually("a fourth machine", func(ctx context.Context) error { return s.haveVMs(ctx, "struck", 4) })
	s.strike()
	s.runs("struck", "v1.34.2", size{1, 2})
	if have := len(s.instances("struck")); have != 3 {
		t.Errorf("the cluster has %d VMs for 3 machines", have)
	}
	s.remove("struck")
}

// strike kills every manager as soon as it runs; each is started again.
func (s *story) strike() {
	s.t.Helper()
	for namespace, deployment := range map[string]string{
		stage.ManagerNamespace:              stage.ManagerName,
		"capi-system":                       "capi-controller-manager",
		"capi-kubeadm-bootstrap-system":     "capi-kubeadm-bootstrap-controller-manager",
		"capi-kubeadm-control-plane-system": "capi-kubeadm-control-plane-controller-manager",
	} {
		s.eventually("the end of "+deployment, func(context.Context) error { return s.management.Kill(namespace, deployment) })
	}
}

// haveVMs is nil when so many machines of a cluster have a VM at least.
func (s *story) haveVMs(ctx context.Context, cluster string, want int) error {
	machines, err := s.infraMachines(ctx, cluster)
	if err != nil {
		return err
	}
	have := 0
	for _, m := range machines {
		if m.Status.InstanceID != "" {
			have++
		}
	}
	if have < want {
		return fmt.Errorf("%d have one", have)
	}
	return nil
}
