package controlplane

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestVersionsAgreeWithThePinningModules(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	kubernetes := `k8s\.io/kubernetes ` + regexp.QuoteMeta(APIServerVersion) + "\n"
	clusterAPI := `sigs\.k8s\.io/cluster-api ` + regexp.QuoteMeta(ClusterAPIVersion) + "\n"
	for module, want := range map[string]string{
		"test/controlplane/apiserver":   kubernetes,
		"test/controlplane/controllers": kubernetes,
		"test/controlplane/kubectl":     kubernetes,
		"test/controlplane/etcd":        `go\.etcd\.io/etcd/server/v3 ` + regexp.QuoteMeta(EtcdVersion) + "\n",
		"test/controlplane/capi":        clusterAPI,
		".":                             clusterAPI,
	} {
		b, err := os.ReadFile(filepath.Join(root, module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(want).Match(b) {
			t.Errorf("%s/go.mod does not require %s", module, want)
		}
	}
}

func TestLockIsHeldByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path, func() { t.Error("waited for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := lock(ctx, path, cancel); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want to wait until cancelled", err)
	}
	unlock()
	again, err := lock(t.Context(), path, func() { t.Error("waited although it was free") })
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestBuildUsesWhatIsThere(t *testing.T) {
	b := etcdBuild(t.TempDir())
	if err := os.MkdirAll(b.dir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.target(), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.pkg = "example.org/cannot/be/built"
	if err := b.run(t.Context(), t.Output()); err != nil {
		t.Fatal(err)
	}
}

func TestFindManagementTakesTheCache(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("CAPCAT_CACHE", cache)
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	controllers, err := controllersBuild(root, cache)
	if err != nil {
		t.Fatal(err)
	}
	all := []build{controllers, kubectlBuild(cache)}
	for _, name := range []string{"capi-core", "cabpk", "kcp", "clusterctl"} {
		all = append(all, clusterAPIBuild(cache, name, "", ""))
	}
	for _, b := range all {
		if err := os.MkdirAll(b.dir(), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(b.target(), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var said strings.Builder
	got, err := FindManagement(t.Context(), &said)
	if err != nil || said.Len() > 0 {
		t.Fatalf("got %v and said %q, want silence", err, said.String())
	}
	if got.Controllers != controllers.target() || filepath.Base(got.Core) != "capi-core" || filepath.Base(got.KubeadmControlPlane) != "kcp" {
		t.Errorf("got %+v", got)
	}
}

func TestNamePrefix(t *testing.T) {
	for name, c := range map[string]struct{ test, want string }{
		"plain":    {"TestRetire", "t-testretire-"},
		"sub test": {"TestRetire/in use", "t-testretire-in-use-"},
		"long":     {"TestAVeryLongNameThatWouldNotFitIntoTheNameOfANamespace", "t-testaverylongnamethatwouldnotfitintothen-"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := namePrefix(c.test); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestDeclares(t *testing.T) {
	for name, c := range map[string]struct {
		goMod string
		want  bool
	}{
		"ours":          {"module github.com/capcat/capcat\n\ngo 1.26\n", true},
		"a part of it":  {"module github.com/capcat/capcat/test/x\n", false},
		"in a comment":  {"// module github.com/capcat/capcat\nmodule example.org/x\n", false},
		"after comment": {"// text\nmodule github.com/capcat/capcat\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := declares(c.goMod, modulePath); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
