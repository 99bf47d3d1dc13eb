package machine_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/machine"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/controlplane"
)

var plane controlplane.Shared

func TestMain(m *testing.M) { os.Exit(plane.Run(m)) }

const (
	caller      = "tenant"
	clusterName = "c1"
	version     = "v1.33.1"
	offering    = "Small Instance"
)

// world is a cloud and a cluster in a namespace: what outlives a manager.
type world struct {
	t      *testing.T
	clock  *clocktesting.FakeClock
	sim    *cloudsim.Server
	api    *httptest.Server
	ns     string
	client client.WithWatch
	// cloud is how the test itself speaks to the cloud.
	cloud   *cloudstack.Session
	cluster *clusterv1.Cluster
	infra   *infrav1.CloudStackCluster
	// zones are ids by name, networks those of the cluster by zone name.
	zones, networks map[string]string
	template        string
}

// newWorld has a provisioned cluster with one failure domain in each of the zones, each with its own network, and one image
// that is ready in the first.
func newWorld(t *testing.T, zones ...string) *world {
	t.Helper()
	if len(zones) == 0 {
		zones = []string{"zone-a"}
	}
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Now()), ns: plane.Namespace(t), zones: map[string]string{}, networks: map[string]string{}}
	var err error
	w.sim, err = cloudsim.New(cloudsim.Options{Preset: cloudsim.PresetRecorded, Clock: w.clock, StorageDir: t.TempDir()})
	w.must(err)
	w.api = httptest.NewServer(w.sim)
	t.Cleanup(func() {
		w.api.Close()
		if err := w.sim.Close(); err != nil {
			t.Error(err)
		}
	})
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		w.must(add(s))
	}
	w.client = plane.Client(t, s)
	w.secret()
	w.cloud = w.session(caller)
	for _, zone := range zones {
		found, err := w.cloud.FindZone(t.Context(), "", zone)
		w.must(err)
		w.zones[zone] = found.ID
		w.networks[zone] = w.network("net-"+zone, found.ID)
	}
	w.makeCluster(zones)
	w.template = w.register("node", w.zones[zones[0]])
	w.image("node-a", zones[0])
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) secret() {
	w.t.Helper()
	keys := w.sim.Keys()[caller]
	w.must(w.client.Create(w.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "cloudstack"},
		StringData: map[string]string{"api-url": w.api.URL + "/client/api", "api-key": keys.APIKey, "secret-key": keys.SecretKey},
	}))
}

// session speaks to the cloud as somebody.
func (w *world) session(who string) *cloudstack.Session {
	w.t.Helper()
	sessions, err := cloudstack.NewSessions(cloudstack.Options{Clock: w.clock, CallsPerSecond: -1})
	w.must(err)
	keys := w.sim.Keys()[who]
	s, err := sessions.For(w.t.Context(), cloudstack.Config{UID: who, Revision: "1", URL: w.api.URL + "/client/api", APIKey: keys.APIKey, SecretKey: keys.SecretKey})
	w.must(err)
	return s
}

func (w *world) network(name, zoneID string) string {
	w.t.Helper()
	all, err := w.cloud.NetworkOfferings(w.t.Context(), zoneID)
	w.must(err)
	at := slices.IndexFunc(all, func(o cloudstack.NetworkOffering) bool {
		return o.Name == "DefaultIsolatedNetworkOfferingWithSourceNatService"
	})
	id, err := w.cloud.CreateNetwork(w.t.Context(), cloudstack.NewNetwork{Name: name, DisplayText: name, ZoneID: zoneID, OfferingID: all[at].ID})
	w.must(err)
	return id
}

// register makes a template that is ready a moment later.
func (w *world) register(name, zoneID string) string {
	w.t.Helper()
	osType, err := w.cloud.FindOSType(w.t.Context(), "Ubuntu 22.04 LTS")
	w.must(err)
	made, err := w.cloud.RegisterTemplate(w.t.Context(), cloudstack.NewTemplate{
		Name: name, DisplayText: name, ZoneID: zoneID, Hypervisor: "Simulator", Format: "VHD", OSTypeID: osType.ID, Arch: "x86_64", RequiresHVM: true,
		Details: map[string]string{infrav1.MarkOwner: "an-image"},
	}, "http://images.sim.example.org/t.vhd.bz2", "")
	w.must(err)
	w.clock.Step(time.Minute)
	return made.ID
}

func (w *world) makeCluster(zones []string) {
	w.t.Helper()
	yes := true
	w.cluster = &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: clusterName},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackCluster", Name: clusterName},
		},
	}
	w.must(w.client.Create(w.t.Context(), w.cluster))
	w.cluster.Status.Initialization.InfrastructureProvisioned = &yes
	w.must(w.client.Status().Update(w.t.Context(), w.cluster))
	w.infra = &infrav1.CloudStackCluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.ns, Name: clusterName, Annotations: map[string]string{infrav1.AnnotationIdentity: "the-cluster"},
			Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName},
		},
		Spec: infrav1.CloudStackClusterSpec{IdentityRef: infrav1.IdentityReference{Name: "cloudstack"}},
	}
	for _, zone := range zones {
		w.infra.Spec.FailureDomains = append(w.infra.Spec.FailureDomains, infrav1.FailureDomainSpec{
			Name: "fd-" + zone, Zone: infrav1.FailureDomainZone{Name: zone, Network: infrav1.Network{Name: "net-" + zone}},
		})
	}
	w.must(w.client.Create(w.t.Context(), w.infra))
	w.infra.Status.Initialization.Provisioned = &yes
	for _, zone := range zones {
		w.infra.Status.Resolved = append(w.infra.Status.Resolved, infrav1.ResolvedFailureDomain{
			Name: "fd-" + zone, IdentityRef: infrav1.IdentityReference{Name: "cloudstack"}, ZoneID: w.zones[zone], ZoneName: zone,
			Hypervisors: []string{"Simulator"}, Network: &infrav1.ResolvedNetwork{ID: w.networks[zone], Name: "net-" + zone, Created: true},
		})
	}
	w.must(w.client.Status().Update(w.t.Context(), w.infra))
}

// image makes an image object whose template is the world's. Changes come before it is created, and its status is ready
// unless a change annotated it.
func (w *world) image(name, zone string, change ...func(*infrav1.CloudStackImage)) *infrav1.CloudStackImage {
	w.t.Helper()
	img := &infrav1.CloudStackImage{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name},
		Spec: infrav1.CloudStackImageSpec{
			IdentityRef: infrav1.IdentityReference{Name: "cloudstack"}, Zone: infrav1.ZoneReference{Name: zone}, KubernetesVersion: version,
			OS: "ubuntu-24.04", Hypervisor: infrav1.HypervisorSimulator, ExistingTemplate: &infrav1.TemplateReference{ID: w.template},
		},
	}
	for _, f := range change {
		f(img)
	}
	w.must(w.client.Create(w.t.Context(), img))
	w.ready(img)
	return img
}

// ready makes an image ready.
func (w *world) ready(img *infrav1.CloudStackImage) {
	w.t.Helper()
	img.Status.TemplateID, img.Status.TemplateName, img.Status.ZoneID = w.template, "node", w.zones[img.Spec.Zone.Name]
	img.Status.Hypervisor, img.Status.VirtualSizeBytes = infrav1.HypervisorSimulator, 2<<30
	img.Status.ContentDigest = "sha256:" + strings.Repeat("a", 64)
	img.Status.Conditions = []metav1.Condition{{
		Type: infrav1.ConditionReady, Status: metav1.ConditionTrue, Reason: infrav1.ReasonReady, LastTransitionTime: metav1.Now(),
	}}
	w.must(w.client.Status().Update(w.t.Context(), img))
}

// pair is a Machine with its infrastructure.
type pair struct {
	machine *clusterv1.Machine
	infra   *infrav1.CloudStackMachine
}

type change func(*pair)

// machine makes a worker that is ready to be deployed.
func (w *world) machine(name string, changes ...change) *infrav1.CloudStackMachine {
	w.t.Helper()
	bootstrap := name + "-bootstrap"
	p := &pair{
		machine: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName}},
			Spec: clusterv1.MachineSpec{
				ClusterName: clusterName, Version: version, Bootstrap: clusterv1.Bootstrap{DataSecretName: &bootstrap},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackMachine", Name: name},
			},
		},
		infra: &infrav1.CloudStackMachine{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName}},
			Spec:       infrav1.CloudStackMachineSpec{Offering: infrav1.OfferingReference{Name: offering}},
		},
	}
	for _, f := range changes {
		f(p)
	}
	w.must(client.IgnoreAlreadyExists(w.client.Create(w.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: bootstrap},
		Data:       map[string][]byte{"value": []byte("#cloud-config\nruncmd: [kubeadm]\n"), "format": []byte("cloud-config")},
	})))
	w.must(w.client.Create(w.t.Context(), p.machine))
	p.infra.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: p.machine.UID,
	}}
	w.must(w.client.Create(w.t.Context(), p.infra))
	return p.infra
}

func controlPlane(p *pair) {
	p.machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
	p.infra.Labels[clusterv1.MachineControlPlaneLabel] = ""
}

func infra(f func(*infrav1.CloudStackMachineSpec)) change {
	return func(p *pair) { f(&p.infra.Spec) }
}

func owner(f func(*clusterv1.MachineSpec)) change {
	return func(p *pair) { f(&p.machine.Spec) }
}

// manager is one life of the manager.
type manager struct {
	*world
	reconciler *machine.Reconciler
	sessions   *cloudstack.Sessions
	woken      chan reconcile.Request
	events     *events.FakeRecorder
	queue      workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// start begins a life of the manager on a client, which may be one that fails.
func (w *world) start(c client.Client) *manager {
	w.t.Helper()
	sessions, err := cloudstack.NewSessions(cloudstack.Options{Clock: w.clock, CallsPerSecond: -1})
	w.must(err)
	m := &manager{world: w, sessions: sessions, woken: make(chan reconcile.Request, 10000), events: events.NewFakeRecorder(10000)}
	m.reconciler, err = machine.New(c, w.client, m.events, machine.Options{Sessions: sessions, Clock: w.clock, Answer: 15 * time.Second})
	w.must(err)
	m.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	w.must(m.reconciler.Waker().Start(w.t.Context(), m.queue))
	w.t.Cleanup(m.stop)
	return m
}

func (m *manager) stop() { m.queue.ShutDown() }

func (w *world) get(cm *infrav1.CloudStackMachine) *infrav1.CloudStackMachine {
	w.t.Helper()
	now := &infrav1.CloudStackMachine{}
	err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(cm), now)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return now
}

// once reconciles a machine one time.
func (m *manager) once(cm *infrav1.CloudStackMachine) (ctrl.Result, error) {
	return m.reconciler.Reconcile(m.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(cm)})
}

// poll does what runs beside the reconciles.
func (m *manager) poll() {
	m.sessions.PollJobs(m.t.Context())
	m.sessions.PollMachines(m.t.Context())
	m.sessions.PollNetworks(m.t.Context())
}

const maxSteps = 300

// drive reconciles a machine, moving the clock as time would pass, until what is asked for is true.
func (m *manager) drive(cm *infrav1.CloudStackMachine, until func(*infrav1.CloudStackMachine) bool) *infrav1.CloudStackMachine {
	m.t.Helper()
	var trace []string
	for range maxSteps {
		m.poll()
		result, err := m.once(cm)
		now := m.get(cm)
		if until(now) {
			return now
		}
		trace = append(trace, describe(now, result, err))
		pause := result.RequeueAfter
		if err != nil || pause == 0 || pause > 10*time.Second {
			pause = 3 * time.Second
		}
		if errors.Is(err, reconcile.TerminalError(nil)) {
			m.t.Fatalf("the machine is given up:\n%s", strings.Join(trace, "\n"))
		}
		m.clock.Step(pause)
	}
	m.t.Fatalf("not reached within %d steps; the last were:\n%s", maxSteps, strings.Join(trace[len(trace)-12:], "\n"))
	return nil
}

func describe(cm *infrav1.CloudStackMachine, result ctrl.Result, err error) string {
	if cm == nil {
		return "gone"
	}
	text := fmt.Sprintf("requeue %s, error %v, instance %s %s, job %+v", result.RequeueAfter, err, cm.Status.InstanceID, cm.Status.InstanceState, cm.Status.Job)
	if c := condition(cm, infrav1.ConditionReady); c != nil {
		text += fmt.Sprintf(", Ready=%s/%s %s", c.Status, c.Reason, c.Message)
	}
	return text
}

func condition(cm *infrav1.CloudStackMachine, name string) *metav1.Condition {
	return meta.FindStatusCondition(cm.Status.Conditions, name)
}

func ready(cm *infrav1.CloudStackMachine) bool {
	return cm != nil && meta.IsStatusConditionTrue(cm.Status.Conditions, infrav1.ConditionReady)
}

func gone(cm *infrav1.CloudStackMachine) bool { return cm == nil }

func because(reason string) func(*infrav1.CloudStackMachine) bool {
	return func(cm *infrav1.CloudStackMachine) bool {
		if cm == nil {
			return false
		}
		c := condition(cm, infrav1.ConditionReady)
		return c != nil && c.Status == metav1.ConditionFalse && c.Reason == reason
	}
}

func (m *manager) delete(cm *infrav1.CloudStackMachine) {
	m.t.Helper()
	m.must(client.IgnoreNotFound(m.client.Delete(m.t.Context(), cm.DeepCopy())))
	m.drive(cm, gone)
}

// vms are the machines of the cloud that are not destroyed.
func (w *world) vms() []cloudsim.InventoryItem {
	return slices.DeleteFunc(w.sim.Inventory().Machines, func(i cloudsim.InventoryItem) bool {
		return i.State == "Destroyed" || i.State == "Expunging"
	})
}

func (w *world) wantVMs(n int) {
	w.t.Helper()
	if got := w.vms(); len(got) != n {
		w.t.Errorf("the cloud has %d VMs, want %d: %+v", len(got), n, got)
	}
}

// calls counts the calls of a command; of all commands when it is "".
func (w *world) calls(command string) int {
	n := 0
	for _, e := range w.sim.Journal() {
		if command == "" || e.Command == command {
			n++
		}
	}
	return n
}
