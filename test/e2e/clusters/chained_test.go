//go:build e2e

package clusters

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capcat/capcat/test/stage"
)

// A topology is upgraded over two minor versions: nothing begins before the last of them is in the catalog, and the one between
// is the newest that there is.
func TestChainedUpgradeWaitsForTheCatalog(t *testing.T) {
	s := begin(t)
	catalog := s.catalog([]string{"zone-kvm"}, "v1.33.1", "v1.34.2", "v1.34.3")
	s.generate("chained", "v1.33.1", size{1, 1}, "topology", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	s.runs("chained", "v1.33.1", size{1, 1})
	extension := s.extension()
	s.planBy(extension, "chained")
	before := s.instances("chained")

	s.upgradeTopology("chained", "v1.35.0")
	s.eventually("the hook that blocks", func(ctx context.Context) error {
		c, err := s.cluster(ctx, "chained")
		if err != nil {
			return err
		}
		told := meta.FindStatusCondition(c.Status.Conditions, clusterv1.ClusterTopologyReconciledCondition)
		if told == nil || told.Status != metav1.ConditionFalse || !strings.Contains(told.Message, "no ready image of v1.35.0 in zone-kvm (control plane, ") {
			return fmt.Errorf("it is told so: %+v", told)
		}
		return nil
	})
	if diff := cmp.Diff(before, s.instances("chained")); diff != "" {
		t.Errorf("VMs have come (+) or gone (-) without an image:\n%s", diff)
	}

	s.must(s.client.Get(t.Context(), client.ObjectKeyFromObject(catalog), catalog))
	was := catalog.DeepCopy()
	catalog.Spec.Images[0].KubernetesVersions = append(catalog.Spec.Images[0].KubernetesVersions, "v1.35.0")
	s.patch(catalog, client.MergeFrom(was))
	s.eventually("a control plane of v1.34.3", func(ctx context.Context) error {
		machines, err := s.machines(ctx, "chained")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(machines, func(m clusterv1.Machine) bool { return m.Spec.Version == "v1.34.3" }) {
			return errors.New("there is none")
		}
		return nil
	})
	s.runs("chained", "v1.35.0", size{1, 1})
	s.remove("chained")
}

// extension has Cluster API ask our manager about the clusters of the story, and returns the name of what it asks. The release's
// ExtensionConfig leads to a Service, whose name nobody resolves here: a relay stands in for it.
func (s *story) extension() string {
	s.t.Helper()
	relay := httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "https", Host: "hooks"})
		},
		Transport: s.toHooks(),
	})
	s.t.Cleanup(relay.Close)
	name := s.namespace
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "runtime.cluster.x-k8s.io/v1beta2", "kind": "ExtensionConfig", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"clientConfig": map[string]any{
				"url":      relay.URL,
				"caBundle": base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: relay.Certificate().Raw})),
			},
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: s.namespace}},
		},
	}}
	s.must(s.client.Create(s.t.Context(), config))
	s.t.Cleanup(func() {
		if err := s.client.Delete(context.WithoutCancel(s.t.Context()), config); err != nil {
			s.t.Error(err)
		}
	})
	s.eventually("the discovery of the hooks", func(ctx context.Context) error {
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return err
		}
		handlers, _, err := unstructured.NestedSlice(config.Object, "status", "handlers")
		if err == nil && len(handlers) == 0 {
			err = fmt.Errorf("there are no handlers: %v", config.Object["status"])
		}
		return err
	})
	return "generate-upgrade-plan." + name
}

// toHooks speaks to the port of our manager that its Service has for hooks, and trusts what vouches for the Service.
func (s *story) toHooks() http.RoundTripper {
	s.t.Helper()
	const service = "capc-webhook-service"
	var secret corev1.Secret
	s.must(s.client.Get(s.t.Context(), client.ObjectKey{Namespace: stage.ManagerNamespace, Name: service + "-cert"}, &secret))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data["ca.crt"])
	return &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: service + "." + stage.ManagerNamespace + ".svc"},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var slices discoveryv1.EndpointSliceList
			err := s.client.List(ctx, &slices, client.InNamespace(stage.ManagerNamespace), client.MatchingLabels{discoveryv1.LabelServiceName: service})
			if err != nil {
				return nil, err
			}
			for _, slice := range slices.Items {
				for _, port := range slice.Ports {
					if *port.Name == "runtime-hooks" {
						return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(slice.Endpoints[0].Addresses[0], strconv.Itoa(int(*port.Port))))
					}
				}
			}
			return nil, errors.New("the Service leads nowhere")
		},
	}
}

// planBy has the upgrades of a cluster's class planned by an extension.
func (s *story) planBy(extension, cluster string) {
	s.t.Helper()
	c, err := s.cluster(s.t.Context(), cluster)
	s.must(err)
	class := &clusterv1.ClusterClass{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: c.Spec.Topology.ClassRef.Name}}
	patch := fmt.Appendf(nil, `{"spec":{"upgrade":{"external":{"generateUpgradePlanExtension":%q}}}}`, extension)
	s.patch(class, client.RawPatch("application/merge-patch+json", patch))
}
