package catalog_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/catalog"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/controlplane"
)

var plane controlplane.Shared

func TestMain(m *testing.M) { os.Exit(plane.Run(m)) }

// world is what one test works in: a namespace, a clock, a CloudStack and a reconciler that is called by hand.
type world struct {
	t          *testing.T
	client     client.WithWatch
	namespace  string
	clock      *clocktesting.FakePassiveClock
	reconciler *catalog.Reconciler
	recorder   *events.FakeRecorder
	// writes counts what the reconciler wrote to the API server since it was last set to zero.
	writes int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, infrav1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{
		t: t, namespace: plane.Namespace(t), recorder: events.NewFakeRecorder(2000),
		clock: clocktesting.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
	}
	w.client = plane.Client(t, s)
	w.filter("")
	return w
}

// filter makes the reconciler of a manager that has this watch filter.
func (w *world) filter(value string) {
	w.t.Helper()
	sessions, err := cloudstack.NewSessions(cloudstack.Options{CallsPerSecond: -1})
	w.must(err)
	o := catalog.Options{Sessions: sessions, Clock: w.clock, WatchFilter: value}
	w.reconciler, err = catalog.New(w.counted(w.client), w.client, w.recorder, o)
	w.must(err)
}

// counted gives a client that counts the writes.
func (w *world) counted(c client.WithWatch) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			w.writes++
			return c.Apply(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			w.writes++
			return c.Delete(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			w.writes++
			return c.Patch(ctx, obj, patch, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			w.writes++
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	})
}

// cloud makes the Secret of a simulated CloudStack.
func (w *world) cloud() {
	w.t.Helper()
	sim, err := cloudsim.New(cloudsim.Options{Preset: cloudsim.PresetDemo})
	if err != nil {
		w.t.Fatal(err)
	}
	web := httptest.NewServer(sim)
	w.t.Cleanup(func() {
		web.Close()
		if err := sim.Close(); err != nil {
			w.t.Error(err)
		}
	})
	keys, ok := sim.Keys()["user"]
	if !ok {
		w.t.Fatal("the simulator has no caller user")
	}
	w.secret(web.URL+"/client/api", keys.APIKey, keys.SecretKey)
}

func (w *world) secret(url, apiKey, secretKey string) {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudstack", Namespace: w.namespace}}
	secret.StringData = map[string]string{"api-url": url, "api-key": apiKey, "secret-key": secretKey}
	w.must(w.client.Create(w.t.Context(), secret))
}

// apply makes or changes the catalog c; text is its spec but for the identity.
func (w *world) apply(text string) {
	w.t.Helper()
	want := &infrav1.TemplateCatalog{}
	document := "spec:\n  identityRef: {name: cloudstack}\n" + text
	if err := yaml.UnmarshalStrict([]byte(document), want); err != nil {
		w.t.Fatalf("Decoding the catalog: %v", err)
	}
	want.Name, want.Namespace = "c", w.namespace
	have := &infrav1.TemplateCatalog{}
	err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(want), have)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	if err != nil {
		w.must(w.client.Create(w.t.Context(), want))
		return
	}
	have.Spec = want.Spec
	w.must(w.client.Update(w.t.Context(), have))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// reconcile runs the reconciler once.
func (w *world) reconcile() (ctrl.Result, error) {
	w.t.Helper()
	return w.reconciler.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "c"}})
}

// settle runs the reconciler and expects no error.
func (w *world) settle() ctrl.Result {
	w.t.Helper()
	result, err := w.reconcile()
	w.must(err)
	return result
}

func (w *world) catalog() *infrav1.TemplateCatalog {
	w.t.Helper()
	c := &infrav1.TemplateCatalog{}
	w.must(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "c"}, c))
	return c
}

func (w *world) images() []infrav1.CloudStackImage {
	w.t.Helper()
	var list infrav1.CloudStackImageList
	w.must(w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace)))
	return list.Items
}

// image gives the only image of a version and zone.
func (w *world) image(version, zone string) *infrav1.CloudStackImage {
	w.t.Helper()
	var found []*infrav1.CloudStackImage
	images := w.images()
	for i := range images {
		if string(images[i].Spec.KubernetesVersion) == version && images[i].Spec.Zone.Name == zone {
			found = append(found, &images[i])
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("%d images of %s in %s, want one", len(found), version, zone)
	}
	return found[0]
}

// report does what the controller of images would do: it says how an image fares.
func (w *world) report(image *infrav1.CloudStackImage, phase infrav1.ImagePhase, reason string) {
	w.t.Helper()
	ready := metav1.Condition{Type: infrav1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}
	if phase == infrav1.PhaseReady {
		ready.Status = metav1.ConditionTrue
		image.Status.TemplateID, image.Status.ContentDigest = "t-"+image.Name, "sha256:00"
	}
	meta.SetStatusCondition(&image.Status.Conditions, ready)
	image.Status.Progress = &infrav1.ImageProgress{Phase: phase}
	w.must(w.client.Status().Update(w.t.Context(), image))
}

// expectCondition compares status, reason and a part of the message.
func (w *world) expectCondition(conditionType string, status metav1.ConditionStatus, reason, message string) {
	w.t.Helper()
	c := meta.FindStatusCondition(w.catalog().Status.Conditions, conditionType)
	if c == nil {
		w.t.Errorf("No condition %s", conditionType)
		return
	}
	if c.Status != status || c.Reason != reason || !strings.Contains(c.Message, message) {
		w.t.Errorf("Condition %s = %s, %s, %q, want %s, %s, %q", conditionType, c.Status, c.Reason, c.Message, status, reason, message)
	}
}

// events empties the recorder.
func (w *world) events() []string {
	var out []string
	for {
		select {
		case e := <-w.recorder.Events:
			out = append(out, e)
		default:
			return out
		}
	}
}

func (w *world) expectImages(want int) {
	w.t.Helper()
	if got := len(w.images()); got != want {
		w.t.Errorf("%d images, want %d", got, want)
	}
}

// pattern is the spec of a catalog with one pattern.
func pattern(zones, versions string) string {
	return fmt.Sprintf(`
  zones: [%s]
  images:
  - name: ubuntu
    os: ubuntu-24.04
    kubernetesVersions: [%s]
    url: "http://h.example.org/{{.Version}}.{{.Suffix}}"
    checksum: {url: "{{.URL}}.sha256"}
`, zones, versions)
}
