package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// Infrastructure reads the CloudStackCluster of a Cluster. It is not found, as client.IgnoreNotFound has it, when there is
// none yet, and when the Cluster has infrastructure of another kind.
func Infrastructure(ctx context.Context, c client.Reader, cluster *clusterv1.Cluster) (*infrav1.CloudStackCluster, error) {
	ref := cluster.Spec.InfrastructureRef
	if ref.APIGroup != infrav1.GroupName || ref.Kind != "CloudStackCluster" {
		return nil, apierrors.NewNotFound(infrav1.GroupVersion.WithResource("cloudstackclusters").GroupResource(), ref.Name)
	}
	infra := &infrav1.CloudStackCluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, infra); err != nil {
		return nil, fmt.Errorf("reading the CloudStackCluster %s: %w", ref.Name, err)
	}
	return infra, nil
}
