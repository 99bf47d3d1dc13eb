//go:build e2e

package clusters

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A cluster of the ClusterClass is upgraded by the version of its topology.
func TestTopologyUpgrade(t *testing.T) {
	s := begin(t)
	s.catalog([]string{"zone-kvm"}, "v1.33.1", "v1.34.2")
	s.generate("classy", "v1.33.1", size{1, 2}, "topology", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	s.runs("classy", "v1.33.1", size{1, 2})
	s.upgradeTopology("classy", "v1.34.2")
	s.runs("classy", "v1.34.2", size{1, 2})
	s.remove("classy")
}

func (s *story) upgradeTopology(cluster, version string) {
	s.t.Helper()
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: cluster}}
	s.patch(c, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"topology":{"version":%q}}}`, version)))
}
