package release_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/release"
)

const version = "v0.1.0"

// built returns the folder of a release that is built once for all tests.
func built(t *testing.T) string {
	t.Helper()
	dir, err := artefacts()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// components are the objects that clusterctl init applies when no variable is set.
func components(t *testing.T, variables map[string]string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(built(t), release.Components))
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, process(t, text, variables))
}

func TestReleaseHasItsFiles(t *testing.T) {
	entries, err := os.ReadDir(built(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	for _, want := range []string{"infrastructure-components.yaml", "metadata.yaml", "cluster-template.yaml", "clusterclass-cloudstack.yaml", "clusterctl.yaml", "extensionconfig.yaml"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing among %s", want, names)
		}
	}
	pattern := regexp.MustCompile(`^(infrastructure-components|metadata|clusterctl|extensionconfig|cluster-template(-[a-z0-9-]+)?|clusterclass-[a-z0-9-]+)\.yaml$`)
	for _, name := range names {
		if !pattern.MatchString(name) {
			t.Errorf("nobody has a use for %s", name)
		}
	}
}

func TestMetadataHasTheSeries(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(built(t), release.Metadata))
	if err != nil {
		t.Fatal(err)
	}
	var m clusterctlv1.Metadata
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		t.Fatal(err)
	}
	if m.APIVersion != clusterctlv1.GroupVersion.String() || m.Kind != "Metadata" {
		t.Errorf("it is a %s %s", m.APIVersion, m.Kind)
	}
	want := []clusterctlv1.ReleaseSeries{{Major: 0, Minor: 1, Contract: "v1beta2"}}
	if diff := cmp.Diff(want, m.ReleaseSeries); diff != "" {
		t.Error(diff)
	}
}

func TestComponentsLiveInOneNamespace(t *testing.T) {
	var namespaces []string
	for _, o := range components(t, nil) {
		if o.GetKind() == "Namespace" {
			namespaces = append(namespaces, o.GetName())
		}
		if ns := o.GetNamespace(); ns != "" && ns != "capc-system" {
			t.Errorf("%s %s is in namespace %s", o.GetKind(), o.GetName(), ns)
		}
	}
	if diff := cmp.Diff([]string{"capc-system"}, namespaces); diff != "" {
		t.Errorf("namespaces: %s", diff)
	}
}

func TestComponentsBelongToTheProvider(t *testing.T) {
	for _, o := range components(t, nil) {
		if got := o.GetLabels()["cluster.x-k8s.io/provider"]; got != "infrastructure-cloudstack" {
			t.Errorf("%s %s has the provider %q", o.GetKind(), o.GetName(), got)
		}
	}
}

func TestManagerIsDeployedAsClusterctlExpects(t *testing.T) {
	d := deployment(t, nil)
	if d.Name != "capc-controller-manager" || d.Namespace != "capc-system" {
		t.Errorf("the Deployment is %s/%s", d.Namespace, d.Name)
	}
	containers := d.Spec.Template.Spec.Containers
	if len(containers) != 1 || containers[0].Name != "manager" {
		t.Fatalf("the containers are %v", containers)
	}
	if want := "ghcr.io/capcat/capc-controller:" + version; containers[0].Image != want {
		t.Errorf("the image is %s, want %s", containers[0].Image, want)
	}
}

// TestNothingHasToBeSet renders the components with no variable at all.
func TestNothingHasToBeSet(t *testing.T) {
	got := deployment(t, nil).Spec.Template.Spec.Containers[0].Args
	want := []string{
		"--leader-elect", "--diagnostics-address=:8443", "--insecure-diagnostics=false", "--v=2",
		"--data-dir=/var/lib/capcat", "--store-max-bytes=21474836480", "--image-workers=2", "--fetch-use-proxy=false",
		"--pull-hosts=", "--serve-addr=:8082", "--serve-external-url=",
		"--runtime-extension-addr=:9444",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestVariablesReachTheManager(t *testing.T) {
	args := deployment(t, map[string]string{
		"CAPI_DIAGNOSTICS_ADDRESS": "localhost:8080", "CAPI_INSECURE_DIAGNOSTICS": "true", "CAPCAT_LOG_LEVEL": "4",
		"CAPCAT_STORE_MAX_BYTES": "0", "CAPCAT_IMAGE_WORKERS": "4", "CAPCAT_FETCH_USE_PROXY": "true",
		"CAPCAT_PULL_HOSTS": "images.example.org,.internal.example.org", "CAPCAT_SERVE_EXTERNAL_URL": "http://images.example.org:8080/capcat",
	}).Spec.Template.Spec.Containers[0].Args
	for _, want := range []string{
		"--diagnostics-address=localhost:8080", "--insecure-diagnostics=true", "--v=4", "--store-max-bytes=0", "--image-workers=4",
		"--fetch-use-proxy=true", "--pull-hosts=images.example.org,.internal.example.org", "--serve-external-url=http://images.example.org:8080/capcat",
	} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is missing among %s", want, args)
		}
	}
}

// TestCRDsAreCalledAsTheContractSays checks names and labels as clusterctl init does.
func TestCRDsAreCalledAsTheContractSays(t *testing.T) {
	found := 0
	for _, o := range components(t, nil) {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		found++
		var crd apiextensionsv1.CustomResourceDefinition
		typed(t, o, &crd)
		if want := crd.Spec.Names.Plural + "." + crd.Spec.Group; crd.Name != want || crd.Spec.Group != infrav1.GroupName {
			t.Errorf("%s should be called %s", crd.Name, want)
		}
		if crd.Labels["cluster.x-k8s.io/v1beta2"] != "v1beta2" {
			t.Errorf("%s does not say which version follows the contract", crd.Name)
		}
	}
	if found < 6 {
		t.Errorf("%d CRDs are released", found)
	}
}

// TestWebhooksAreCertified follows a webhook to its Service, the Service to the manager, and the manager to its certificate.
func TestWebhooksAreCertified(t *testing.T) {
	all := components(t, nil)
	service := find(t, all, "Service", "capc-webhook-service")
	certificate := find(t, all, "Certificate", "capc-serving-cert")
	names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	if want := service.GetName() + "." + service.GetNamespace() + ".svc"; !slices.Contains(names, want) {
		t.Errorf("the certificate is for %s, not for %s", names, want)
	}
	for _, o := range all {
		if o.GetKind() != "ValidatingWebhookConfiguration" && o.GetKind() != "MutatingWebhookConfiguration" {
			continue
		}
		if got, want := o.GetAnnotations()["cert-manager.io/inject-ca-from"], certificate.GetNamespace()+"/"+certificate.GetName(); got != want {
			t.Errorf("%s gets its authority from %q, want %s", o.GetName(), got, want)
		}
		hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for _, hook := range hooks {
			got, _, _ := unstructured.NestedString(hook.(map[string]any), "clientConfig", "service", "name")
			if got != service.GetName() {
				t.Errorf("%s calls %q", o.GetName(), got)
			}
		}
	}
	secret, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	isIt := func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == secret }
	d := deployment(t, nil)
	if !slices.ContainsFunc(d.Spec.Template.Spec.Volumes, isIt) {
		t.Errorf("the manager does not mount %s", secret)
	}
	selector, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
	for key, value := range selector {
		if d.Spec.Template.Labels[key] != value {
			t.Errorf("the Service selects %s=%s, the manager has %q", key, value, d.Spec.Template.Labels[key])
		}
	}
}

// TestExtensionLeadsToTheManager follows the ExtensionConfig, which is applied apart, to what the components bring.
func TestExtensionLeadsToTheManager(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(built(t), "extensionconfig.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	extension := objects(t, text)[0]
	review(t, reviewer(t), extension)
	all := components(t, nil)
	named, _, _ := unstructured.NestedMap(extension.Object, "spec", "clientConfig", "service")
	service := find(t, all, "Service", named["name"].(string))
	if service.GetNamespace() != named["namespace"] {
		t.Errorf("the Service is in %s, not in %s", service.GetNamespace(), named["namespace"])
	}
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	if !slices.ContainsFunc(ports, func(p any) bool { return p.(map[string]any)["port"] == named["port"] }) {
		t.Errorf("the Service has the ports %v, not %v", ports, named["port"])
	}
	certificate := find(t, all, "Certificate", "capc-serving-cert")
	secret, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	want := certificate.GetNamespace() + "/" + secret
	if got := extension.GetAnnotations()["runtime.cluster.x-k8s.io/inject-ca-from-secret"]; got != want {
		t.Errorf("the authority comes from %s, not from %s", got, want)
	}
}

// TestEveryRoleIsBound looks for the manager's account behind every role that is not meant for people.
func TestEveryRoleIsBound(t *testing.T) {
	all := components(t, nil)
	bound := map[string]bool{}
	for _, o := range all {
		if !strings.HasSuffix(o.GetKind(), "RoleBinding") {
			continue
		}
		name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
		bound[name] = true
		subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
		for _, s := range subjects {
			if diff := cmp.Diff(map[string]any{"kind": "ServiceAccount", "name": "capc-manager", "namespace": "capc-system"}, s); diff != "" {
				t.Errorf("%s: %s", o.GetName(), diff)
			}
		}
	}
	for _, o := range all {
		if k := o.GetKind(); (k == "Role" || k == "ClusterRole") && !bound[o.GetName()] && !slices.Contains([]string{"capc-edit", "capc-view"}, o.GetName()) {
			t.Errorf("%s %s is bound to nobody", k, o.GetName())
		}
	}
}

func TestWriteRefusesWrongVersions(t *testing.T) {
	for name, c := range map[string]struct{ version, want string }{
		"no v":             {"0.1.0", "not a version"},
		"two numbers":      {"v0.1", "not a version"},
		"a build":          {"v0.1.0+1", "not a version"},
		"of no series":     {"v7.1.0", "no series"},
		"a path":           {"../v0.1.0", "not a version"},
		"nothing":          {"", "not a version"},
		"a branch of git":  {"main", "not a version"},
		"of another major": {"v1.1.0", "no series"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "release")
			err := release.Build(t.Context(), c.version, dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("something was written")
			}
		})
	}
}

func TestWriteRefusesWrongRegistries(t *testing.T) {
	for _, registry := range []string{"https://registry.example.org/team", "registry.example.org/my team", "registry.example.org/Team", "registry.example.org:/team", "/team", "a//b", "${REGISTRY}"} {
		t.Run(registry, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "release")
			err := release.Write(t.Context(), release.Options{Version: "v0.1.3", Registry: registry, Dir: dir})
			if err == nil || !strings.Contains(err.Error(), "not a registry") {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("something was written")
			}
		})
	}
}

func TestRegistryIsThatOfThePerson(t *testing.T) {
	dir := t.TempDir()
	if err := release.Write(t.Context(), release.Options{Version: "v0.1.3-rc.1", Registry: "registry.example.org:5000/team/", Dir: dir}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, release.Components))
	if err != nil {
		t.Fatal(err)
	}
	if want := "image: registry.example.org:5000/team/capc-controller:v0.1.3-rc.1\n"; !bytes.Contains(text, []byte(want)) {
		t.Errorf("%s is missing", want)
	}
}

// TestMakefileHasTheSameKustomize keeps one version of the tool.
func TestMakefileHasTheSameKustomize(t *testing.T) {
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "KUSTOMIZE_VERSION := " + release.KustomizeVersion + "\n"; !bytes.Contains(text, []byte(want)) {
		t.Errorf("the Makefile lacks %s", want)
	}
}

func deployment(t *testing.T, variables map[string]string) *appsv1.Deployment {
	t.Helper()
	var deployments []*unstructured.Unstructured
	for _, o := range components(t, variables) {
		if o.GetKind() == "Deployment" {
			deployments = append(deployments, o)
		}
	}
	if len(deployments) != 1 {
		t.Fatalf("there are %d Deployments", len(deployments))
	}
	var d appsv1.Deployment
	typed(t, deployments[0], &d)
	return &d
}

func find(t *testing.T, all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range all {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

func typed(t *testing.T, o *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true); err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
}
