package cluster_test

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
	"github.com/capcat/capcat/controllers/cluster"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/controlplane"
)

var plane controlplane.Shared

func TestMain(m *testing.M) { os.Exit(plane.Run(m)) }

const (
	caller = "tenant"
	zone   = "zone-a"
)

// world is a cloud and a namespace: what outlives a manager.
type world struct {
	t      *testing.T
	clock  *clocktesting.FakeClock
	sim    *cloudsim.Server
	api    *httptest.Server
	ns     string
	client client.WithWatch
	// cloud is how the test itself speaks to the cloud.
	cloud  *cloudstack.Session
	zoneID string
	// seeded is how many tags the cloud came with.
	seeded int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Now()), ns: plane.Namespace(t)}
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
	w.secret(w.ns)
	w.cloud = w.session(caller)
	found, err := w.cloud.FindZone(t.Context(), "", zone)
	w.must(err)
	w.zoneID = found.ID
	w.seeded = len(w.sim.Inventory().Tags)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) secret(namespace string) {
	w.t.Helper()
	keys := w.sim.Keys()[caller]
	w.must(w.client.Create(w.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloudstack"},
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

// network makes a network that is nobody's.
func (w *world) network(name, offering string) string {
	w.t.Helper()
	all, err := w.cloud.NetworkOfferings(w.t.Context(), w.zoneID)
	w.must(err)
	at := slices.IndexFunc(all, func(o cloudstack.NetworkOffering) bool { return o.Name == offering })
	if at < 0 {
		w.t.Fatalf("no offering %s", offering)
	}
	id, err := w.cloud.CreateNetwork(w.t.Context(), cloudstack.NewNetwork{Name: name, DisplayText: name, ZoneID: w.zoneID, OfferingID: all[at].ID})
	w.must(err)
	return id
}

const natOffering = "DefaultIsolatedNetworkOfferingWithSourceNatService"

// await steps the clock until a job of the test's own has ended.
func (w *world) await(job cloudstack.Job, err error) {
	w.t.Helper()
	w.must(err)
	w.clock.Step(time.Minute)
	outcome, err := w.cloud.JobOutcome(w.t.Context(), job, "job")
	w.must(err)
	if outcome.State != cloudstack.JobSucceeded {
		w.t.Fatalf("the job of the test ended %+v", outcome)
	}
}

type change func(*infrav1.CloudStackCluster)

func spec(f func(*infrav1.CloudStackClusterSpec)) change {
	return func(c *infrav1.CloudStackCluster) { f(&c.Spec) }
}

// cluster makes a Cluster with its infrastructure.
func (w *world) cluster(name string, changes ...change) *infrav1.CloudStackCluster {
	w.t.Helper()
	return w.clusterIn(w.ns, name, changes...)
}

func (w *world) clusterIn(namespace, name string, changes ...change) *infrav1.CloudStackCluster {
	w.t.Helper()
	owner := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackCluster", Name: name},
		},
	}
	w.must(w.client.Create(w.t.Context(), owner))
	c := &infrav1.CloudStackCluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: name, UID: owner.UID}},
		},
		Spec: infrav1.CloudStackClusterSpec{
			IdentityRef: infrav1.IdentityReference{Name: "cloudstack"}, Zone: &infrav1.ZoneReference{Name: zone},
		},
	}
	for _, f := range changes {
		f(c)
	}
	w.must(w.client.Create(w.t.Context(), c))
	return c
}

// manager is one life of the manager.
type manager struct {
	*world
	reconciler *cluster.Reconciler
	keeper     *cluster.Keeper
	sessions   *cloudstack.Sessions
	queue      workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// start begins a life of the manager on a client, which may be one that fails.
func (w *world) start(c client.Client) *manager {
	w.t.Helper()
	sessions, err := cloudstack.NewSessions(cloudstack.Options{Clock: w.clock, CallsPerSecond: -1})
	w.must(err)
	m := &manager{world: w, sessions: sessions, keeper: cluster.NewKeeper(c)}
	m.reconciler, err = cluster.New(c, w.client, events.NewFakeRecorder(100000), cluster.Options{Sessions: sessions, Clock: w.clock})
	w.must(err)
	m.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	w.must(m.reconciler.Waker().Start(w.t.Context(), m.queue))
	w.t.Cleanup(m.stop)
	return m
}

func (m *manager) stop() { m.queue.ShutDown() }

func (w *world) get(c *infrav1.CloudStackCluster) *infrav1.CloudStackCluster {
	w.t.Helper()
	now := &infrav1.CloudStackCluster{}
	err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(c), now)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return now
}

func (m *manager) once(c *infrav1.CloudStackCluster) (ctrl.Result, error) {
	return m.reconciler.Reconcile(m.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c)})
}

// poll does what runs beside the reconciles.
func (m *manager) poll() {
	m.sessions.PollJobs(m.t.Context())
	m.sessions.PollNetworks(m.t.Context())
}

const maxSteps = 300

// drive reconciles a cluster, moving the clock as time would pass, until what is asked for is true.
func (m *manager) drive(c *infrav1.CloudStackCluster, until func(*infrav1.CloudStackCluster) bool) *infrav1.CloudStackCluster {
	m.t.Helper()
	var trace []string
	for range maxSteps {
		m.poll()
		result, err := m.once(c)
		now := m.get(c)
		if until(now) {
			return now
		}
		trace = append(trace, describe(now, result, err))
		pause := result.RequeueAfter
		if err != nil || pause == 0 || pause > 5*time.Second {
			pause = 3 * time.Second
		}
		if errors.Is(err, reconcile.TerminalError(nil)) {
			m.t.Fatalf("the cluster is given up:\n%s", strings.Join(trace, "\n"))
		}
		m.clock.Step(pause)
	}
	m.t.Fatalf("not reached within %d steps; the last were:\n%s", maxSteps, strings.Join(trace[len(trace)-4:], "\n"))
	return nil
}

func describe(c *infrav1.CloudStackCluster, result ctrl.Result, err error) string {
	if c == nil {
		return "gone"
	}
	text := fmt.Sprintf("requeue %s, error %v, jobs %+v", result.RequeueAfter, err, c.Status.Jobs)
	if ready := condition(c, infrav1.ConditionReady); ready != nil {
		text += fmt.Sprintf(", Ready=%s/%s %s", ready.Status, ready.Reason, ready.Message)
	}
	return text
}

func condition(c *infrav1.CloudStackCluster, name string) *metav1.Condition {
	return meta.FindStatusCondition(c.Status.Conditions, name)
}

func ready(c *infrav1.CloudStackCluster) bool {
	return c != nil && meta.IsStatusConditionTrue(c.Status.Conditions, infrav1.ConditionReady)
}

func gone(c *infrav1.CloudStackCluster) bool { return c == nil }

func because(reason string) func(*infrav1.CloudStackCluster) bool {
	return func(c *infrav1.CloudStackCluster) bool {
		if c == nil {
			return false
		}
		found := condition(c, infrav1.ConditionReady)
		return found != nil && found.Status == metav1.ConditionFalse && found.Reason == reason
	}
}

func (m *manager) delete(c *infrav1.CloudStackCluster) {
	m.t.Helper()
	m.must(client.IgnoreNotFound(m.client.Delete(m.t.Context(), c.DeepCopy())))
	m.drive(c, gone)
}

// made counts what the cloud holds, beside what it came with.
type made struct{ Networks, Addresses, Balancers, Firewall, Egress, Tags int }

func (w *world) made() made {
	in := w.sim.Inventory()
	out := made{Networks: len(in.Networks), Addresses: len(in.Addresses), Tags: len(in.Tags) - w.seeded}
	for _, r := range in.Rules {
		switch r.Kind {
		case "Egress":
			out.Egress++
		case "Firewall":
			out.Firewall++
		default:
			out.Balancers++
		}
	}
	return out
}

func (w *world) wantMade(want made) {
	w.t.Helper()
	if got := w.made(); got != want {
		w.t.Errorf("the cloud holds %+v, want %+v", got, want)
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
