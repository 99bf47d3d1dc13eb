package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

const twoZones = "{name: a, hypervisor: KVM}, {name: b, hypervisor: VMware}"

func TestImagesAreMade(t *testing.T) {
	w := newWorld(t)
	w.secret("http://127.0.0.1:1/client/api", "k", "s")
	w.apply(pattern(twoZones, "v1.32.3, v1.33.1+k3s1") + "  retention: {deletePolicy: Delete}\n  limits: {maxOutput: 20Gi}\n")
	w.settle()

	w.expectImages(4)
	image := w.image("v1.33.1+k3s1", "b")
	got := []string{
		string(image.Spec.Hypervisor), string(image.Spec.Source.URLs[0]), image.Spec.Source.Checksum.URL, string(image.Spec.Source.Format),
		string(image.Spec.DeletePolicy), image.Spec.Limits.MaxOutput.String(), image.Spec.IdentityRef.Name,
		image.Labels[infrav1.LabelCatalog], image.Labels[infrav1.LabelCatalogImage], image.Labels[infrav1.LabelKubernetesVersion],
	}
	want := []string{
		"VMware", "http://h.example.org/v1.33.1+k3s1.ova", "http://h.example.org/v1.33.1+k3s1.ova.sha256", "OVA",
		"Delete", "20Gi", "cloudstack", "c", "ubuntu", "v1.33.1_k3s1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Image (-want +got):\n%s", diff)
	}
	catalog := w.catalog()
	if !metav1.IsControlledBy(image, catalog) {
		t.Error("The image is not controlled by the catalog")
	}
	if !slices.Contains(catalog.Finalizers, infrav1.FinalizerCatalog) {
		t.Error("The catalog has no finalizer")
	}
	w.expectCondition(infrav1.ConditionCredentialsAvailable, metav1.ConditionTrue, infrav1.ReasonReady, "cloudstack")

	w.settle()
	w.writes = 0
	w.settle()
	if w.writes != 0 {
		t.Errorf("%d writes although nothing changed, want none", w.writes)
	}
	w.expectCondition(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonProgressing, "0 of 4 images are ready")
}

func TestStatusFollowsTheImages(t *testing.T) {
	w := newWorld(t)
	w.secret("http://127.0.0.1:1/client/api", "k", "s")
	w.apply(pattern(twoZones, "v1.32.3, v1.33.1"))
	w.settle()
	w.report(w.image("v1.32.3", "a"), infrav1.PhaseReady, infrav1.ReasonReady)
	w.report(w.image("v1.32.3", "b"), infrav1.PhaseReady, infrav1.ReasonReady)
	w.report(w.image("v1.33.1", "a"), infrav1.PhaseReady, infrav1.ReasonReady)
	w.report(w.image("v1.33.1", "b"), infrav1.PhaseFailed, infrav1.ReasonContentRejected)
	w.settle()

	status := w.catalog().Status
	want := &infrav1.ImageCounts{Total: 4, Ready: 3, Failed: 1, Summary: "3/4"}
	if diff := cmp.Diff(want, status.Images); diff != "" {
		t.Errorf("Counts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]infrav1.KubernetesVersion{"v1.32.3"}, status.KubernetesVersions); diff != "" {
		t.Errorf("Versions ready in every zone (-want +got):\n%s", diff)
	}
	w.expectCondition(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonImagesFailed, w.image("v1.33.1", "b").Name+" (ContentRejected)")

	w.report(w.image("v1.33.1", "b"), infrav1.PhaseReady, infrav1.ReasonReady)
	w.events()
	w.settle()
	w.settle()
	w.expectCondition(infrav1.ConditionReady, metav1.ConditionTrue, infrav1.ReasonReady, "all 4 images are ready")
	status = w.catalog().Status
	if status.NewestKubernetesVersion != "v1.33.1" || status.Zones != "a,b" {
		t.Errorf("Newest version %q, zones %q, want v1.33.1 and a,b", status.NewestKubernetesVersion, status.Zones)
	}
	if got := w.events(); len(got) != 1 || !strings.Contains(got[0], "Normal Ready") {
		t.Errorf("Events = %q, want one about being ready", got)
	}
}

func TestImagesAreRetired(t *testing.T) {
	w := newWorld(t)
	w.secret("http://127.0.0.1:1/client/api", "k", "s")
	w.apply(pattern("{name: a, hypervisor: KVM}", "v1.32.1, v1.32.2, v1.33.1"))
	w.settle()
	w.expectImages(3)
	foreign := w.image("v1.32.1", "a").DeepCopy()
	foreign.ObjectMeta = metav1.ObjectMeta{Name: "foreign", Namespace: w.namespace, Labels: foreign.Labels}
	foreign.Spec.Zone.Name = "elsewhere"
	w.must(w.client.Create(t.Context(), foreign))
	used := w.image("v1.32.1", "a")
	controllerutil.AddFinalizer(used, infrav1.FinalizerImage)
	w.must(w.client.Update(t.Context(), used))
	w.settle()
	w.events()

	w.apply(pattern("{name: a, hypervisor: KVM}", "v1.32.1, v1.32.2") + "  retention: {keepPatchesPerMinor: 1}\n")
	w.settle()

	w.expectImages(3) // what is used, what is kept, what is foreign
	if w.image("v1.32.1", "a").DeletionTimestamp.IsZero() {
		t.Error("The image beyond retention is not being deleted")
	}
	var told []string
	for _, e := range w.events() {
		if strings.Contains(e, infrav1.ReasonRetired) {
			told = append(told, e)
		}
	}
	if len(told) != 2 {
		t.Errorf("Events = %q, want one for each retired image", told)
	}
	w.settle()
	if again := w.events(); len(again) != 0 {
		t.Errorf("Events = %q, want none a second time", again)
	}
	if got := w.catalog().Status.Images.Total; got != 1 {
		t.Errorf("%d images are wanted, want 1", got)
	}
}

func TestImagesExpire(t *testing.T) {
	w := newWorld(t)
	w.secret("http://127.0.0.1:1/client/api", "k", "s")
	spec := pattern("{name: a, hypervisor: KVM}", "v1.32.1")
	w.apply(strings.Replace(spec, "    os:", "    expirationDate: 2026-03-01T12:30:00Z\n    os:", 1))
	if result := w.settle(); result.RequeueAfter != 30*time.Minute {
		t.Errorf("Looked at again after %v, want 30m", result.RequeueAfter)
	}
	w.expectImages(1)
	w.clock.SetTime(w.clock.Now().Add(30 * time.Minute))
	if result := w.settle(); result.RequeueAfter != 0 {
		t.Errorf("Looked at again after %v, want never", result.RequeueAfter)
	}
	w.expectImages(0)
	w.settle()
	w.expectCondition(infrav1.ConditionReady, metav1.ConditionTrue, infrav1.ReasonNoImages, "no image")
}

func TestImportedContentStays(t *testing.T) {
	w := newWorld(t)
	w.secret("http://127.0.0.1:1/client/api", "k", "s")
	spec := pattern("{name: a, hypervisor: KVM}", "v1.32.1, v1.32.2")
	w.apply(spec)
	w.settle()
	w.report(w.image("v1.32.1", "a"), infrav1.PhaseReady, infrav1.ReasonReady)

	spec = strings.Replace(spec, "h.example.org", "other.example.org", 1)
	spec = strings.Replace(spec, "    os:", "    stage: Deprecated\n    os:", 1)
	w.apply(spec)
	w.settle()
	w.expectCondition(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonContentChanged, "ubuntu v1.32.1 in a")
	imported, fresh := w.image("v1.32.1", "a"), w.image("v1.32.2", "a")
	got := []string{string(imported.Spec.Source.URLs[0]), string(imported.Spec.Stage), string(fresh.Spec.Source.URLs[0]), string(fresh.Spec.Stage)}
	want := []string{"http://h.example.org/v1.32.1.qcow2.bz2", "Deprecated", "http://other.example.org/v1.32.2.qcow2.bz2", "Deprecated"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Sources and stages (-want +got):\n%s", diff)
	}
}

func TestCredentialsAreMissing(t *testing.T) {
	w := newWorld(t)
	w.apply(pattern("{name: a, hypervisor: KVM}, {name: unknown}", "v1.32.1"))
	if result := w.settle(); result.RequeueAfter == 0 {
		t.Error("A zone that could not be resolved is not tried again")
	}
	w.expectCondition(infrav1.ConditionCredentialsAvailable, metav1.ConditionFalse, infrav1.ReasonSecretNotFound, "cloudstack")
	w.expectCondition(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonSecretNotFound, "cloudstack")
	w.expectImages(1)

	w.secret("http://127.0.0.1:1/client/api", "k", "")
	w.settle()
	w.expectCondition(infrav1.ConditionCredentialsAvailable, metav1.ConditionFalse, infrav1.ReasonSecretInvalid, "secret-key")
}

func TestHypervisorsComeFromTheZone(t *testing.T) {
	w := newWorld(t)
	w.cloud()
	w.apply(pattern("{name: zone-kvm}, {name: nowhere}, {name: zone-vmware}", "v1.32.1"))
	w.settle()
	for zone, hypervisor := range map[string]infrav1.Hypervisor{"zone-kvm": infrav1.HypervisorKVM, "zone-vmware": infrav1.HypervisorVMware} {
		if got := w.image("v1.32.1", zone).Spec.Hypervisor; got != hypervisor {
			t.Errorf("Hypervisor in %s = %s, want %s", zone, got, hypervisor)
		}
	}
	w.expectCondition(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonZoneNotFound, "nowhere")
	if got := w.catalog().Status.KubernetesVersions; len(got) != 0 {
		t.Errorf("Versions %v are ready in every zone, want none", got)
	}
}

func TestAnInvalidCatalogChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.secret("http://127.0.0.1:1/client/api", "k", "s")
	spec := pattern("{name: a, hypervisor: KVM}", "v1.32.1")
	w.apply(spec)
	w.settle()
	w.apply(strings.Replace(spec, "{{.Version}}", "{{.Vresion}}", 1))
	if _, err := w.reconcile(); err == nil {
		t.Error("The reconcile of an invalid catalog succeeded")
	}
	w.expectCondition(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonInvalidSpec, "spec.images[0].url")
	w.expectImages(1)
}

func TestSuspend(t *testing.T) {
	w := newWorld(t)
	w.secret("http://127.0.0.1:1/client/api", "k", "s")
	w.apply(pattern("{name: a, hypervisor: KVM}", "v1.32.1, v1.32.2"))
	w.settle()
	w.apply(pattern("{name: a, hypervisor: KVM}", "v1.32.2, v1.32.3") + "  suspend: true\n")
	w.settle()
	w.expectImages(2)
	if !w.image("v1.32.2", "a").Spec.Suspend {
		t.Error("The image works on although its catalog is suspended")
	}
	w.expectCondition(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonSuspended, "")

	w.apply(pattern("{name: a, hypervisor: KVM}", "v1.32.2, v1.32.3"))
	w.settle()
	w.expectImages(2)
	if w.image("v1.32.2", "a").Spec.Suspend || w.image("v1.32.3", "a").Spec.Suspend {
		t.Error("An image is suspended although its catalog is not")
	}
}

func TestPausedCatalogsAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.apply(pattern("{name: a, hypervisor: KVM}", "v1.32.1"))
	catalog := w.catalog()
	catalog.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""}
	w.must(w.client.Update(t.Context(), catalog))
	w.settle()
	w.expectImages(0)
	w.expectCondition(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonPaused, "cluster.x-k8s.io/paused")
}

func TestCatalogsOfAnotherManagerAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.filter("ours")
	w.apply(pattern("{name: a, hypervisor: KVM}", "v1.32.1"))
	w.writes = 0
	w.settle()
	w.expectImages(0)
	if w.writes != 0 {
		t.Errorf("%d writes, want none", w.writes)
	}
	catalog := w.catalog()
	catalog.Labels = map[string]string{clusterv1.WatchLabel: "ours"}
	w.must(w.client.Update(t.Context(), catalog))
	w.settle()
	w.expectImages(1)
}

func TestDeletion(t *testing.T) {
	w := newWorld(t)
	w.secret("http://127.0.0.1:1/client/api", "k", "s")
	w.apply(pattern(twoZones, "v1.32.1"))
	w.settle()
	foreign := w.image("v1.32.1", "a").DeepCopy()
	foreign.ObjectMeta = metav1.ObjectMeta{Name: "foreign", Namespace: w.namespace, Labels: foreign.Labels}
	foreign.Spec.Zone.Name = "elsewhere"
	w.must(w.client.Create(t.Context(), foreign))
	used := w.image("v1.32.1", "a")
	controllerutil.AddFinalizer(used, infrav1.FinalizerImage)
	w.must(w.client.Update(t.Context(), used))
	w.report(used, infrav1.PhaseRetained, infrav1.ReasonInUse)

	w.must(w.client.Delete(t.Context(), w.catalog()))
	w.settle()
	w.expectCondition(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonDeleting, used.Name)
	w.settle()
	w.expectCondition(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonDeleting, "(InUse)")
	w.expectImages(2)

	used = w.image("v1.32.1", "a")
	controllerutil.RemoveFinalizer(used, infrav1.FinalizerImage)
	w.must(w.client.Update(t.Context(), used))
	w.settle()
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "c"}, &infrav1.TemplateCatalog{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("The catalog is still there: %v", err)
	}
	w.expectImages(1)
	w.settle()
}

// TestManyImages makes 200 images in 3 zones, with bounded writes in every pass.
func TestManyImages(t *testing.T) {
	w := newWorld(t)
	w.secret("http://127.0.0.1:1/client/api", "k", "s")
	var spec strings.Builder
	spec.WriteString("  zones: [{name: a, hypervisor: KVM}, {name: b, hypervisor: KVM}, {name: c, hypervisor: KVM}]\n  images:\n")
	for i := range 200 {
		fmt.Fprintf(&spec, "  - {name: i%d, os: o, artifacts: [{kubernetesVersion: v1.30.%d, hypervisor: KVM, urls: [\"http://h/%d.qcow2\"], checksum: {insecureSkip: true}}]}\n", i, i, i)
	}
	w.apply(spec.String())
	passes := 0
	for ; ; passes++ {
		w.writes = 0
		result := w.settle()
		if w.writes > 210 {
			t.Errorf("%d writes in one pass, want about 200 at most", w.writes)
		}
		if result.RequeueAfter == 0 {
			break
		}
	}
	w.expectImages(600)
	if passes > 4 {
		t.Errorf("%d passes, want 3 or so", passes)
	}
	w.settle()
	w.writes = 0
	began := time.Now()
	w.settle()
	if w.writes != 0 {
		t.Errorf("%d writes although nothing changed", w.writes)
	}
	t.Logf("A look at 600 images took %v", time.Since(began))
	if got := w.catalog().Status.Images.Total; got != 600 {
		t.Errorf("%d images are wanted, want 600", got)
	}
}
