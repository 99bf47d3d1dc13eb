package release_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/release"
)

// foreign are the kinds of k0smotron, whose CRDs are not here.
func foreign() []string {
	return []string{"K0sControlPlane", "K0sWorkerConfigTemplate", "K0smotronControlPlane"}
}

func samples(t *testing.T) string {
	t.Helper()
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "config", "samples")
}

// kustomized are the samples that are applied with kubectl apply -k.
func kustomized(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(samples(t), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "kustomization.yaml" {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(dirs) == 0 {
		t.Fatalf("got %v, %v", dirs, err)
	}
	return dirs
}

// TestSamplesAreAccepted lets a real API server review what kubectl apply -k would send.
func TestSamplesAreAccepted(t *testing.T) {
	c := reviewer(t)
	namespace := plane.Namespace(t)
	for _, dir := range kustomized(t) {
		name, err := filepath.Rel(samples(t), dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			text, err := release.Kustomize(t.Context(), dir, t.Output())
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objects(t, text) {
				if o.GetNamespace() != "default" {
					t.Errorf("%s %s is in namespace %q", o.GetKind(), o.GetName(), o.GetNamespace())
				}
				if slices.Contains(foreign(), o.GetKind()) {
					continue
				}
				o.SetNamespace(namespace)
				review(t, c, o)
			}
		})
	}
}

// TestFilesOfSamplesAreAccepted reviews what is applied on its own.
func TestFilesOfSamplesAreAccepted(t *testing.T) {
	c := reviewer(t)
	namespace := plane.Namespace(t)
	for _, name := range []string{
		"addons/clusterresourceset.yaml", "addons/cloud-controller-manager.yaml", "k0smotron/cluster-csi/storageclass.yaml", "k0smotron/cluster-csi/volume.yaml",
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(samples(t), name))
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objects(t, text) {
				reviewIn(t, c, o, namespace)
			}
		})
	}
}

// reviewIn reviews an object of a workload cluster. A role may only be given where it exists.
func reviewIn(t *testing.T, c client.Client, o *unstructured.Unstructured, namespace string) {
	t.Helper()
	switch {
	case strings.HasSuffix(o.GetKind(), "Binding") || strings.HasPrefix(o.GetKind(), "Cluster") && o.GetKind() != "ClusterResourceSet":
		o.SetNamespace("")
		if o.GetKind() == "RoleBinding" {
			o.SetNamespace(namespace)
		}
	case o.GetKind() != "StorageClass":
		o.SetNamespace(namespace)
	}
	review(t, c, o)
}

// TestEverySampleIsExplained wants a README in every folder that has manifests, and each in the list.
func TestEverySampleIsExplained(t *testing.T) {
	list, err := os.ReadFile(filepath.Join(samples(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(samples(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		readme := filepath.Join(filepath.Dir(path), "README.md")
		if _, err := os.Stat(readme); err != nil {
			t.Errorf("%s is not explained: %v", path, err)
		}
		rel, err := filepath.Rel(samples(t), readme)
		if err != nil {
			return err
		}
		if !strings.Contains(string(list), "("+filepath.ToSlash(rel)+")") {
			t.Errorf("the list of samples does not lead to %s", rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
