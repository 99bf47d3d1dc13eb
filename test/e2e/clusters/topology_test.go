//go:build e2e

package clusters

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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
	s.refusesVariables("classy")
	s.upgradeTopology("classy", "v1.34.2")
	s.runs("classy", "v1.34.2", size{1, 2})
	s.remove("classy")
}

// refusesVariables tries values of variables that become fields of ours, in copies of a Cluster.
func (s *story) refusesVariables(cluster string) {
	s.t.Helper()
	have, err := s.cluster(s.t.Context(), cluster)
	s.must(err)
	for _, tc := range []struct{ variable, value, wrong string }{
		{"zone", `"zone-kvm"`, ""},
		{"zone", `5`, "must be of type string"},
		{"zones", `["zone-kvm"]`, "is not defined"},
		{"network", `{"name":"old","type":"Shared"}`, ""},
		{"network", `{"nme":"old"}`, "nme"},
		{"network", `{"name":"new","gateway":"10.1.1.1"}`, "belong together"},
		{"failureDomains", `[{"name":"a","zone":{"name":"zone-kvm","network":{"vpc":{"name":"v"}}}},{"name":"b","controlPlane":false}]`, ""},
		{"failureDomains", `[{"name":"a","zones":{"name":"zone-kvm"}}]`, "zones"},
		{"failureDomains", `[{"name":"Rack 4"}]`, "should match"},
		{"controlPlaneLoadBalancer", `{"enabled":false}`, ""},
		{"controlPlaneLoadBalancer", `{"enable":false}`, "enable"},
		{"controlPlaneLoadBalancer", `{"additionalPorts":[{"name":"join","port":93450}]}`, "65535"},
		{"controlPlaneLoadBalancer", `{"allowedCIDRs":["10.0.0.1"]}`, "IPv4 range"},
		{"controlPlaneEndpointIP", `""`, ""},
		{"controlPlaneEndpointIP", `"soon"`, "IPv4 address"},
		{"workerOffering", `{"minimum":{"memory":"4Gi"}}`, ""},
		{"workerOffering", `{"minimum":{"memory":"much"}}`, "should match"},
		{"controlPlaneOffering", `{}`, "exactly one"},
	} {
		c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "other"}, Spec: have.Spec}
		c.Spec.ControlPlaneRef, c.Spec.InfrastructureRef, c.Spec.ControlPlaneEndpoint = clusterv1.ContractVersionedObjectReference{}, clusterv1.ContractVersionedObjectReference{}, clusterv1.APIEndpoint{}
		c.Spec.Topology.Variables = []clusterv1.ClusterVariable{{Name: tc.variable, Value: apiextensionsv1.JSON{Raw: []byte(tc.value)}}}
		err := s.client.Create(s.t.Context(), c, client.DryRunAll)
		if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			s.t.Errorf("the variable %s of %s: %v, want %q", tc.variable, tc.value, err, tc.wrong)
		}
	}
}

func (s *story) upgradeTopology(cluster, version string) {
	s.t.Helper()
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: cluster}}
	s.patch(c, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"topology":{"version":%q}}}`, version)))
}
