//go:build e2e

package clusters

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// While a cluster is paused nothing is made or deleted, whatever is asked for; afterwards everything is done.
func TestPauseAndResume(t *testing.T) {
	s := begin(t)
	s.catalog([]string{"zone-kvm"}, "v1.34.2")
	s.generate("resting", "v1.34.2", size{1, 1}, "", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	s.runs("resting", "v1.34.2", size{1, 1})
	before := s.instances("resting")

	s.pause("resting", true)
	s.eventually("the pause", func(ctx context.Context) error {
		var c infrav1.CloudStackCluster
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "resting"}, &c); err != nil {
			return err
		}
		machines, err := s.infraMachines(ctx, "resting")
		if err != nil {
			return err
		}
		for _, m := range machines {
			if err := conditionIs(m.Status.Conditions, infrav1.ConditionPaused, metav1.ConditionTrue, clusterv1.PausedReason); err != nil {
				return fmt.Errorf("machine %s: %w", m.Name, err)
			}
		}
		return conditionIs(c.Status.Conditions, infrav1.ConditionPaused, metav1.ConditionTrue, clusterv1.PausedReason)
	})
	s.scale("resting", size{1, 3})
	machines, err := s.machines(t.Context(), "resting")
	s.must(err)
	worker := machines[slices.IndexFunc(machines, func(m clusterv1.Machine) bool { return !util.IsControlPlaneMachine(&m) })]
	s.must(s.client.Delete(t.Context(), &worker))
	if diff := cmp.Diff(before, s.instances("resting")); diff != "" {
		t.Errorf("VMs have come (+) or gone (-) during the pause:\n%s", diff)
	}

	s.pause("resting", false)
	s.runs("resting", "v1.34.2", size{1, 3})
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(&worker), &worker); !apierrors.IsNotFound(err) {
		t.Errorf("the machine %s that was deleted during the pause is still there: %v", worker.Name, err)
	}
	s.remove("resting")
}

// pause sets whether a Cluster is paused.
func (s *story) pause(name string, paused bool) {
	s.t.Helper()
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	s.patch(c, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"paused":%t}}`, paused)))
}
