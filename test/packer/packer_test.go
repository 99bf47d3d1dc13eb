package packer

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	recipes "github.com/capcat/capcat/packer"
	"github.com/capcat/capcat/packer/build"
	"github.com/capcat/capcat/test/controlplane"
)

func TestDataServer(t *testing.T) {
	d := &dataServer{userData: "#!/bin/sh\n", meta: map[string]string{"instance-id": "1", "local-hostname": "n"}}
	s := httptest.NewServer(d)
	defer s.Close()
	tests := []struct{ path, want string }{
		{"/latest/user-data", "#!/bin/sh\n"},
		{"/latest/meta-data/instance-id", "1"},
		{"/latest/meta-data/none", "404"},
		{"/latest/", "404"},
		{"/", "404"},
	}
	for _, c := range tests {
		if got := get(t, s.URL+c.path); got != c.want {
			t.Errorf("%s: got %q, want %q", c.path, got, c.want)
		}
	}
	if got := get(t, s.URL+"/latest/meta-data/"); !strings.Contains(got, "instance-id\n") || !strings.Contains(got, "local-hostname\n") {
		t.Errorf("the list of keys is %q", got)
	}
	if got := len(d.paths()); got != len(tests)+1 {
		t.Errorf("%d paths are remembered, want %d", got, len(tests)+1)
	}
}

// get gives the body, or the status when it is not 200.
func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return strings.Fields(resp.Status)[0]
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestArchiveOfImagesIsAnOCILayout(t *testing.T) {
	var b bytes.Buffer
	names := []string{"registry.k8s.io/pause:3.10.2", "registry.k8s.io/etcd:3.6.8-0"}
	if err := writeImages(&b, names); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(&b); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range index.Manifests {
		got = append(got, m.Annotations["io.containerd.image.name"])
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		blob := files["blobs/sha256/"+strings.TrimPrefix(m.Digest, "sha256:")]
		if err := json.Unmarshal(blob, &manifest); err != nil {
			t.Fatal(err)
		}
		for _, d := range append(manifest.Layers, manifest.Config, m) {
			content := files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
			sum := sha256.Sum256(content)
			if d.Digest != "sha256:"+hex.EncodeToString(sum[:]) || d.Size != len(content) {
				t.Errorf("%s is not what it says", d.Digest)
			}
		}
	}
	if diff := cmp.Diff(names, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadResultsStopsAtTheEnd(t *testing.T) {
	got := readResults(strings.NewReader("boot\n[1.0] RESULT kubelet=Kubernetes v1.36.3\r\nRESULT end=yes\nRESULT late=1\n"))
	if diff := cmp.Diff(map[string]string{"kubelet": "Kubernetes v1.36.3", "end": "yes"}, got); diff != "" {
		t.Error(diff)
	}
}

// The version here and the one that the module pins are the same.
func TestVersionIsPinned(t *testing.T) {
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "test", "packer", "kubernetes", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\nrequire k8s.io/kubernetes "+Version+"\n") {
		t.Errorf("kubernetes/go.mod does not pin %s", Version)
	}
}

// Each variable of the recipes is told of on a page.
func TestVariablesAreDocumented(t *testing.T) {
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "reference", "packer", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		told.Write(text)
	}
	variables, err := os.ReadFile(filepath.Join(root, "packer", "variables.pkr.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(variables)) {
		name, found := strings.CutPrefix(line, "variable \"")
		if !found {
			continue
		}
		count++
		name, _, _ = strings.Cut(name, `"`)
		if !strings.Contains(told.String(), "| `"+name+"` |") {
			t.Errorf("no page has a row for %s", name)
		}
	}
	if count < 20 {
		t.Errorf("only %d variables were found", count)
	}
}

// What can be made of packages alone has a recipe.
func TestSystemsHaveRecipes(t *testing.T) {
	known, err := build.Systems(recipes.Recipes())
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range Systems() {
		if !slices.Contains(known, system) {
			t.Errorf("there is no recipe for %s, but for %v", system, known)
		}
	}
}
