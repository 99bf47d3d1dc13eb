package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/test/controlplane"
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
	offered := map[string]bool{}
	for _, f := range files([]string{"v1.33.1", "v1.34.2"}) {
		offered["http://"+mirrorHost+"/"+f.path] = true
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
			if img.URL != "" && !strings.HasPrefix(img.URL, "http://"+mirrorHost+"/") {
				t.Errorf("%s names %s, which is not on the mirror", path, img.URL)
			}
		}
	}
}

func TestImagesAreRealAndOneIsHostile(t *testing.T) {
	dir := t.TempDir()
	all := files([]string{"v1.33.1"})
	if _, err := makeImages(dir, all); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(sums, []byte("\n")); got != len(all) {
		t.Errorf("SHA256SUMS has %d lines, want %d", got, len(all))
	}
	f, err := os.Open(filepath.Join(dir, "kvm", "hostile.qcow2"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	report := inspect.Inspect(t.Context(), f, st.Size(), inspect.Options{Hypervisor: "KVM"})
	if report.Verdict != inspect.Reject {
		t.Errorf("the hostile image is not rejected: %+v", report)
	}
}

func TestMirrorIsSlowAndWhole(t *testing.T) {
	want := bytes.Repeat([]byte("x"), 3*mirrorBurst)
	s := httptest.NewServer(slowly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(want))
	})))
	defer s.Close()
	resp, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(len(want), len(got)); diff != "" {
		t.Error(diff)
	}
}
