package cluster

import (
	"context"
	"fmt"

	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/step"
)

// findOwner reads the Cluster that owns the object. It stays nil when there is none.
func (r *Reconciler) findOwner(ctx context.Context, s *scope) error {
	cluster, err := util.GetOwnerCluster(ctx, r.client, s.c.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the Cluster: %w", err)
	}
	if err == nil {
		s.cluster = cluster
	}
	return nil
}

// admit keeps the object waiting until Cluster API owns it.
func (r *Reconciler) admit(_ context.Context, s *scope) error {
	if s.cluster == nil {
		return &step.Waiting{Reason: infrav1.ReasonWaitingForOwner, Message: "Cluster API has not made a Cluster the owner of this object yet"}
	}
	return nil
}

// admitDeletion lets an object go for which nothing was made, or that lives on elsewhere.
func (r *Reconciler) admitDeletion(_ context.Context, s *scope) error {
	_, moved := s.c.Annotations[infrav1.AnnotationDeleteForMove]
	if moved || !controllerutil.ContainsFinalizer(s.c, infrav1.FinalizerCluster) {
		s.letGo()
		return &step.Waiting{Reason: infrav1.ReasonDeleting, Message: "nothing was made for the cluster here, or it was moved"}
	}
	return nil
}

func (s *scope) letGo() {
	controllerutil.RemoveFinalizer(s.c, infrav1.FinalizerCluster)
	s.released = true
}
