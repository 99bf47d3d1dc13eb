package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/stage"
)

func TestMirrorHasWhatTheSamplesName(t *testing.T) {
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(root, "config", "samples", "demo", "catalog-*.yaml"))
	if err != nil || len(paths) != 4 {
		t.Fatalf("got %v, %v", paths, err)
	}
	base := "http://" + stage.MirrorHost + "/"
	offered := map[string]bool{}
	for _, f := range files() {
		offered[base+f.Path] = true
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var c infrav1.TemplateCatalog
		if err := yaml.UnmarshalStrict(text, &c); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, img := range c.Spec.Images {
			for _, a := range img.Artifacts {
				if !offered[string(a.URLs[0])] {
					t.Errorf("%s names %s, which the mirror does not have", path, a.URLs[0])
				}
			}
			if img.URL != "" && !strings.HasPrefix(img.URL, base) {
				t.Errorf("%s names %s, which is not on the mirror", path, img.URL)
			}
		}
	}
}
