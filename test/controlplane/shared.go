package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// KubeconfigEnv names the kubeconfig of a control plane that is already running, with the CRDs installed. `make test` starts one
// for all packages; without the variable a package boots its own.
const KubeconfigEnv = "CAPCAT_TEST_KUBECONFIG"

// Shared is the one control plane of a test binary. It boots when the first test asks for it:
//
//	var plane controlplane.Shared
//
//	func TestMain(m *testing.M) { os.Exit(plane.Run(m)) }
type Shared struct {
	once   sync.Once
	own    *ControlPlane
	config *rest.Config
	// All clients share what knows the resources of the API, so that not each of them asks for it.
	http   *http.Client
	mapper meta.RESTMapper
	err    error
}

// Run runs the tests, stops what they started, and returns the exit code. What controller-runtime logs is dropped, unless a test
// sets another logger first.
func (s *Shared) Run(m interface{ Run() int }) int {
	log.SetLogger(logr.Discard())
	code := m.Run()
	if s.own != nil {
		if err := s.own.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the control plane:", err)
			return max(code, 1)
		}
	}
	return code
}

// Config returns a copy of the administrator's client configuration.
func (s *Shared) Config(t testing.TB) *rest.Config {
	t.Helper()
	s.once.Do(func() {
		if s.err = s.start(); s.err == nil {
			s.err = s.share()
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return rest.CopyConfig(s.config)
}

// Kubeconfig writes the administrator's kubeconfig to a file that the test's end removes, and returns its path.
func (s *Shared) Kubeconfig(t testing.TB) string {
	t.Helper()
	text, err := Kubeconfig(s.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatalf("writing a kubeconfig: %v", err)
	}
	return path
}

func (s *Shared) start() (err error) {
	if path := os.Getenv(KubeconfigEnv); path != "" {
		if s.config, err = clientcmd.BuildConfigFromFlags("", path); err != nil {
			return fmt.Errorf("reading the kubeconfig in $%s: %w", KubeconfigEnv, err)
		}
		s.config.QPS, s.config.Burst = clientQPS, clientBurst
		return nil
	}
	ctx := context.Background()
	crds, err := DefaultCRDs(ctx)
	if err != nil {
		return err
	}
	if s.own, err = Start(ctx, Options{CRDPaths: crds}); err != nil {
		return err
	}
	s.config = s.own.Config()
	return nil
}

func (s *Shared) share() (err error) {
	if s.http, err = rest.HTTPClientFor(s.config); err != nil {
		return fmt.Errorf("making an HTTP client: %w", err)
	}
	if s.mapper, err = apiutil.NewDynamicRESTMapper(s.config, s.http); err != nil {
		return fmt.Errorf("making a mapper of resources: %w", err)
	}
	return nil
}

// Client returns an uncached client of the scheme.
func (s *Shared) Client(t testing.TB, scheme *runtime.Scheme) client.WithWatch {
	t.Helper()
	config := s.Config(t)
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, HTTPClient: s.http, Mapper: s.mapper})
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	return c
}

// Namespace creates a namespace for the test and returns its name. It is left behind: nobody else uses the name, and without
// kube-controller-manager a deleted namespace would never go away.
func (s *Shared) Namespace(t testing.TB) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: namePrefix(t.Name())}}
	if err := s.Client(t, scheme.Scheme).Create(t.Context(), ns); err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	return ns.Name
}

// namePrefix turns a test's name into the beginning of a namespace's.
func namePrefix(test string) string {
	const longest = 40
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, test)
	return "t-" + clean[:min(len(clean), longest)] + "-"
}
