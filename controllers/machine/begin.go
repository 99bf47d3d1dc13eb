package machine

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/step"
	"github.com/capcat/capcat/imagecatalog"
)

// awaitAllZones keeps the machine that would begin the upgrade of a group waiting until every zone that the group is spread
// over has the image: else the upgrade would end half way, with machines that had been replaced in one zone and not in another.
func (r *Reconciler) awaitAllZones(ctx context.Context, s *scope) error {
	sites := s.spreadOver()
	if len(sites) < 2 || s.begun() || s.m.Spec.Template != nil {
		return nil
	}
	if _, skipped := s.cluster.Annotations[infrav1.AnnotationSkipUpgradeGate]; skipped {
		return nil
	}
	version, err := imagecatalog.ParseVersion(s.machine.Spec.Version)
	if err != nil {
		return fmt.Errorf("reading the version of the Machine: %w", err)
	}
	images, err := r.images(ctx, s)
	if err != nil {
		return err
	}
	pool := imagecatalog.Pool{Name: groupOf(s.machine.Labels), Wants: s.request(version), Sites: sites}
	lacks := imagecatalog.NewStock(images, s.now).Lacking([]imagecatalog.Pool{pool}, version)
	if len(lacks) == 0 {
		return nil
	}
	begins, err := r.beginsUpgrade(ctx, s)
	if err != nil || !begins {
		return err
	}
	r.waiting.wait(s.key, shelfOf(s.key.Namespace, version, lacks[0].ZoneID))
	reason := infrav1.ReasonImageNotReady
	for _, l := range lacks {
		if !l.Coming {
			reason = infrav1.ReasonImageNotFound
		}
	}
	return &step.Waiting{Reason: reason, Message: "the upgrade begins when every zone has the image: " + imagecatalog.DescribeLacks(lacks)}
}

// spreadOver are the zones that the next machines of the group may come to; none when nothing tells, and one when they are
// bound to it. Control planes choose a failure domain for each machine anew.
func (s *scope) spreadOver() []imagecatalog.Site {
	if _, by := s.wanted(); by != "" && !s.controlPlane() || s.machine == nil || s.cluster == nil {
		return nil
	}
	var sites []imagecatalog.Site
	for _, name := range s.usable() {
		if d := s.infra.Status.Domain(name); d != nil {
			sites = append(sites, imagecatalog.Site{ZoneID: d.ZoneID, ZoneName: d.ZoneName, Hypervisors: d.Hypervisors})
		}
	}
	return sites
}

// beginsUpgrade tells whether the group has machines of other versions and none of this machine's version yet.
func (r *Reconciler) beginsUpgrade(ctx context.Context, s *scope) (bool, error) {
	var machines clusterv1.MachineList
	inCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: s.machine.Spec.ClusterName}
	if err := r.client.List(ctx, &machines, client.InNamespace(s.key.Namespace), inCluster, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing the Machines: %w", err)
	}
	mine, others := groupOf(s.machine.Labels), false
	for i := range machines.Items {
		m := &machines.Items[i]
		switch {
		case groupOf(m.Labels) != mine || !m.DeletionTimestamp.IsZero() || m.Name == s.machine.Name:
		case m.Spec.Version != s.machine.Spec.Version:
			others = true
		case isTrue(m.Status.Initialization.InfrastructureProvisioned):
			return false, nil
		}
	}
	return others, nil
}
