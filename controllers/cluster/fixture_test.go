package cluster_test

import (
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/cluster"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/rig"
)

var plane controlplane.Shared

// ownerless is the account of the caller.
var ownerless = cloudstack.Owner{}

func TestMain(m *testing.M) { os.Exit(plane.Run(m)) }

const (
	caller = "tenant"
	zone   = "zone-a"
)

// world is a cloud and a namespace: what outlives a manager.
type world struct {
	rig.World
	// cloud is how the test itself speaks to the cloud.
	cloud  *cloudstack.Session
	zoneID string
	// seeded is how many tags the cloud came with.
	seeded int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: rig.New(t, &plane, rig.Manual(), cloudsim.Options{Preset: cloudsim.PresetRecorded})}
	w.Remember()
	w.Secret(w.NS, caller)
	w.cloud = w.Session(caller)
	found, err := w.cloud.FindZone(t.Context(), "", zone)
	w.Must(err)
	w.zoneID = found.ID
	w.seeded = len(w.Sim.Inventory().Tags)
	return w
}

// network makes a network that is nobody's.
func (w *world) network(name, offering string) string {
	w.T.Helper()
	return w.Network(w.cloud, cloudstack.NewNetwork{Name: name, ZoneID: w.zoneID}, offering)
}

const natOffering = rig.NATOffering

// await steps the clock until a job of the test's own has ended.
func (w *world) await(job cloudstack.Job, err error) {
	w.T.Helper()
	w.Must(err)
	w.Clock.Step(time.Minute)
	outcome, err := w.cloud.JobOutcome(w.T.Context(), job, "job")
	w.Must(err)
	if outcome.State != cloudstack.JobSucceeded {
		w.T.Fatalf("the job of the test ended %+v", outcome)
	}
}

type change func(*infrav1.CloudStackCluster)

func spec(f func(*infrav1.CloudStackClusterSpec)) change {
	return func(c *infrav1.CloudStackCluster) { f(&c.Spec) }
}

// cluster makes a Cluster with its infrastructure.
func (w *world) cluster(name string, changes ...change) *infrav1.CloudStackCluster {
	w.T.Helper()
	return w.clusterIn(w.NS, name, changes...)
}

func (w *world) clusterIn(namespace, name string, changes ...change) *infrav1.CloudStackCluster {
	w.T.Helper()
	owner := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackCluster", Name: name},
		},
	}
	w.Must(w.Client.Create(w.T.Context(), owner))
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
	w.Must(w.Client.Create(w.T.Context(), c))
	return c
}

func (w *world) get(c *infrav1.CloudStackCluster) *infrav1.CloudStackCluster {
	w.T.Helper()
	return rig.Get(&w.World, c, &infrav1.CloudStackCluster{})
}

// manager is one life of the manager.
type manager struct {
	*world
	*rig.Manager[*infrav1.CloudStackCluster]
	keeper *cluster.Keeper
}

// start begins a life of the manager on a client, which may be one that fails.
func (w *world) start(c client.Client) *manager {
	w.T.Helper()
	sessions := w.NewSessions()
	reconciler, err := cluster.New(c, w.Client, events.NewFakeRecorder(100000), cluster.Options{Sessions: sessions, Clock: w.Clock})
	w.Must(err)
	m := &manager{world: w, keeper: cluster.NewKeeper(c), Manager: &rig.Manager[*infrav1.CloudStackCluster]{
		In: w.World, Reconciler: reconciler, Sessions: sessions, Longest: 5 * time.Second,
		Fresh: func() *infrav1.CloudStackCluster { return &infrav1.CloudStackCluster{} },
	}}
	m.Start(reconciler.Waker())
	return m
}

func condition(c *infrav1.CloudStackCluster, name string) *metav1.Condition {
	return meta.FindStatusCondition(c.Status.Conditions, name)
}

func ready(c *infrav1.CloudStackCluster) bool { return rig.Ready(c) }

func gone(c *infrav1.CloudStackCluster) bool { return c == nil }

func because(reason string) func(*infrav1.CloudStackCluster) bool {
	return func(c *infrav1.CloudStackCluster) bool { return rig.Because(c, reason) }
}

func (m *manager) delete(c *infrav1.CloudStackCluster) {
	m.T.Helper()
	m.Must(client.IgnoreNotFound(m.Client.Delete(m.T.Context(), c.DeepCopy())))
	m.Drive(c, gone)
}

// made counts what the cloud holds, beside what it came with.
type made struct{ VPCs, Networks, Addresses, Balancers, Firewall, Egress, Tags int }

// less takes away what was there before.
func (m made) less(b made) made {
	return made{
		m.VPCs - b.VPCs, m.Networks - b.Networks, m.Addresses - b.Addresses, m.Balancers - b.Balancers,
		m.Firewall - b.Firewall, m.Egress - b.Egress, m.Tags - b.Tags,
	}
}

func (w *world) made() made {
	in := w.Sim.Inventory()
	out := made{VPCs: len(in.VPCs), Networks: len(in.Networks), Addresses: len(in.Addresses), Tags: len(in.Tags) - w.seeded}
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
	w.T.Helper()
	if got := w.made(); got != want {
		w.T.Errorf("the cloud holds %+v, want %+v", got, want)
	}
}
