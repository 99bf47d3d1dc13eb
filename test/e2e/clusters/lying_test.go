//go:build e2e

package clusters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/builder"
)

// Workers are upgraded by a template that holds an older version than its name says: the first Node tells, and the others stay.
func TestTemplateThatLies(t *testing.T) {
	s := begin(t)
	s.catalog([]string{"zone-kvm"}, "v1.33.1")
	s.generate("deceived", "v1.33.1", size{1, 2}, "", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	s.runs("deceived", "v1.33.1", size{1, 2})
	before := s.instances("deceived")

	lying := builder.Catalog(s.namespace, "lying", builder.InZones("zone-kvm"), builder.OfVersions("v1.34.2"), builder.Deleting(), func(c *infrav1.TemplateCatalog) {
		// By this detail the simulator knows what is inside.
		c.Spec.Images[0].Template.Details = map[string]infrav1.DetailValue{"kubernetes.version": "v1.33.1"}
	})
	s.must(s.client.Create(t.Context(), lying))
	s.imagesReady(lying)
	s.upgrade("deceived", "v1.34.2")
	s.eventually("the condition of the machines that are not what they should be", func(ctx context.Context) error {
		machines, err := s.infraMachines(ctx, "deceived")
		if err != nil {
			return err
		}
		wrong := slices.DeleteFunc(machines, func(m infrav1.CloudStackMachine) bool { return slices.Contains(before, m.Status.InstanceID) })
		if len(wrong) == 0 {
			return errors.New("no new machine is there")
		}
		var errs []error
		for _, m := range wrong {
			for _, kind := range []string{infrav1.ConditionKubeletVersionMatched, infrav1.ConditionReady} {
				errs = append(errs, conditionIs(m.Status.Conditions, kind, metav1.ConditionFalse, infrav1.ReasonKubeletVersionMismatch, "v1.34.2", "v1.33.1", "node"))
			}
		}
		return errors.Join(errs...)
	})
	s.eventually("what Cluster API tells of them", func(ctx context.Context) error {
		machines, err := s.machines(ctx, "deceived")
		if err != nil {
			return err
		}
		for _, m := range machines {
			c := meta.FindStatusCondition(m.Status.Conditions, clusterv1.MachineInfrastructureReadyCondition)
			if m.Spec.Version == "v1.34.2" && m.Status.NodeRef.IsDefined() && (c == nil || c.Status != metav1.ConditionFalse || c.Reason != infrav1.ReasonKubeletVersionMismatch) {
				return fmt.Errorf("machine %s: %+v", m.Name, c)
			}
		}
		return nil
	})
	s.remove("deceived")
}
