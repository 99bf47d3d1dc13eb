package stage

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
)

func TestMakeImages(t *testing.T) {
	dir := t.TempDir()
	all := append(Files("node", "v1.33.1"), Hostile("kvm/hostile.qcow2"))
	if _, err := MakeImages(dir, 1<<20, all); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(sums, []byte("\n")); got != len(all) {
		t.Errorf("SHA256SUMS has %d lines, want %d", got, len(all))
	}
	for path, want := range map[string]inspect.Verdict{"vmware/node-v1.33.1.ova": inspect.Accept, "kvm/hostile.qcow2": inspect.Reject} {
		f, err := os.Open(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		got, err := inspect.Inspect(t.Context(), f, st.Size(), inspect.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Verdict != want {
			t.Errorf("%s: got %+v, want %s", path, got, want)
		}
	}
}

func TestMirrorIsSlowAndWhole(t *testing.T) {
	want := bytes.Repeat([]byte("x"), 3*burst)
	s := httptest.NewServer(slowly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(want))
	}), 8*burst))
	defer s.Close()
	start := time.Now()
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
	if took := time.Since(start); took < time.Second/8 {
		t.Errorf("took only %s", took)
	}
}
