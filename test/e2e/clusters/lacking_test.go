//go:build e2e

package clusters

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// An upgrade to a version that no catalog has replaces nothing, says what is lacking where, and goes on when the image comes.
func TestUpgradeToAVersionThatTheCatalogLacks(t *testing.T) {
	s := begin(t)
	catalog := s.catalog([]string{"zone-kvm"}, "v1.33.1")
	s.generate("early", "v1.33.1", size{1, 2}, "", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	s.runs("early", "v1.33.1", size{1, 2})
	before := s.instances("early")

	s.upgrade("early", "v1.34.2")
	s.eventually("the condition of the cluster", func(ctx context.Context) error {
		var c infrav1.CloudStackCluster
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "early"}, &c); err != nil {
			return err
		}
		return conditionIs(c.Status.Conditions, infrav1.ConditionVersionsAvailable, metav1.ConditionFalse, infrav1.ReasonImageNotFound, "v1.34.2", "zone-kvm")
	})
	s.eventually("the condition of the machines that wait", func(ctx context.Context) error {
		machines, err := s.infraMachines(ctx, "early")
		if err != nil {
			return err
		}
		waiting := slices.DeleteFunc(machines, func(m infrav1.CloudStackMachine) bool { return m.Status.InstanceID != "" })
		// Workers follow when the control plane is upgraded.
		if len(waiting) == 0 {
			return errors.New("no machine waits")
		}
		var errs []error
		for _, m := range waiting {
			errs = append(errs, conditionIs(m.Status.Conditions, infrav1.ConditionResolved, metav1.ConditionFalse, infrav1.ReasonImageNotFound, "v1.34.2", "zone-kvm"))
		}
		return errors.Join(errs...)
	})
	if diff := cmp.Diff(before, s.instances("early")); diff != "" {
		t.Errorf("VMs have come (+) or gone (-) without an image:\n%s", diff)
	}

	s.must(s.client.Get(t.Context(), client.ObjectKeyFromObject(catalog), catalog))
	was := catalog.DeepCopy()
	catalog.Spec.Images[0].KubernetesVersions = append(catalog.Spec.Images[0].KubernetesVersions, "v1.34.2")
	s.patch(catalog, client.MergeFrom(was))
	s.runs("early", "v1.34.2", size{1, 2})
	s.remove("early")
}
