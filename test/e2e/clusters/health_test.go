//go:build e2e

package clusters

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/stage"
)

// A VM that somebody destroys in CloudStack is noticed and told truthfully, and its machine is replaced by a MachineHealthCheck.
func TestMachineHealthCheckReplacesALostVM(t *testing.T) {
	s := begin(t)
	s.catalog([]string{"zone-kvm"}, "v1.34.2")
	s.generate("healing", "v1.34.2", size{1, 2}, "", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	s.runs("healing", "v1.34.2", size{1, 2})

	machines, err := s.infraMachines(t.Context(), "healing")
	s.must(err)
	at := slices.IndexFunc(machines, func(m infrav1.CloudStackMachine) bool { return len(m.Status.LoadBalancerRuleIDs) == 0 })
	lost := machines[at]
	s.shorten("healing-md-0")
	cloud := s.cloud(stage.Caller)
	destroy := cloud.VirtualMachine.NewDestroyVirtualMachineParams(lost.Status.InstanceID)
	destroy.SetExpunge(true)
	_, err = cloud.VirtualMachine.DestroyVirtualMachine(destroy)
	s.must(err)

	s.eventually("the end of machine "+lost.Name, func(ctx context.Context) error {
		now, err := s.infraMachines(ctx, "healing")
		if err != nil {
			return err
		}
		for _, m := range now {
			if m.Name == lost.Name {
				return fmt.Errorf("it is still there: %w", conditionIs(m.Status.Conditions, infrav1.ConditionInstanceReady, metav1.ConditionFalse, infrav1.ReasonInstanceDestroyed))
			}
		}
		return nil
	})
	s.runs("healing", "v1.34.2", size{1, 2})
	if slices.Contains(s.instances("healing"), lost.Status.InstanceID) {
		t.Errorf("a machine still has the VM %s", lost.Status.InstanceID)
	}
	s.remove("healing")
}

// shorten makes a MachineHealthCheck act on silent nodes within seconds.
func (s *story) shorten(name string) {
	s.t.Helper()
	check := &clusterv1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	patch := `{"spec":{"checks":{"unhealthyNodeConditions":[{"type":"Ready","status":"Unknown","timeoutSeconds":5},{"type":"Ready","status":"False","timeoutSeconds":5}]}}}`
	s.patch(check, client.RawPatch("application/merge-patch+json", []byte(patch)))
}
