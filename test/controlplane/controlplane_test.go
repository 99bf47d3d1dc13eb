package controlplane_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capcat/capcat/test/controlplane"
)

var plane controlplane.Shared

func TestMain(m *testing.M) { os.Exit(plane.Run(m)) }

func TestNamespacesAreTheTestsOwn(t *testing.T) {
	c := plane.Client(t, scheme.Scheme)
	one, two := plane.Namespace(t), plane.Namespace(t)
	if one == two {
		t.Fatalf("two namespaces are both %q", one)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: one}}
	if err := c.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	var list corev1.ConfigMapList
	if err := c.List(t.Context(), &list, client.InNamespace(two)); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 0 {
		t.Errorf("the other namespace has %d config maps", len(list.Items))
	}
}

func TestStartFromAFolderOfItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plane")
	c, err := controlplane.Start(t.Context(), controlplane.Options{Dir: dir, Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "kube-apiserver.log")); err != nil {
			t.Errorf("the log is gone: %v", err)
		}
	}()
	kubeconfig, err := c.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	k, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{}); err != nil {
		t.Errorf("reading a namespace with the kubeconfig: %v", err)
	}
}

func TestFindPrefersTheAssetsFolder(t *testing.T) {
	full, half := t.TempDir(), t.TempDir()
	for _, path := range []string{full + "/kube-apiserver", full + "/etcd", half + "/etcd"} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", full)
	got, err := controlplane.Find(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if want := (controlplane.Programs{APIServer: full + "/kube-apiserver", Etcd: full + "/etcd"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	t.Setenv("KUBEBUILDER_ASSETS", half)
	if _, err := controlplane.Find(t.Context(), t.Output()); err == nil || !strings.Contains(err.Error(), "kube-apiserver") {
		t.Errorf("a folder without kube-apiserver: got %v, want an error that names it", err)
	}
}

func TestFindTakesTheCache(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("CAPCAT_CACHE", cache)
	want := controlplane.Programs{
		APIServer: place(t, cache, "kube-apiserver", controlplane.APIServerVersion),
		Etcd:      place(t, cache, "etcd", controlplane.EtcdVersion),
	}
	got, err := controlplane.Find(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// place writes a program to where a build for this platform would put it, and returns its path.
func place(t *testing.T, cache, name, version string) string {
	t.Helper()
	dir := filepath.Join(cache, name+"-"+version+"-"+runtime.GOOS+"-"+runtime.GOARCH)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
