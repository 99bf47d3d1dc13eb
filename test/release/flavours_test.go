package release_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/capcat/capcat/test/controlplane"
)

// needed are the variables without a default of each flavour, beside those that clusterctl sets itself.
func needed() map[string]map[string]string {
	zone := func(more map[string]string) map[string]string {
		all := map[string]string{"CLOUDSTACK_ZONE_NAME": "zone-a"}
		maps.Copy(all, more)
		return all
	}
	return map[string]map[string]string{
		"":         zone(nil),
		"topology": zone(nil),
		"fixed-template": zone(map[string]string{
			"CLOUDSTACK_TEMPLATE_NAME": "ubuntu-2404-kube-v1.34.2", "CLOUDSTACK_CONTROL_PLANE_MACHINE_OFFERING": "Medium Instance",
			"CLOUDSTACK_WORKER_MACHINE_OFFERING": "Large Instance",
		}),
		"managed-ssh":          zone(map[string]string{"CLOUDSTACK_SSH_KEY_NAME": "admin"}),
		"disk-offering":        zone(map[string]string{"CLOUDSTACK_DISK_OFFERING_NAME": "Medium"}),
		"existing-vpc-network": zone(map[string]string{"CLOUDSTACK_NETWORK_NAME": "tier", "CLOUDSTACK_VPC_NAME": "cloud"}),
		"kube-vip":             zone(map[string]string{"CLOUDSTACK_NETWORK_NAME": "shared", "CLOUDSTACK_ENDPOINT_IP": "10.65.0.9"}),
		"stock-image":          zone(map[string]string{"CLOUDSTACK_TEMPLATE_NAME": "Ubuntu 24.04"}),
	}
}

// flavours are the names of the cluster templates that there are; "" is the default.
func flavours(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder(t), "cluster-template*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(name, "cluster-template"), "-"))
	}
	return names
}

func folder(t *testing.T) string {
	t.Helper()
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "templates")
}

func template(t *testing.T, flavour string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder(t), yamlprocessor.NewSimpleProcessor().GetTemplateName("", flavour)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// common are the variables that clusterctl generate cluster sets.
func common(namespace string) map[string]string {
	return map[string]string{
		"CLUSTER_NAME": "team-a", "NAMESPACE": namespace, "KUBERNETES_VERSION": "v1.34.2",
		"CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "2",
	}
}

// generate renders a flavour as clusterctl generate cluster does, with no more than is needed.
func generate(t *testing.T, flavour, namespace string) []*unstructured.Unstructured {
	t.Helper()
	variables := common(namespace)
	maps.Copy(variables, needed()[flavour])
	out := process(t, template(t, flavour), variables)
	if bytes.Contains(out, []byte("${")) {
		t.Error("something is left to be filled in")
	}
	return objects(t, out)
}

func TestEveryFlavourIsTested(t *testing.T) {
	want := slices.Sorted(maps.Keys(needed()))
	got := slices.Sorted(slices.Values(flavours(t)))
	if !slices.Equal(want, got) {
		t.Errorf("tested are %q, there are %q", want, got)
	}
}

// TestFlavoursNeedNoMore leaves each needed variable out in turn.
func TestFlavoursNeedNoMore(t *testing.T) {
	for flavour, variables := range needed() {
		t.Run("flavour "+flavour, func(t *testing.T) {
			for left := range variables {
				all := common("default")
				maps.Copy(all, variables)
				delete(all, left)
				_, err := yamlprocessor.NewSimpleProcessor().Process(template(t, flavour), func(name string) (string, error) {
					if value, ok := all[name]; ok {
						return value, nil
					}
					return "", os.ErrNotExist
				})
				if err == nil || !strings.Contains(err.Error(), left) {
					t.Errorf("without %s: %v", left, err)
				}
			}
		})
	}
}

// TestFlavoursAreAccepted lets a real API server review what each flavour renders, with the CRDs of Cluster API and ours.
func TestFlavoursAreAccepted(t *testing.T) {
	c := reviewer(t)
	namespace := plane.Namespace(t)
	for _, flavour := range flavours(t) {
		t.Run("flavour "+flavour, func(t *testing.T) {
			for _, o := range generate(t, flavour, namespace) {
				if o.GetNamespace() != namespace {
					t.Errorf("%s %s is in namespace %q", o.GetKind(), o.GetName(), o.GetNamespace())
				}
				review(t, c, o)
			}
		})
	}
}

func TestClassIsAccepted(t *testing.T) {
	c := reviewer(t)
	namespace := plane.Namespace(t)
	for _, o := range class(t) {
		if o.GetNamespace() != "" {
			t.Errorf("%s %s has a namespace", o.GetKind(), o.GetName())
		}
		o.SetNamespace(namespace)
		review(t, c, o)
	}
}

// class are the objects of the ClusterClass as they stand in the file: clusterctl fills nothing in.
func class(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder(t), yamlprocessor.NewSimpleProcessor().GetClusterClassTemplateName("", "cloudstack")))
	if err != nil {
		t.Fatal(err)
	}
	variables, err := yamlprocessor.NewSimpleProcessor().GetVariables(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(variables) > 0 {
		t.Errorf("the class has variables: %s", variables)
	}
	return objects(t, text)
}

// TestReferencesLeadSomewhere follows each reference of an object to another one of the same file.
func TestReferencesLeadSomewhere(t *testing.T) {
	files := map[string][]*unstructured.Unstructured{"class": class(t)}
	for _, flavour := range flavours(t) {
		files["flavour "+flavour] = generate(t, flavour, "default")
	}
	for name, all := range files {
		t.Run(name, func(t *testing.T) {
			there := map[string]bool{}
			for _, o := range all {
				there[o.GetKind()+" "+o.GetName()] = true
			}
			for _, o := range all {
				walk(o.Object, func(key string, value map[string]any) {
					if !slices.Contains([]string{"templateRef", "configRef", "infrastructureRef", "controlPlaneRef"}, key) {
						return
					}
					if to := value["kind"].(string) + " " + value["name"].(string); !there[to] {
						t.Errorf("%s %s refers to %s", o.GetKind(), o.GetName(), to)
					}
				})
			}
		})
	}
}

// TestVersionIsInOnePlace says what an upgrade by one field needs: no template names an image by its version.
func TestVersionIsInOnePlace(t *testing.T) {
	for _, flavour := range []string{"", "managed-ssh", "disk-offering", "existing-vpc-network", "kube-vip", "topology"} {
		t.Run("flavour "+flavour, func(t *testing.T) {
			for _, o := range generate(t, flavour, "default") {
				if o.GetKind() != "CloudStackMachineTemplate" {
					continue
				}
				if _, found, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec", "template"); found {
					t.Errorf("%s fixes its template", o.GetName())
				}
			}
		})
	}
}

// TestEveryNodeTellsItsMachine looks for the provider id in every registration of a node.
func TestEveryNodeTellsItsMachine(t *testing.T) {
	files := map[string][]*unstructured.Unstructured{"class": class(t)}
	for _, flavour := range flavours(t) {
		files["flavour "+flavour] = generate(t, flavour, "default")
	}
	want := map[string]any{"name": "provider-id", "value": "cloudstack:///{{ ds.meta_data.instance_id }}"}
	for name, all := range files {
		t.Run(name, func(t *testing.T) {
			registrations := 0
			for _, o := range all {
				walk(o.Object, func(key string, value map[string]any) {
					if key != "nodeRegistration" {
						return
					}
					registrations++
					args, _, _ := unstructured.NestedSlice(value, "kubeletExtraArgs")
					if !slices.ContainsFunc(args, func(a any) bool { return maps.Equal(a.(map[string]any), want) }) {
						t.Errorf("%s %s has the arguments %v", o.GetKind(), o.GetName(), args)
					}
				})
			}
			if name != "flavour topology" && registrations != 3 {
				t.Errorf("%d registrations, want those of init, of join and of workers", registrations)
			}
		})
	}
}

// walk calls visit for every object below a value, with the key it stands under.
func walk(value any, visit func(key string, value map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			if m, ok := below.(map[string]any); ok {
				visit(key, m)
			}
			walk(below, visit)
		}
	case []any:
		for _, below := range v {
			walk(below, visit)
		}
	}
}

// kubeadmCRDs installs the CRDs of the kubeadm providers once.
var kubeadmCRDs sync.Once

// reviewer returns a client of an API server that knows every kind of the templates.
func reviewer(t *testing.T) client.Client {
	t.Helper()
	config := plane.Config(t)
	kubeadmCRDs.Do(func() {
		core, err := controlplane.ClusterAPICRDs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		module := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(core))))
		var paths []string
		for _, provider := range []string{"bootstrap", "controlplane"} {
			paths = append(paths, filepath.Join(module, provider, "kubeadm", "config", "crd", "bases"))
		}
		if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: paths, ErrorIfPathMissing: true}); err != nil {
			t.Fatal(err)
		}
	})
	return plane.Client(t, runtime.NewScheme())
}

// review creates an object without keeping it. Unknown fields are errors.
func review(t *testing.T, c client.Client, o *unstructured.Unstructured) {
	t.Helper()
	strict := &client.CreateOptions{DryRun: []string{metav1.DryRunAll}, Raw: &metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}}
	if err := c.Create(t.Context(), o.DeepCopy(), strict); err != nil {
		t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
	known := map[string]string{
		"Cluster": clusterv1.GroupVersion.String(), "ClusterClass": clusterv1.GroupVersion.String(),
		"MachineDeployment": clusterv1.GroupVersion.String(), "MachineHealthCheck": clusterv1.GroupVersion.String(),
		"KubeadmControlPlane": "controlplane.cluster.x-k8s.io/v1beta2", "KubeadmConfigTemplate": "bootstrap.cluster.x-k8s.io/v1beta2",
	}
	if want := known[o.GetKind()]; want != "" && o.GetAPIVersion() != want {
		t.Errorf("%s is %s, want %s", o.GetKind(), o.GetAPIVersion(), want)
	}
}
