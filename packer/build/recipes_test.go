package build

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/capcat/capcat/packer"
)

// Every recipe says what a build needs of it, in words that are the same everywhere.
func TestRecipesAreComplete(t *testing.T) {
	systems, err := Systems(packer.Recipes())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"debian-12", "debian-13", "flatcar", "rocky-9", "ubuntu-22.04", "ubuntu-24.04"} {
		if !slices.Contains(systems, want) {
			t.Errorf("systems are %v, without %s", systems, want)
		}
	}
	for _, system := range systems {
		p, err := newPlan(Options{OS: system, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.system.text["os_name"]; got != system {
			t.Errorf("os_name of %s is %q", system, got)
		}
		for _, name := range []string{"os_title", "os_family", "os_type", "login", "seed_kind", "containerd_version", "cni_plugins_version", "crictl_version", "runc_version"} {
			if p.value(name) == "" {
				t.Errorf("%s has no %s", system, name)
			}
		}
		for _, arch := range []string{"amd64", "arm64"} {
			for what, address := range map[string]string{"base image": p.system.dict["base_images"][arch], "proof": p.system.dict["base_checksums"][arch]} {
				if !strings.HasPrefix(address, "https://") {
					t.Errorf("%s of %s for %s is %q, want an https address", what, system, arch, address)
				}
			}
		}
		if _, err := fs.Stat(packer.Recipes(), "os/"+system+"/packages"); err != nil {
			t.Error(err)
		}
	}
}

// A patch release is one line more.
func TestPatchReleaseIsOneLine(t *testing.T) {
	recipes := fstest.MapFS{}
	err := fs.WalkDir(packer.Recipes(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(packer.Recipes(), path)
		recipes[path] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const file = "kubernetes/v1.36.pkrvars.hcl"
	text := string(recipes[file].Data)
	recipes[file].Data = []byte(strings.Replace(text, "kubernetes_releases = [\n", "kubernetes_releases = [\n  \"v1.36.12\",\n", 1))
	recipes["os/my os/os.pkrvars.hcl"] = recipes["os/rocky-9/os.pkrvars.hcl"]
	if _, err := newPlan(Options{OS: "my os", Dir: t.TempDir(), Recipes: recipes}); err == nil || !strings.Contains(err.Error(), "takes no operating system of the name") {
		t.Errorf("an operating system that no catalog takes: %v", err)
	}
	p, err := newPlan(Options{OS: "rocky-9", Dir: t.TempDir(), Recipes: recipes})
	if err != nil {
		t.Fatal(err)
	}
	if p.KubernetesVersion != "v1.36.12" || p.pinsFile != file || p.Name != "rocky-9-kube-v1.36.12" {
		t.Errorf("got %s from %s as %s", p.KubernetesVersion, p.pinsFile, p.Name)
	}
	recipes[file].Data = []byte(strings.Replace(text, "v1.36.3", "v1.35.9", 1))
	if _, err := newPlan(Options{OS: "rocky-9", Dir: t.TempDir(), Recipes: recipes}); err == nil || !strings.Contains(err.Error(), `"v1.35.9" is no release of v1.36`) {
		t.Errorf("a release in the file of another minor: %v", err)
	}
}
