package architecture_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capcat/capcat/test/controlplane"
)

func root(t *testing.T) string {
	t.Helper()
	dir, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, into any, parts ...string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{root(t)}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, into); err != nil {
		t.Fatalf("%s: %v", filepath.Join(parts...), err)
	}
}

func TestEveryCRDIsInstalled(t *testing.T) {
	var k struct{ Resources []string }
	read(t, &k, "config", "crd", "kustomization.yaml")
	bases, err := filepath.Glob(filepath.Join(root(t), "config", "crd", "bases", "*.yaml"))
	if err != nil || len(bases) == 0 {
		t.Fatalf("got %v, %v", bases, err)
	}
	for _, path := range bases {
		if name := "bases/" + filepath.Base(path); !slices.Contains(k.Resources, name) {
			t.Errorf("config/crd/kustomization.yaml does not list %s", name)
		}
	}
	if len(k.Resources) != len(bases) {
		t.Errorf("config/crd/kustomization.yaml lists %d files, there are %d", len(k.Resources), len(bases))
	}
}

// TestEveryCRDSaysItsContract checks what Cluster API's core looks for.
func TestEveryCRDSaysItsContract(t *testing.T) {
	bases, err := filepath.Glob(filepath.Join(root(t), "config", "crd", "bases", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range bases {
		var crd struct {
			Metadata struct{ Labels map[string]string }
		}
		read(t, &crd, "config", "crd", "bases", filepath.Base(path))
		if crd.Metadata.Labels["cluster.x-k8s.io/v1beta2"] != "v1beta2" {
			t.Errorf("%s has no label cluster.x-k8s.io/v1beta2: v1beta2", filepath.Base(path))
		}
	}
}

func TestProjectNamesEveryKind(t *testing.T) {
	var project struct {
		Resources []struct{ Kind string }
	}
	read(t, &project, "PROJECT")
	var named []string
	for _, r := range project.Resources {
		named = append(named, strings.ToLower(r.Kind)+"s")
	}
	bases, err := filepath.Glob(filepath.Join(root(t), "config", "crd", "bases", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range bases {
		plural := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "infrastructure.cluster.x-k8s.io_"), ".yaml")
		if !slices.Contains(named, plural) {
			t.Errorf("PROJECT does not name the kind of %s", filepath.Base(path))
		}
	}
}

// TestEveryDependencyHasItsReason looks for each direct requirement of go.mod in the decision about them.
func TestEveryDependencyHasItsReason(t *testing.T) {
	goMod, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := os.ReadFile(filepath.Join(root(t), "docs", "decisions", "0002-dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(goMod)) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) != 2 || !strings.HasPrefix(fields[1], "v") {
			continue
		}
		if !strings.Contains(string(reasons), "`"+fields[0]+"`") {
			t.Errorf("docs/decisions/0002-dependencies.md has no reason for %s", fields[0])
		}
	}
}
