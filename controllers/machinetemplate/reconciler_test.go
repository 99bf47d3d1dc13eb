package machinetemplate_test

import (
	"context"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/machinetemplate"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/controlplane"
)

var plane controlplane.Shared

func TestMain(m *testing.M) { os.Exit(plane.Run(m)) }

// world is what one test works in: a namespace, a CloudStack and a reconciler that is called by hand.
type world struct {
	t          *testing.T
	client     client.Client
	namespace  string
	sim        *cloudsim.Server
	reconciler *machinetemplate.Reconciler
}

func newWorld(t *testing.T, filter string) *world {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, namespace: plane.Namespace(t), client: plane.Client(t, s)}
	sessions, err := cloudstack.NewSessions(cloudstack.Options{CallsPerSecond: -1})
	if err != nil {
		t.Fatal(err)
	}
	w.reconciler, err = machinetemplate.New(w.client, w.client, machinetemplate.Options{
		Sessions: sessions, WatchFilter: filter,
		Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.cloud()
	return w
}

// cloud starts a simulated CloudStack and makes the Secret for it.
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
	w.sim = sim
	keys := sim.Keys()["user"]
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudstack", Namespace: w.namespace}}
	secret.StringData = map[string]string{"api-url": web.URL + "/client/api", "api-key": keys.APIKey, "secret-key": keys.SecretKey}
	w.must(w.client.Create(w.t.Context(), secret))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// create makes an object of a text, and reports its status if it has one.
func create[T client.Object](w *world, obj T, text string) T {
	w.t.Helper()
	w.must(yaml.UnmarshalStrict([]byte(text), obj))
	obj.SetNamespace(w.namespace)
	reported := obj.DeepCopyObject().(T)
	w.must(w.client.Create(w.t.Context(), obj))
	reported.SetResourceVersion(obj.GetResourceVersion())
	reported.SetUID(obj.GetUID())
	if strings.Contains(text, "\nstatus:") {
		w.must(w.client.Status().Update(w.t.Context(), reported))
	}
	return obj
}

// template makes the template t.
func (w *world) template(spec string) *infrav1.CloudStackMachineTemplate {
	w.t.Helper()
	return create(w, &infrav1.CloudStackMachineTemplate{}, "metadata: {name: t}\nspec: {template: {spec: "+spec+"}}\n")
}

func (w *world) catalog(name, text string) {
	w.t.Helper()
	create(w, &infrav1.TemplateCatalog{}, "metadata: {name: "+name+"}\n"+text)
}

const catalogText = `
spec:
  identityRef: {name: cloudstack}
  zones: [{name: zone-kvm}]
  offeringClasses:
  - name: worker
    rules: [{kubernetesVersions: ">=1.33.0", offering: {minimum: {memory: 1Gi}}}, {offering: {name: Small Instance}}]
status: {newestKubernetesVersion: v1.32.3}
`

// reconcile runs the reconciler once and reads the template back.
func (w *world) reconcile() (*infrav1.CloudStackMachineTemplate, ctrl.Result) {
	w.t.Helper()
	key := client.ObjectKey{Namespace: w.namespace, Name: "t"}
	result, err := w.reconciler.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: key})
	w.must(err)
	t := &infrav1.CloudStackMachineTemplate{}
	w.must(w.client.Get(w.t.Context(), key, t))
	return t, result
}

// seen is what the status of a template tells.
type seen struct{ CPU, Memory, Disk, Arch, OS, Reason string }

func seenOf(t *infrav1.CloudStackMachineTemplate) seen {
	text := func(name corev1.ResourceName) string {
		if q, ok := t.Status.Capacity[name]; ok {
			return q.String()
		}
		return ""
	}
	s := seen{
		CPU: text(corev1.ResourceCPU), Memory: text(corev1.ResourceMemory), Disk: text(corev1.ResourceEphemeralStorage),
		Arch: string(t.Status.NodeInfo.Architecture), OS: t.Status.NodeInfo.OperatingSystem,
	}
	if c := meta.FindStatusCondition(t.Status.Conditions, infrav1.ConditionCapacityKnown); c != nil {
		s.Reason = c.Reason
	}
	return s
}

func known(cpu, memory string) seen {
	return seen{CPU: cpu, Memory: memory, Arch: "amd64", OS: "linux", Reason: infrav1.ReasonCapacityKnown}
}

func TestCapacity(t *testing.T) {
	tests := map[string]struct {
		spec string
		want seen
	}{
		"by name":               {spec: "{offering: {name: Small Instance}}", want: known("1", "512Mi")},
		"by minimum":            {spec: "{offering: {minimum: {cpu: 1, memory: 1Gi}}}", want: known("1", "1Gi")},
		"by class":              {spec: "{offering: {class: worker}}", want: known("1", "512Mi")},
		"another architecture":  {spec: "{offering: {name: Small Instance}, image: {arch: aarch64}}", want: seen{"1", "512Mi", "", "arm64", "linux", infrav1.ReasonCapacityKnown}},
		"a disk":                {spec: "{offering: {name: Small Instance}, rootDiskSizeGiB: 40}", want: seen{"1", "512Mi", "40Gi", "amd64", "linux", infrav1.ReasonCapacityKnown}},
		"a template of ours":    {spec: "{offering: {name: Small Instance}, template: {name: mine}}", want: seen{"1", "512Mi", "", "arm64", "linux", infrav1.ReasonCapacityKnown}},
		"a template of others":  {spec: "{offering: {name: Small Instance}, template: {name: other}}", want: seen{"1", "512Mi", "", "", "linux", infrav1.ReasonCapacityKnown}},
		"a name of two":         {spec: "{offering: {name: Medium Instance}}", want: seen{Reason: infrav1.ReasonOfferingAmbiguous}},
		"no such offering":      {spec: "{offering: {name: Small}}", want: seen{Reason: infrav1.ReasonOfferingNotFound}},
		"no such class":         {spec: "{offering: {class: gpu}}", want: seen{Reason: infrav1.ReasonOfferingClassNotFound}},
		"more than anybody has": {spec: "{offering: {minimum: {cpu: 4096}}}", want: seen{Reason: infrav1.ReasonOfferingNotFound}},
	}
	w := newWorld(t, "")
	w.catalog("c", catalogText)
	zone := w.zoneID("zone-kvm")
	create(w, &infrav1.CloudStackImage{}, `
metadata: {name: i}
spec: {identityRef: {name: cloudstack}, zone: {name: zone-kvm}, kubernetesVersion: v1.32.3, os: o, arch: aarch64, existingTemplate: {name: mine}}
status: {zoneID: `+zone+`, templateID: t1, templateName: mine}
`)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w.t = t
			template := w.template(tc.spec)
			got, _ := w.reconcile()
			w.must(w.client.Delete(context.WithoutCancel(t.Context()), template))
			if diff := cmp.Diff(tc.want, seenOf(got)); diff != "" {
				t.Errorf("Status (-want +got):\n%s\n%v", diff, got.Status.Conditions)
			}
		})
	}
}

func (w *world) zoneID(name string) string {
	w.t.Helper()
	sessions, err := cloudstack.NewSessions(cloudstack.Options{CallsPerSecond: -1})
	w.must(err)
	secret := &corev1.Secret{}
	w.must(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "cloudstack"}, secret))
	session, err := sessions.For(w.t.Context(), cloudstack.Config{
		UID: "u", Revision: "1", URL: string(secret.Data["api-url"]), APIKey: string(secret.Data["api-key"]), SecretKey: string(secret.Data["secret-key"]),
	})
	w.must(err)
	zone, err := session.FindZone(w.t.Context(), "", name)
	w.must(err)
	return zone.ID
}

const (
	infraText = "metadata: {name: %}\nspec: {identityRef: {name: cloudstack}, zone: {name: zone-kvm}}\n"
	ownerText = "metadata: {name: o}\nspec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: CloudStackCluster, name: a}}\n"
)

func infra(name string) string { return strings.Replace(infraText, "%", name, 1) }

func TestWhoTellsTheCredentials(t *testing.T) {
	tests := map[string]struct {
		clusters []string
		catalogs []string
		owned    bool
		want     string // the reason
		message  string
	}{
		"nobody":                        {want: infrav1.ReasonIdentityNotFound, message: "no CloudStackCluster or TemplateCatalog"},
		"a catalog":                     {catalogs: []string{catalogText}, want: infrav1.ReasonCapacityKnown, message: "the TemplateCatalog c0"},
		"a cluster goes before":         {clusters: []string{infra("a")}, catalogs: []string{catalogText}, want: infrav1.ReasonCapacityKnown, message: "the CloudStackCluster a"},
		"two catalogs of one place":     {catalogs: []string{catalogText, catalogText}, want: infrav1.ReasonCapacityKnown},
		"two catalogs of two places":    {catalogs: []string{catalogText, strings.Replace(catalogText, "zone-kvm", "zone-vmware", 1)}, want: infrav1.ReasonIdentityAmbiguous, message: "the TemplateCatalog c0 and the TemplateCatalog c1"},
		"two clusters of two places":    {clusters: []string{infra("a"), strings.Replace(infra("b"), "zone-kvm", "zone-vmware", 1)}, want: infrav1.ReasonIdentityAmbiguous},
		"the owner":                     {owned: true, clusters: []string{infra("a"), strings.Replace(infra("b"), "name: cloudstack", "name: none", 1)}, want: infrav1.ReasonCapacityKnown, message: "the CloudStackCluster a"},
		"an owner that has nothing yet": {owned: true, want: infrav1.ReasonWaitingForInfrastructure, message: "the cluster o"},
		"a Secret that is not there":    {clusters: []string{strings.Replace(infra("a"), "name: cloudstack", "name: none", 1)}, want: infrav1.ReasonSecretNotFound},
		"a zone that is not there":      {clusters: []string{strings.Replace(infra("a"), "zone-kvm", "nowhere", 1)}, want: infrav1.ReasonZoneNotFound, message: "nowhere"},
		"no zone, of several":           {clusters: []string{strings.Replace(infra("a"), ", zone: {name: zone-kvm}", "", 1)}, want: infrav1.ReasonZoneAmbiguous},
		"a failure domain": {clusters: []string{`
metadata: {name: a}
spec: {failureDomains: [{name: fd1, acsEndpoint: {name: none}, zone: {name: nowhere}}, {name: fd2, acsEndpoint: {name: cloudstack}, zone: {name: zone-kvm}}]}
`}, want: infrav1.ReasonCapacityKnown},
		"a Secret of another namespace": {clusters: []string{`
metadata: {name: a}
spec: {identityRef: {name: cloudstack}, failureDomains: [{name: fd1, acsEndpoint: {name: cloudstack, namespace: other}, zone: {name: zone-kvm}}]}
`}, want: infrav1.ReasonIdentityNotFound},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			for _, text := range tc.clusters {
				create(w, &infrav1.CloudStackCluster{}, text)
			}
			for i, text := range tc.catalogs {
				w.catalog("c"+string(rune('0'+i)), text)
			}
			template := w.template("{offering: {name: Small Instance}, failureDomainName: fd2}")
			if tc.owned {
				w.own(template)
			}
			got, _ := w.reconcile()
			c := meta.FindStatusCondition(got.Status.Conditions, infrav1.ConditionCapacityKnown)
			if c == nil || c.Reason != tc.want || !strings.Contains(c.Message, tc.message) {
				t.Errorf("Condition = %+v, want %s with %q", c, tc.want, tc.message)
			}
		})
	}
}

// own makes the cluster o the owner of a template, as Cluster API does.
func (w *world) own(t *infrav1.CloudStackMachineTemplate) *clusterv1.Cluster {
	w.t.Helper()
	owner := create(w, &clusterv1.Cluster{}, ownerText)
	t.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: owner.Name, UID: owner.UID}}
	w.must(w.client.Update(w.t.Context(), t))
	return owner
}

// TestClassFollowsTheVersion: what a class means changes with the version of the MachineDeployment.
func TestClassFollowsTheVersion(t *testing.T) {
	w := newWorld(t, "")
	w.catalog("c", catalogText)
	w.template("{offering: {class: worker}}")
	got, _ := w.reconcile()
	if diff := cmp.Diff(known("1", "512Mi"), seenOf(got)); diff != "" {
		t.Errorf("By the newest of the catalog (-want +got):\n%s", diff)
	}
	d := create(w, &clusterv1.MachineDeployment{}, `
metadata: {name: d}
spec:
  clusterName: o
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      clusterName: o
      version: v1.31.0
      bootstrap: {dataSecretName: s}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: CloudStackMachineTemplate, name: t}
`)
	d.Spec.Template.Spec.Version = "v1.33.1"
	w.must(w.client.Update(t.Context(), d))
	got, _ = w.reconcile()
	if diff := cmp.Diff(known("1", "1Gi"), seenOf(got)); diff != "" {
		t.Errorf("By the MachineDeployment (-want +got):\n%s", diff)
	}
}

// TestKnownCostsNothing: what cannot change is not asked for again, and templates of others are left alone.
func TestKnownCostsNothing(t *testing.T) {
	w := newWorld(t, "mine")
	w.catalog("c", catalogText)
	template := w.template("{offering: {name: Small Instance}}")
	got, _ := w.reconcile()
	if len(got.Status.Conditions) > 0 {
		t.Errorf("A template without the label was looked at: %v", got.Status)
	}
	template.Labels = map[string]string{clusterv1.WatchLabel: "mine"}
	w.must(w.client.Update(t.Context(), template))
	if got, _ = w.reconcile(); seenOf(got).Reason != infrav1.ReasonCapacityKnown {
		t.Fatalf("Conditions = %v", got.Status.Conditions)
	}
	calls, version := len(w.sim.Journal()), got.ResourceVersion
	got, result := w.reconcile()
	if after := len(w.sim.Journal()); after != calls || got.ResourceVersion != version || result.RequeueAfter != 0 {
		t.Errorf("It took %d calls more, and %v until the next look", after-calls, result.RequeueAfter)
	}
}

func TestPaused(t *testing.T) {
	w := newWorld(t, "")
	create(w, &infrav1.CloudStackCluster{}, infra("a"))
	owner := w.own(w.template("{offering: {name: Small Instance}}"))
	owner.Spec.Paused = new(bool)
	*owner.Spec.Paused = true
	w.must(w.client.Update(t.Context(), owner))
	if got, _ := w.reconcile(); len(got.Status.Conditions) > 0 {
		t.Errorf("Although paused: %v", got.Status.Conditions)
	}
	*owner.Spec.Paused = false
	w.must(w.client.Update(t.Context(), owner))
	if got, _ := w.reconcile(); seenOf(got).Reason != infrav1.ReasonCapacityKnown {
		t.Errorf("Conditions = %v", got.Status.Conditions)
	}
}

// TestTroublePasses: what is missing in CloudStack is looked for again, and a server that does not answer is no reason to
// forget what was known.
func TestTroublePasses(t *testing.T) {
	w := newWorld(t, "")
	w.catalog("c", catalogText)
	w.template("{offering: {class: worker}}")
	w.reconcile()
	secret := &corev1.Secret{}
	w.must(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "cloudstack"}, secret))
	secret.Data["secret-key"] = []byte("wrong")
	w.must(w.client.Update(t.Context(), secret))
	got, result := w.reconcile()
	want := known("1", "512Mi")
	want.Reason = infrav1.ReasonCredentialsRefused
	if diff := cmp.Diff(want, seenOf(got)); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}
	if result.RequeueAfter < time.Minute {
		t.Errorf("The next look is in %v", result.RequeueAfter)
	}
}
