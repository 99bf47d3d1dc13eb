package faults_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/test/builder"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/rig"
)

var plane controlplane.Shared

func TestMain(m *testing.M) { os.Exit(plane.Run(m)) }

const (
	caller = "tenant"
	zone   = "zone-a"
)

// plan is how a cluster with one control-plane machine and one worker is laid out, and what the cloud has of it then.
type plan struct {
	name  string
	apart int // so many calls are between two kills, where a selection is tried
	shape func(*infrav1.CloudStackClusterSpec)
	whole count
	// before makes what is there before the life begins.
	before func(*city)
}

type count struct{ Machines, VPCs, Networks, Addresses, Rules, Members int }

// onNetwork is a cluster on an isolated network of its own.
func onNetwork() plan {
	return plan{name: "on a network", apart: 6, whole: count{Machines: 2, Networks: 1, Addresses: 1, Rules: 3, Members: 1}}
}

// inVPC is a cluster on a tier of its own, in a VPC of its own, whose router takes an address for itself.
func inVPC() plan {
	tier := infrav1.Network{Name: "tier", Gateway: "10.80.1.1", Netmask: "255.255.255.0", VPC: &infrav1.VPC{Name: "cloud", CIDR: "10.80.0.0/16"}}
	return plan{
		name: "in a VPC", apart: 30,
		shape: func(s *infrav1.CloudStackClusterSpec) { s.Network = &tier },
		whole: count{Machines: 2, VPCs: 1, Networks: 1, Addresses: 2, Rules: 1, Members: 1},
	}
}

// inTwoDomains is a cluster whose control plane is in one failure domain while workers may be in another, too.
func inTwoDomains() plan {
	domain := func(name string, controlPlane bool) infrav1.FailureDomainSpec {
		return infrav1.FailureDomainSpec{
			Name: name, ACSEndpoint: infrav1.EndpointReference{Name: builder.Secret}, ControlPlane: &controlPlane,
			Zone: infrav1.FailureDomainZone{Name: zone, Network: infrav1.Network{Name: "net-" + name}},
		}
	}
	return plan{
		name: "in two domains", apart: 30,
		shape: func(s *infrav1.CloudStackClusterSpec) {
			s.Zone, s.FailureDomains = nil, []infrav1.FailureDomainSpec{domain("a", true), domain("b", false)}
		},
		whole: count{Machines: 2, Networks: 2, Addresses: 1, Rules: 4, Members: 1},
	}
}

// inProject is a cluster in a project of the account.
func inProject() plan {
	p := onNetwork()
	p.name, p.apart = "in a project", 30
	p.before = func(c *city) {
		c.Call(caller, "createProject", "name", "team", "displaytext", "team")
		c.Clock.Step(time.Minute)
	}
	p.shape = func(s *infrav1.CloudStackClusterSpec) {
		s.Zone, s.FailureDomains = nil, []infrav1.FailureDomainSpec{{
			Name: "fd", Project: "team", Zone: infrav1.FailureDomainZone{Name: zone, Network: infrav1.Network{Name: "net"}},
		}}
	}
	return p
}

// city is a cloud, and the objects of a cluster with one control-plane machine and one worker: what outlives a manager.
type city struct {
	rig.World
	gate     *gate
	plan     plan
	cluster  builder.ClusterPair
	machines []builder.MachineSet
	before   cloudsim.Inventory
	from     int // how many calls were made before the life began
	trouble  *trouble
	outage   *outage
}

func newCity(t *testing.T, p plan) *city {
	t.Helper()
	c := &city{plan: p, World: rig.New(t, &plane, rig.Manual(), cloudsim.Options{Preset: cloudsim.PresetRecorded})}
	c.Remember()
	c.gate = &gate{next: c.Sim}
	c.API = httptest.NewServer(c.gate)
	t.Cleanup(func() {
		c.API.Close()
		*c = city{} // a test is kept in memory until its parent ends, with what it cleaned up
	})
	c.Secret(c.NS, caller)
	c.image()
	c.cluster = builder.Cluster(c.NS, "c1")
	c.cluster.Infra.Spec.Zone.Name = zone
	if p.shape != nil {
		p.shape(&c.cluster.Infra.Spec)
	}
	small := func(m builder.MachineSet) { m.Infra.Spec.Offering = infrav1.OfferingReference{Name: "Small Instance"} }
	apart := func(m builder.MachineSet) { m.Infra.Spec.Affinity = infrav1.AffinitySoftAnti }
	disk := func(m builder.MachineSet) {
		m.Infra.Spec.DiskOffering = &infrav1.DiskOfferingReference{Name: "Small", MountPath: "/data"}
	}
	if p.before != nil {
		p.before(c)
	}
	c.machines = []builder.MachineSet{
		builder.Machine(c.NS, "c1", "cp", builder.ControlPlane, small, apart), builder.Machine(c.NS, "c1", "worker", small, disk),
	}
	c.before, c.from = c.Sim.Inventory(), len(c.Sim.Journal())
	return c
}

// image makes an image whose template is ready.
func (c *city) image() {
	c.T.Helper()
	cloud, ctx := c.Session(caller), c.T.Context()
	z, err := cloud.FindZone(ctx, "", zone)
	c.Must(err)
	osType, err := cloud.FindOSType(ctx, "Ubuntu 22.04 LTS")
	c.Must(err)
	made, err := cloud.RegisterTemplate(ctx, cloudstack.NewTemplate{
		Name: "node", DisplayText: "node", ZoneID: z.ID, Hypervisor: "Simulator", Format: "VHD", OSTypeID: osType.ID, Arch: "x86_64", RequiresHVM: true,
	}, "http://images.sim.example.org/t.vhd.bz2", "")
	c.Must(err)
	c.Clock.Step(time.Minute)
	img := &infrav1.CloudStackImage{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.NS, Name: "node"},
		Spec: infrav1.CloudStackImageSpec{
			IdentityRef: infrav1.IdentityReference{Name: builder.Secret}, Zone: infrav1.ZoneReference{Name: zone}, KubernetesVersion: builder.Version,
			OS: "ubuntu-24.04", Hypervisor: infrav1.HypervisorSimulator, ExistingTemplate: &infrav1.TemplateReference{ID: made.ID},
		},
	}
	c.Must(c.Client.Create(ctx, img))
	img.Status.TemplateID, img.Status.TemplateName, img.Status.ZoneID = made.ID, "node", z.ID
	img.Status.Hypervisor, img.Status.VirtualSizeBytes = infrav1.HypervisorSimulator, 2<<30
	meta.SetStatusCondition(&img.Status.Conditions, metav1.Condition{Type: infrav1.ConditionReady, Status: metav1.ConditionTrue, Reason: infrav1.ReasonReady})
	c.Must(c.Client.Status().Update(ctx, img))
}

// found makes the cluster.
func (c *city) found() {
	c.T.Helper()
	c.Must(c.Client.Create(c.T.Context(), c.cluster.Owner))
	c.cluster.Adopt()
	c.Must(c.Client.Create(c.T.Context(), c.cluster.Infra))
}

// people makes the machines of a cluster that is provisioned.
func (c *city) people() {
	c.T.Helper()
	yes := true
	c.cluster.Owner.Status.Initialization.InfrastructureProvisioned = &yes
	c.Must(c.Client.Status().Update(c.T.Context(), c.cluster.Owner))
	for _, m := range c.machines {
		c.Must(c.Client.Create(c.T.Context(), m.Bootstrap))
		c.Must(c.Client.Create(c.T.Context(), m.Owner))
		m.Adopt()
		c.Must(c.Client.Create(c.T.Context(), m.Infra))
	}
}

// abandon deletes everything.
func (c *city) abandon() {
	c.T.Helper()
	for _, m := range c.machines {
		c.Must(client.IgnoreNotFound(c.Client.Delete(c.T.Context(), m.Infra.DeepCopy())))
	}
	c.Must(client.IgnoreNotFound(c.Client.Delete(c.T.Context(), c.cluster.Infra.DeepCopy())))
}

// commands are those of all calls of the life so far.
func (c *city) commands() []string {
	var all []string
	for _, e := range c.Sim.Journal()[c.from:] {
		all = append(all, e.Command)
	}
	return all
}

// wantWhole checks that there is everything once.
func (c *city) wantWhole() {
	c.T.Helper()
	in := c.Sim.Inventory()
	live := slices.DeleteFunc(in.Machines, func(i cloudsim.InventoryItem) bool {
		return i.State == "Destroyed" || i.State == "Expunging" || i.State == "Error"
	})
	got := count{
		len(live), len(in.VPCs) - len(c.before.VPCs), len(in.Networks) - len(c.before.Networks), len(in.Addresses) - len(c.before.Addresses),
		len(in.Rules) - len(c.before.Rules), 0,
	}
	for _, r := range in.Rules {
		got.Members += len(r.Members)
	}
	if most := max(c.plan.whole.Addresses, got.Networks); got.Addresses > c.plan.whole.Addresses && got.Addresses <= most {
		got.Addresses = c.plan.whole.Addresses // the router of each network with machines takes one for itself
	}
	if got != c.plan.whole {
		c.T.Errorf("the cloud has %+v, want %+v", got, c.plan.whole)
	}
}

// wantNothing checks that nothing is left when everything that was destroyed has been expunged.
func (c *city) wantNothing() {
	c.T.Helper()
	c.Clock.Step(48 * time.Hour)
	ignored := cmpopts.IgnoreFields(cloudsim.Inventory{}, "Now")
	if diff := cmp.Diff(c.before, c.Sim.Inventory(), ignored, cmpopts.EquateEmpty()); diff != "" {
		c.T.Errorf("the cloud has what it had not before (-before +after):\n%s", diff)
	}
}

// gate is the way to the cloud. It can be told to close behind a call: the manager is killed there.
type gate struct {
	next http.Handler

	mu     sync.Mutex
	left   int
	armed  bool
	closed bool
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.shut() {
		panic(http.ErrAbortHandler)
	}
	g.next.ServeHTTP(w, r)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left--
	g.closed = g.armed && g.left <= 0
}

// closeAfter closes the gate when so many more calls were answered.
func (g *gate) closeAfter(calls int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left, g.armed = calls, true
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed, g.closed = false, false
}

func (g *gate) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

var errKilled = errors.New("the manager was killed")

// mortal gives a client that writes nothing once the gate is closed.
func (g *gate) mortal(inner client.WithWatch) client.Client {
	return interceptor.NewClient(inner, interceptor.Funcs{
		Patch: func(ctx context.Context, k client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if g.shut() {
				return errKilled
			}
			return k.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, k client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if g.shut() {
				return errKilled
			}
			return k.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
}
