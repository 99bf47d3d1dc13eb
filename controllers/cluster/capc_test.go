package cluster_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// capc reads manifests with the field names of Cluster API Provider CloudStack and changes nothing but their apiVersion.
func (w *world) capc(path string) []*unstructured.Unstructured {
	w.T.Helper()
	text, err := os.ReadFile(path)
	w.Must(err)
	text = bytes.ReplaceAll(text, []byte("infrastructure.cluster.x-k8s.io/v1beta3"), []byte(infrav1.GroupVersion.String()))
	text = bytes.ReplaceAll(text, []byte("NAMESPACE"), []byte(w.NS))
	var out []*unstructured.Unstructured
	for _, document := range strings.Split(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		w.Must(yaml.Unmarshal([]byte(document), &o.Object))
		o.SetNamespace(w.NS)
		out = append(out, o)
	}
	return out
}

// TestManifestsOfCAPCApply: the API server takes them, with every field known, as kubectl asks it to.
func TestManifestsOfCAPCApply(t *testing.T) {
	w := newWorld(t)
	paths, err := filepath.Glob(filepath.Join("testdata", "capc", "*.yaml"))
	w.Must(err)
	if len(paths) < 6 {
		t.Fatalf("manifests %v", paths)
	}
	for _, path := range paths {
		for _, o := range w.capc(path) {
			t.Run(o.GetKind()+"/"+o.GetName(), func(t *testing.T) {
				if err := w.Client.Create(t.Context(), o, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestClustersOfCAPCBecomeReady: the manifests mean what they meant there.
func TestClustersOfCAPCBecomeReady(t *testing.T) {
	rows := map[string]func(*testing.T, *world, *infrav1.CloudStackCluster){
		"isolated": func(t *testing.T, w *world, c *infrav1.CloudStackCluster) {
			found, err := w.cloud.FindNetwork(t.Context(), ownerless, c.Status.Resolved[0].Network.ID)
			w.Must(err)
			if found.Name != "isolated-net" || found.CIDR != "10.2.0.0/24" || c.Spec.ControlPlaneEndpoint.Host == "" {
				t.Errorf("network %+v, endpoint %+v", found, c.Spec.ControlPlaneEndpoint)
			}
		},
		"endpoint": func(t *testing.T, _ *world, c *infrav1.CloudStackCluster) {
			if lb := c.Status.LoadBalancer; lb.PublicIP != "192.168.2.30" || !lb.Created || c.Spec.ControlPlaneEndpoint.Host != lb.PublicIP {
				t.Errorf("load balancer %+v, endpoint %+v", lb, c.Spec.ControlPlaneEndpoint)
			}
		},
		"empties": func(t *testing.T, w *world, c *infrav1.CloudStackCluster) {
			found, err := w.cloud.FindNetwork(t.Context(), ownerless, c.Status.Resolved[0].Network.ID)
			w.Must(err)
			if end := c.Spec.ControlPlaneEndpoint; found.Name != "empties-net" || end.Host == "" || end.Port != 6443 || c.Status.KubernetesClusterID != "" {
				t.Errorf("network %+v, endpoint %+v, Kubernetes cluster %q", found, end, c.Status.KubernetesClusterID)
			}
		},
		"existing-vpc": func(t *testing.T, _ *world, c *infrav1.CloudStackCluster) {
			if d := c.Status.Resolved[0]; d.VPC.Created || !d.Network.Created || c.Status.KubernetesClusterID == "" {
				t.Errorf("resolved %+v", d)
			}
		},
		"new-vpc": func(t *testing.T, w *world, c *infrav1.CloudStackCluster) {
			found, err := w.cloud.FindVPC(t.Context(), ownerless, c.Status.Resolved[0].VPC.ID)
			w.Must(err)
			if found.Name != "new-cloud" || found.CIDR != "10.90.0.0/16" {
				t.Errorf("VPC %+v", found)
			}
		},
	}
	for name, check := range rows {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.vpc("cloud")
			before := w.made()
			o := w.capc(filepath.Join("testdata", "capc", name+".yaml"))[0]
			owner := &clusterv1.Cluster{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name},
				Spec: clusterv1.ClusterSpec{
					InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackCluster", Name: name},
				},
			}
			w.Must(w.Client.Create(t.Context(), owner))
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: name, UID: owner.UID}})
			w.Must(w.Client.Create(t.Context(), o))
			m := w.start(w.Client)
			c := &infrav1.CloudStackCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}}
			check(t, w, m.Drive(c, ready))
			m.delete(w.get(c))
			w.wantMade(before)
		})
	}
}
