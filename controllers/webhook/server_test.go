package webhook_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/webhook"
	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/process"
)

var plane controlplane.Shared

func TestMain(m *testing.M) { os.Exit(plane.Run(m)) }

// TestThroughTheAPIServer asks a real API server, which asks our webhooks.
func TestThroughTheAPIServer(t *testing.T) {
	namespace := plane.Namespace(t)
	c := serveWebhooks(t, namespace)
	template := read[infrav1.CloudStackMachineTemplate](t, machineTemplateText)
	template.Namespace = namespace
	if err := c.Create(t.Context(), template); err != nil {
		t.Fatal(err)
	}

	changed := template.DeepCopy()
	changed.Spec.Template.Spec.Offering.Name = "large"
	expectRefusal(t, c.Update(t.Context(), changed), "create a new one")
	expectRefusal(t, c.Update(t.Context(), changed, client.DryRunAll), "create a new one")
	changed.Annotations = map[string]string{clusterv1.TopologyDryRunAnnotation: ""}
	expectRefusal(t, c.Update(t.Context(), changed), "create a new one")
	expectRefusal(t, c.Update(t.Context(), changed, client.DryRunAll), "")
	labelled := template.DeepCopy()
	labelled.Labels = map[string]string{"by": "stranger"}
	expectRefusal(t, c.Update(t.Context(), labelled), "")

	applyTwice(t, c, namespace)

	cluster := read[infrav1.CloudStackCluster](t, clusterText)
	cluster.Namespace = namespace
	expectRefusal(t, c.Create(t.Context(), cluster), "put the Secret into")
	cluster.Spec.FailureDomains[0].ACSEndpoint.Namespace = namespace
	expectRefusal(t, c.Create(t.Context(), cluster), "")
	cluster.Spec.ControlPlaneEndpoint.Host = "192.0.2.7"
	expectRefusal(t, c.Update(t.Context(), cluster), "")
	cluster.Spec.ControlPlaneEndpoint.Host = "192.0.2.8"
	expectRefusal(t, c.Update(t.Context(), cluster), "cannot be changed once it is set")
}

// applyTwice applies a template server-side as a topology does: the second time, and a dry run with another offering,
// change nothing.
func applyTwice(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	wanted := func(offering string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		text := strings.Replace(machineTemplateText, "name: small", "name: "+offering, 1)
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		obj.SetGroupVersionKind(infrav1.GroupVersion.WithKind("CloudStackMachineTemplate"))
		obj.SetNamespace(namespace)
		obj.SetName("applied")
		return obj
	}
	apply := func(obj *unstructured.Unstructured, options ...client.ApplyOption) {
		t.Helper()
		options = append(options, client.FieldOwner("topology"), client.ForceOwnership)
		if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), options...); err != nil {
			t.Fatal(err)
		}
	}
	first, second := wanted("small"), wanted("small")
	apply(first)
	apply(second)
	if first.GetResourceVersion() != second.GetResourceVersion() {
		t.Error("Applying the same again makes a difference")
	}
	other := wanted("large")
	other.SetAnnotations(map[string]string{clusterv1.TopologyDryRunAnnotation: ""})
	apply(other, client.DryRunAll)
	if other.GetGeneration() == first.GetGeneration() {
		t.Error("The dry run does not show that a new template is needed")
	}
}

// serveWebhooks serves the webhooks to the API server, for one namespace alone: others may share the server.
func serveWebhooks(t *testing.T, namespace string) client.Client {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	ca := writeCertificate(t, dir)
	server := crwebhook.NewServer(crwebhook.Options{Host: "127.0.0.1", Port: port, CertDir: dir})
	mgr, err := ctrl.NewManager(plane.Config(t), ctrl.Options{
		Scheme: s, WebhookServer: server, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := webhook.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	c := plane.Client(t, s)
	config := configuration(t, namespace, "https://127.0.0.1:"+strconv.Itoa(port), ca)
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(ctx), config); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if err := c.Create(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	awaitWebhooks(t, c, server, namespace)
	return c
}

// awaitWebhooks waits until the server answers and the API server asks it: what must be refused is tried, as a dry run.
func awaitWebhooks(t *testing.T, c client.Client, server crwebhook.Server, namespace string) {
	t.Helper()
	probe := read[infrav1.CloudStackCluster](t, clusterText)
	probe.Namespace = namespace
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
		if server.StartedChecker()(nil) == nil && apierrors.IsInvalid(c.Create(t.Context(), probe.DeepCopy(), client.DryRunAll)) {
			return
		}
	}
}

// configuration is that of the manifests, for one namespace and an address.
func configuration(t *testing.T, namespace, address string, ca []byte) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	config := manifests(t)
	config.Name = namespace
	for i := range config.Webhooks {
		w := &config.Webhooks[i]
		url := address + *w.ClientConfig.Service.Path
		w.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca}
		w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}
	}
	return config
}

func manifests(t *testing.T) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "webhook", "manifests.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(data, config); err != nil {
		t.Fatal(err)
	}
	return config
}

// writeCertificate makes a certificate for 127.0.0.1, and gives as PEM what vouches for it.
func writeCertificate(t *testing.T, dir string) []byte {
	t.Helper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err == nil {
		err = errors.Join(certutil.WriteCert(filepath.Join(dir, "tls.crt"), certificate), keyutil.WriteKey(filepath.Join(dir, "tls.key"), key))
	}
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
