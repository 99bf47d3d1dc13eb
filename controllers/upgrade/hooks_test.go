package upgrade_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/upgrade"
	"github.com/capcat/capcat/test/process"
)

// extension calls hooks as Cluster API's runtime client does.
type extension struct {
	t       *testing.T
	catalog *runtimecatalog.Catalog
	url     string
	client  *http.Client
}

// serve serves the hooks of a gate over HTTPS.
func (w *world) serve(c client.Client) *extension {
	w.t.Helper()
	dir := w.t.TempDir()
	roots := writeCertificate(w.t, dir)
	port, err := process.FreePort()
	w.must(err)
	server, err := upgrade.NewServer(upgrade.NewGate(c, c, w.clock), upgrade.ServerOptions{
		Host: "127.0.0.1", Port: port, CertDir: dir, CertName: "tls.crt", KeyName: "tls.key",
	})
	w.must(err)
	ctx, stop := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	e := &extension{
		t: w.t, catalog: runtimecatalog.New(), url: fmt.Sprintf("https://127.0.0.1:%d", port),
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}},
	}
	w.must(hooksv1.AddToCatalog(e.catalog))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for server.StartedChecker()(nil) != nil {
		select {
		case <-tick.C:
		case err := <-ended:
			w.t.Fatalf("the server ended: %v", err)
		}
	}
	return e
}

// call speaks to one handler.
func (e *extension) call(hook runtimecatalog.Hook, handler string, request, response runtime.Object) {
	e.t.Helper()
	gvh, err := e.catalog.GroupVersionHook(hook)
	if err != nil {
		e.t.Fatal(err)
	}
	kind, err := e.catalog.Request(gvh)
	if err != nil {
		e.t.Fatal(err)
	}
	request.GetObjectKind().SetGroupVersionKind(kind)
	body, err := json.Marshal(request)
	if err != nil {
		e.t.Fatal(err)
	}
	post, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, e.url+runtimecatalog.GVHToPath(gvh, handler), bytes.NewReader(body))
	if err != nil {
		e.t.Fatal(err)
	}
	post.Header.Set("Content-Type", "application/json")
	answer, err := e.client.Do(post)
	if err != nil {
		e.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		e.t.Fatalf("%s answers %s", handler, answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(response); err != nil {
		e.t.Fatal(err)
	}
}

// upgradeTo asks the hook that comes before an upgrade, with the steps that Cluster API found.
func (e *extension) upgradeTo(cluster *clusterv1.Cluster, to string, steps ...string) hooksv1.BeforeClusterUpgradeResponse {
	e.t.Helper()
	request := &hooksv1.BeforeClusterUpgradeRequest{Cluster: *cluster, FromKubernetesVersion: "v1.31.7", ToKubernetesVersion: to}
	for _, version := range steps {
		request.ControlPlaneUpgrades = append(request.ControlPlaneUpgrades, hooksv1.UpgradeStepInfo{Version: version})
	}
	if len(steps) > 0 {
		request.WorkersUpgrades = []hooksv1.UpgradeStepInfo{{Version: to}}
	}
	var response hooksv1.BeforeClusterUpgradeResponse
	e.call(hooksv1.BeforeClusterUpgrade, "before-cluster-upgrade", request, &response)
	return response
}

func expectBlocked(t *testing.T, got hooksv1.RetryResponseObject, parts ...string) {
	t.Helper()
	if got.GetStatus() != hooksv1.ResponseStatusSuccess || got.GetRetryAfterSeconds() == 0 {
		t.Errorf("status %s, retry after %d s: it does not block", got.GetStatus(), got.GetRetryAfterSeconds())
	}
	for _, part := range parts {
		if !strings.Contains(got.GetMessage(), part) {
			t.Errorf("%q does not contain %q", got.GetMessage(), part)
		}
	}
}

func expectPassed(t *testing.T, got hooksv1.RetryResponseObject) {
	t.Helper()
	if got.GetStatus() != hooksv1.ResponseStatusSuccess || got.GetRetryAfterSeconds() != 0 || got.GetMessage() != "" {
		t.Errorf("status %s, retry after %d s, %q: it does not pass", got.GetStatus(), got.GetRetryAfterSeconds(), got.GetMessage())
	}
}

func TestDiscovery(t *testing.T) {
	e := newWorld(t).serve(nil)
	var response hooksv1.DiscoveryResponse
	e.call(hooksv1.Discovery, "", &hooksv1.DiscoveryRequest{}, &response)
	var got []string
	for _, h := range response.Handlers {
		got = append(got, h.Name+" "+h.RequestHook.APIVersion+" "+h.RequestHook.Hook)
	}
	slices.Sort(got)
	want := []string{
		"before-cluster-upgrade hooks.runtime.cluster.x-k8s.io/v1alpha1 BeforeClusterUpgrade",
		"before-control-plane-upgrade hooks.runtime.cluster.x-k8s.io/v1alpha1 BeforeControlPlaneUpgrade",
		"before-workers-upgrade hooks.runtime.cluster.x-k8s.io/v1alpha1 BeforeWorkersUpgrade",
		"generate-upgrade-plan hooks.runtime.cluster.x-k8s.io/v1alpha1 GenerateUpgradePlan",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUpgradeWaitsForImages is the story of a version that the catalog lacks: the hook blocks and names the zones, always in the
// same words, until the last zone in use has it.
func TestUpgradeWaitsForImages(t *testing.T) {
	w := newWorld(t)
	e := w.serve(w.client)
	first := e.upgradeTo(w.cluster, "v1.32.3")
	expectBlocked(t, &first, "no ready image of v1.32.3 in zone-a (control plane, md-0), zone-b (control plane, md-0), zone-c (md-0)", "version v1.32.3 is unknown")
	if again := e.upgradeTo(w.cluster, "v1.32.3"); again.Message != first.Message {
		t.Errorf("first %q, then %q", first.Message, again.Message)
	}
	w.images("v1.32.3", "zone-a", "zone-b")
	last := w.image("v1.32.3", "zone-c", func(*infrav1.CloudStackImage) {})
	w.unready(last)
	coming := e.upgradeTo(w.cluster, "v1.32.3")
	expectBlocked(t, &coming, "no ready image of v1.32.3 in zone-c (md-0): the image "+last.Name+" is not ready yet; nothing is replaced")
	w.ready(last)
	passed := e.upgradeTo(w.cluster, "v1.32.3")
	expectPassed(t, &passed)
}

// TestStepsAreNeededWhereTheyAreTaken: the control plane takes all steps, the workers only theirs.
func TestStepsAreNeededWhereTheyAreTaken(t *testing.T) {
	w := newWorld(t)
	e := w.serve(w.client)
	w.images("v1.33.1", "zone-a", "zone-b", "zone-c")
	got := e.upgradeTo(w.cluster, "v1.33.1", "v1.32.3", "v1.33.1")
	expectBlocked(t, &got, "no ready image of v1.32.3 in zone-a (control plane), zone-b (control plane): ")
	w.images("v1.32.3", "zone-a", "zone-b")
	got = e.upgradeTo(w.cluster, "v1.33.1", "v1.32.3", "v1.33.1")
	expectPassed(t, &got)

	var control hooksv1.BeforeControlPlaneUpgradeResponse
	e.call(hooksv1.BeforeControlPlaneUpgrade, "before-control-plane-upgrade",
		&hooksv1.BeforeControlPlaneUpgradeRequest{Cluster: *w.cluster, FromKubernetesVersion: "v1.31.7", ToKubernetesVersion: "v1.32.3"}, &control)
	expectPassed(t, &control)
	var workers hooksv1.BeforeWorkersUpgradeResponse
	e.call(hooksv1.BeforeWorkersUpgrade, "before-workers-upgrade",
		&hooksv1.BeforeWorkersUpgradeRequest{Cluster: *w.cluster, FromKubernetesVersion: "v1.31.7", ToKubernetesVersion: "v1.32.3"}, &workers)
	expectBlocked(t, &workers, "no ready image of v1.32.3 in zone-c (md-0): ", "not in zone zone-c: it is in zone-a, zone-b")
}

func TestWhatTheGateLetsPass(t *testing.T) {
	for name, change := range map[string]func(*world){
		"a cluster of another provider":        func(w *world) { w.cluster.Spec.InfrastructureRef.Kind = "OtherCluster" },
		"a cluster without infrastructure yet": func(w *world) { w.cluster.Spec.InfrastructureRef.Name = "none" },
		"a cluster that is to be let through":  func(w *world) { w.cluster.Annotations = map[string]string{infrav1.AnnotationSkipUpgradeGate: ""} },
		"machines of fixed templates": func(w *world) {
			w.must(w.client.DeleteAllOf(w.t.Context(), &infrav1.CloudStackMachineTemplate{}, client.InNamespace(w.ns)))
			for _, name := range []string{"control-plane", "workers"} {
				w.machineTemplate(name, infrav1.CloudStackMachineSpec{Template: &infrav1.ResourceIdentifier{Name: imageName("v1.31.7", "zone-a")}})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			change(w)
			got := w.serve(w.client).upgradeTo(w.cluster, "v1.40.0")
			expectPassed(t, &got)
		})
	}
}

// broken is a client that cannot list.
type broken struct{ client.Client }

func (broken) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return fmt.Errorf("at %s: connection refused", time.Now())
}

// TestTroubleIsTold: what fails in ever new words is told in the same ones, and blocks.
func TestTroubleIsTold(t *testing.T) {
	w := newWorld(t)
	e := w.serve(broken{w.client})
	first, second := e.upgradeTo(w.cluster, "v1.32.3"), e.upgradeTo(w.cluster, "v1.32.3")
	expectBlocked(t, &first, "cannot be read")
	if first.Message != second.Message {
		t.Errorf("first %q, then %q", first.Message, second.Message)
	}
	wrong := w.serve(w.client).upgradeTo(w.cluster, "latest")
	expectBlocked(t, &wrong, `"latest" is not a Kubernetes version`)
}

// TestUpgradePlan asks for plans as Cluster API does.
func TestUpgradePlan(t *testing.T) {
	w := newWorld(t)
	e := w.serve(w.client)
	for _, v := range []infrav1.KubernetesVersion{"v1.32.3", "v1.32.9", "v1.33.4", "v1.35.1"} {
		w.images(v, "zone-a", "zone-b", "zone-c")
	}
	w.images("v1.32.11", "zone-a") // newer, and not everywhere
	for name, c := range map[string]struct {
		from, workers, to string
		want              []string
		failure           string
	}{
		"the next minor":          {from: "v1.31.7", workers: "v1.31.7", to: "v1.32.3", want: []string{"v1.32.3"}},
		"a patch":                 {from: "v1.32.3", workers: "v1.32.3", to: "v1.32.9", want: []string{"v1.32.9"}},
		"over two minors":         {from: "v1.31.7", workers: "v1.31.7", to: "v1.33.4", want: []string{"v1.32.9", "v1.33.4"}},
		"the last may be lacking": {from: "v1.31.7", workers: "v1.31.7", to: "v1.34.0", want: []string{"v1.32.9", "v1.33.4", "v1.34.0"}},
		"without workers":         {from: "v1.31.7", to: "v1.33.4", want: []string{"v1.32.9", "v1.33.4"}},
		"the workers are behind":  {from: "v1.33.4", workers: "v1.31.7", to: "v1.33.4"},
		"the way is gone half":    {from: "v1.32.9", workers: "v1.31.7", to: "v1.33.4", want: []string{"v1.33.4"}},
		"a minor that nobody has": {from: "v1.31.7", workers: "v1.31.7", to: "v1.35.1", failure: "there is no image of v1.34"},
		"no version":              {from: "v1.31.7", workers: "v1.31.7", to: "newest", failure: `"newest" is not a Kubernetes version`},
	} {
		t.Run(name, func(t *testing.T) {
			var response hooksv1.GenerateUpgradePlanResponse
			e.call(hooksv1.GenerateUpgradePlan, "generate-upgrade-plan", &hooksv1.GenerateUpgradePlanRequest{
				Cluster: *w.cluster, FromControlPlaneKubernetesVersion: c.from, FromWorkersKubernetesVersion: c.workers, ToKubernetesVersion: c.to,
			}, &response)
			if c.failure != "" {
				if response.Status != hooksv1.ResponseStatusFailure || !strings.Contains(response.Message, c.failure) {
					t.Errorf("%s: %q", response.Status, response.Message)
				}
				return
			}
			if response.Status != hooksv1.ResponseStatusSuccess {
				t.Fatalf("%s: %s", response.Status, response.Message)
			}
			var got []string
			for _, step := range response.ControlPlaneUpgrades {
				got = append(got, step.Version)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// writeCertificate makes a certificate for 127.0.0.1, and gives who trusts it.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err == nil {
		err = errors.Join(certutil.WriteCert(filepath.Join(dir, "tls.crt"), certificate), keyutil.WriteKey(filepath.Join(dir, "tls.key"), key))
	}
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	return roots
}
