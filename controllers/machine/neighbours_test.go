package machine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/events"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/cluster"
	"github.com/capcat/capcat/test/builder"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/rig"
)

// neighbour is a cluster with a control-plane machine and a worker, whose names others have too, and the controllers of both kinds.
type neighbour struct {
	*world
	owner    cloudstack.Owner
	clusters *rig.Manager[*infrav1.CloudStackCluster]
	nodes    *manager
	pair     builder.ClusterPair
	machines []builder.MachineSet
}

// neighbour makes a cluster on the network of that name in a namespace of its own.
func (w *world) neighbour(network, project string, owner cloudstack.Owner) *neighbour {
	w.T.Helper()
	inner := *w
	inner.NS = plane.Namespace(w.T)
	n := &neighbour{world: &inner, owner: owner}
	n.Secret(n.NS, caller)
	n.image("node-a", "zone-a")

	n.pair = builder.Cluster(n.NS, clusterName)
	n.pair.Infra.Spec.Zone = nil
	n.pair.Infra.Spec.FailureDomains = []infrav1.FailureDomainSpec{{
		Name: "fd", Project: project, Zone: infrav1.FailureDomainZone{Name: "zone-a", Network: infrav1.Network{Name: network}},
	}}
	n.Must(n.Client.Create(n.T.Context(), n.pair.Owner))
	n.pair.Adopt()
	n.Must(n.Client.Create(n.T.Context(), n.pair.Infra))

	n.nodes = n.start(n.Client)
	reconciler, err := cluster.New(n.Client, n.Client, events.NewFakeRecorder(10000), cluster.Options{Sessions: n.nodes.Sessions, Clock: n.Clock})
	n.Must(err)
	n.clusters = &rig.Manager[*infrav1.CloudStackCluster]{
		In: n.World, Reconciler: reconciler, Sessions: n.nodes.Sessions, Longest: 10 * time.Second,
		Fresh: func() *infrav1.CloudStackCluster { return &infrav1.CloudStackCluster{} },
	}
	return n
}

func clusterReady(c *infrav1.CloudStackCluster) bool { return rig.Ready(c) }

// settle makes the machines, if they are not there yet, and has everything be ready.
func (n *neighbour) settle() {
	n.T.Helper()
	n.pair.Infra = n.clusters.Drive(n.pair.Infra, clusterReady)
	if n.machines == nil {
		yes := true
		n.pair.Owner.Status.Initialization.InfrastructureProvisioned = &yes
		n.Must(n.Client.Status().Update(n.T.Context(), n.pair.Owner))
		for _, m := range []builder.MachineSet{
			builder.Machine(n.NS, clusterName, "cp", builder.ControlPlane), builder.Machine(n.NS, clusterName, "w"),
		} {
			m.Owner.Spec.Version, m.Infra.Spec.Offering = version, infrav1.OfferingReference{Name: offering}
			n.Must(n.Client.Create(n.T.Context(), m.Bootstrap))
			n.Must(n.Client.Create(n.T.Context(), m.Owner))
			m.Adopt()
			n.Must(n.Client.Create(n.T.Context(), m.Infra))
			n.machines = append(n.machines, m)
		}
	}
	for i := range n.machines {
		n.machines[i].Infra = n.nodes.Drive(n.machines[i].Infra, ready)
	}
}

// remove deletes everything.
func (n *neighbour) remove() {
	n.T.Helper()
	for _, m := range n.machines {
		n.nodes.delete(m.Infra)
		n.Must(n.Client.Delete(n.T.Context(), m.Owner))
	}
	n.Must(n.Client.Delete(n.T.Context(), n.pair.Infra))
	n.clusters.Drive(n.pair.Infra, func(c *infrav1.CloudStackCluster) bool { return c == nil })
}

// holding is what a cluster has in the cloud, as the cloud tells.
type holding struct {
	VMs, Members []string
	Address      string
	Egress       bool
}

// holds reads what a cluster has.
func (n *neighbour) holds() holding {
	n.T.Helper()
	ctx, lb := n.T.Context(), n.pair.Infra.Status.LoadBalancer
	var out holding
	for _, m := range n.machines {
		vm, err := n.cloud.FindVM(ctx, n.owner, m.Infra.Status.InstanceID)
		n.Must(err)
		if vm.State != cloudstack.VMRunning || vm.Details[infrav1.MarkOwner] != m.Infra.Annotations[infrav1.AnnotationIdentity] {
			n.T.Errorf("the VM %s of %s/%s is %s and marked %q", vm.Name, n.NS, m.Infra.Name, vm.State, vm.Details[infrav1.MarkOwner])
		}
		out.VMs = append(out.VMs, vm.ID)
	}
	address, err := n.cloud.FindAddress(ctx, n.owner, lb.PublicIPID)
	n.Must(err)
	out.Address = address.IP
	for _, rule := range lb.RuleIDs() {
		members, err := n.cloud.Members(ctx, rule)
		n.Must(err)
		out.Members = append(out.Members, members...)
	}
	rules, err := n.cloud.EgressRules(ctx, n.owner, lb.NetworkID)
	n.Must(err)
	out.Egress = slices.ContainsFunc(rules, func(f cloudstack.FirewallRule) bool { return !f.Deleting() })
	return out
}

// TestEqualNamesOnOneNetwork: two clusters of one name, with machines of one name, on one network of one account or project, take
// nothing from each other, and when one is deleted the other stays whole.
func TestEqualNamesOnOneNetwork(t *testing.T) {
	for name, project := range map[string]string{"an account": "", "a project": "team"} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				World: rig.New(t, &plane, rig.Manual(), cloudsim.Options{Preset: cloudsim.PresetRecorded}),
				zones: map[string]string{}, networks: map[string]string{},
			}
			w.cloud = w.Session(caller)
			var owner cloudstack.Owner
			if project != "" {
				w.Call(caller, "createProject", "name", project, "displaytext", project)
				w.Clock.Step(time.Minute)
				found, err := w.cloud.FindOwner(t.Context(), cloudstack.OwnerName{Project: project})
				w.Must(err)
				owner = found
			}
			zone, err := w.cloud.FindZone(t.Context(), "", "zone-a")
			w.Must(err)
			w.zones["zone-a"] = zone.ID
			w.template = w.register("node", zone.ID)
			w.inhabit(owner, w.networkOf(owner, "shared", zone.ID), zone.ID)
			before := w.Sim.Inventory()

			first, second := w.neighbour("shared", project, owner), w.neighbour("shared", project, owner)
			first.settle()
			second.settle()
			a, b := first.holds(), second.holds()
			for _, h := range []holding{a, b} {
				if len(h.VMs) != 2 || !slices.Equal(h.Members, h.VMs[:1]) || !h.Egress {
					t.Errorf("a cluster holds %+v", h)
				}
			}
			if a.Address == b.Address || slices.ContainsFunc(a.VMs, func(id string) bool { return slices.Contains(b.VMs, id) }) {
				t.Errorf("the clusters share something: %+v and %+v", a, b)
			}

			first.remove()
			for range 40 { // a changed network is seen within five minutes
				w.Clock.Step(10 * time.Second)
				second.clusters.Poll()
				_, err := second.clusters.Once(second.pair.Infra)
				w.Must(err)
			}
			second.settle()
			if diff := cmp.Diff(b, second.holds()); diff != "" {
				t.Errorf("the other cluster lost or got something (-before +after):\n%s", diff)
			}
			second.remove()
			w.Clock.Step(48 * time.Hour) // destroyed VMs are expunged
			after := w.Sim.Inventory()
			if diff := cmp.Diff(counts(before), counts(after)); diff != "" {
				t.Errorf("the cloud holds (-before +after):\n%s", diff)
			}
		})
	}
}

// inhabit makes a VM of somebody else in a network, which has a router with an address of its own from then on.
func (w *world) inhabit(owner cloudstack.Owner, network, zoneID string) {
	w.T.Helper()
	offerings, err := w.cloud.ServiceOfferings(w.T.Context(), owner, zoneID)
	w.Must(err)
	_, _, err = w.cloud.DeployVM(w.T.Context(), cloudstack.NewVM{
		Owner: owner, Name: "bystander", ZoneID: zoneID, OfferingID: offerings[0].ID, TemplateID: w.template,
		Networks: []cloudstack.VMNetwork{{ID: network}},
	})
	w.Must(err)
	w.Clock.Step(time.Minute)
}

func counts(in cloudsim.Inventory) map[string]int {
	return map[string]int{
		"machines": len(in.Machines), "networks": len(in.Networks), "addresses": len(in.Addresses), "rules": len(in.Rules), "tags": len(in.Tags),
	}
}
