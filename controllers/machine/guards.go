package machine

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
)

// findOwners reads what Cluster API put above the machine. What does not exist stays nil.
func (r *Reconciler) findOwners(ctx context.Context, s *scope) error {
	machine, err := util.GetOwnerMachine(ctx, r.client, s.m.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the Machine: %w", err)
	}
	if err == nil {
		s.machine = machine
	}
	name := s.m.Labels[clusterv1.ClusterNameLabel]
	if s.machine != nil {
		name = s.machine.Spec.ClusterName
	}
	if name == "" {
		return nil
	}
	cluster := &clusterv1.Cluster{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: s.m.Namespace, Name: name}, cluster); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("reading the Cluster %s: %w", name, err)
	}
	s.cluster = cluster
	infra, err := kube.Infrastructure(ctx, r.client, cluster)
	if err == nil {
		s.infra = infra
	}
	return client.IgnoreNotFound(err)
}

// admit keeps a machine waiting until Cluster API and the cluster's infrastructure are ready for it. A machine that has, or
// may have, a VM is past all that.
func (r *Reconciler) admit(_ context.Context, s *scope) error {
	switch {
	case s.machine == nil && !s.begun():
		return &step.Waiting{Reason: infrav1.ReasonWaitingForOwner, Message: "Cluster API has not made a Machine the owner of this object yet"}
	case s.infra == nil && s.m.Status.Resolved == nil:
		return &step.Waiting{Reason: infrav1.ReasonWaitingForInfrastructure, Message: "the Cluster or its CloudStackCluster does not exist"}
	case s.begun():
		return nil
	case s.cluster == nil || !isTrue(s.cluster.Status.Initialization.InfrastructureProvisioned) && !isTrue(s.infra.Status.Initialization.Provisioned):
		return &step.Waiting{Reason: infrav1.ReasonWaitingForInfrastructure, Message: "the infrastructure of the cluster is not provisioned yet"}
	case s.machine.Spec.Bootstrap.DataSecretName == nil:
		return &step.Waiting{
			Reason:  infrav1.ReasonWaitingForBootstrapData,
			Message: fmt.Sprintf("the bootstrap provider has not set spec.bootstrap.dataSecretName of the Machine %s yet", s.machine.Name),
		}
	}
	return nil
}

// begun tells whether a VM exists or may exist.
func (s *scope) begun() bool {
	return s.m.Status.InstanceID != "" || s.provisioned() || s.m.Status.Job != nil
}

func isTrue(b *bool) bool { return b != nil && *b }
