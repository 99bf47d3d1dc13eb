package machine_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/machine"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/rig"
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
	rig.World
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
	w := &world{
		World: rig.New(t, &plane, rig.Manual(), cloudsim.Options{Preset: cloudsim.PresetRecorded}),
		zones: map[string]string{}, networks: map[string]string{},
	}
	w.Remember()
	w.Secret(w.NS, caller)
	w.cloud = w.Session(caller)
	for _, zone := range zones {
		found, err := w.cloud.FindZone(t.Context(), "", zone)
		w.Must(err)
		w.zones[zone] = found.ID
		w.networks[zone] = w.network("net-"+zone, found.ID)
	}
	w.makeCluster(zones)
	w.template = w.register("node", w.zones[zones[0]])
	w.image("node-a", zones[0])
	return w
}

func (w *world) network(name, zoneID string) string {
	w.T.Helper()
	return w.networkOf(cloudstack.Owner{}, name, zoneID)
}

// networkOf makes an isolated network of an owner.
func (w *world) networkOf(owner cloudstack.Owner, name, zoneID string) string {
	w.T.Helper()
	return w.Network(w.cloud, cloudstack.NewNetwork{Owner: owner, Name: name, ZoneID: zoneID}, rig.NATOffering)
}

// register makes a template that is ready a moment later.
func (w *world) register(name, zoneID string) string {
	w.T.Helper()
	osType, err := w.cloud.FindOSType(w.T.Context(), "Ubuntu 22.04 LTS")
	w.Must(err)
	made, err := w.cloud.RegisterTemplate(w.T.Context(), cloudstack.NewTemplate{
		Name: name, DisplayText: name, ZoneID: zoneID, Hypervisor: "Simulator", Format: "VHD", OSTypeID: osType.ID, Arch: "x86_64", RequiresHVM: true,
		Details: map[string]string{infrav1.MarkOwner: "an-image"},
	}, "http://images.sim.example.org/t.vhd.bz2", "")
	w.Must(err)
	w.Clock.Step(time.Minute)
	return made.ID
}

func (w *world) makeCluster(zones []string) {
	w.T.Helper()
	yes := true
	w.cluster = &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: clusterName},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackCluster", Name: clusterName},
		},
	}
	w.Must(w.Client.Create(w.T.Context(), w.cluster))
	w.cluster.Status.Initialization.InfrastructureProvisioned = &yes
	w.Must(w.Client.Status().Update(w.T.Context(), w.cluster))
	w.infra = &infrav1.CloudStackCluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.NS, Name: clusterName, Annotations: map[string]string{infrav1.AnnotationIdentity: "the-cluster"},
			Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName},
		},
		Spec: infrav1.CloudStackClusterSpec{IdentityRef: infrav1.IdentityReference{Name: "cloudstack"}},
	}
	for _, zone := range zones {
		w.infra.Spec.FailureDomains = append(w.infra.Spec.FailureDomains, infrav1.FailureDomainSpec{
			Name: "fd-" + zone, Zone: infrav1.FailureDomainZone{Name: zone, Network: infrav1.Network{Name: "net-" + zone}},
		})
	}
	w.Must(w.Client.Create(w.T.Context(), w.infra))
	w.infra.Status.Initialization.Provisioned = &yes
	for _, zone := range zones {
		w.infra.Status.Resolved = append(w.infra.Status.Resolved, infrav1.ResolvedFailureDomain{
			Name: "fd-" + zone, IdentityRef: infrav1.IdentityReference{Name: "cloudstack"}, ZoneID: w.zones[zone], ZoneName: zone,
			Hypervisors: []string{"Simulator"}, Network: &infrav1.ResolvedNetwork{ID: w.networks[zone], Name: "net-" + zone, Created: true},
		})
	}
	w.Must(w.Client.Status().Update(w.T.Context(), w.infra))
}

// image makes an image object whose template is the world's. Changes come before it is created, and its status is ready
// unless a change annotated it.
func (w *world) image(name, zone string, change ...func(*infrav1.CloudStackImage)) *infrav1.CloudStackImage {
	w.T.Helper()
	img := &infrav1.CloudStackImage{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name},
		Spec: infrav1.CloudStackImageSpec{
			IdentityRef: infrav1.IdentityReference{Name: "cloudstack"}, Zone: infrav1.ZoneReference{Name: zone}, KubernetesVersion: version,
			OS: "ubuntu-24.04", Hypervisor: infrav1.HypervisorSimulator, ExistingTemplate: &infrav1.TemplateReference{ID: w.template},
		},
	}
	for _, f := range change {
		f(img)
	}
	w.Must(w.Client.Create(w.T.Context(), img))
	w.ready(img)
	return img
}

// ready makes an image ready.
func (w *world) ready(img *infrav1.CloudStackImage) {
	w.T.Helper()
	img.Status.TemplateID, img.Status.TemplateName, img.Status.ZoneID = w.template, "node", w.zones[img.Spec.Zone.Name]
	img.Status.Hypervisor, img.Status.VirtualSizeBytes = infrav1.HypervisorSimulator, 2<<30
	img.Status.ContentDigest = "sha256:" + strings.Repeat("a", 64)
	img.Status.Conditions = []metav1.Condition{{
		Type: infrav1.ConditionReady, Status: metav1.ConditionTrue, Reason: infrav1.ReasonReady, LastTransitionTime: metav1.Now(),
	}}
	w.Must(w.Client.Status().Update(w.T.Context(), img))
}

// pair is a Machine with its infrastructure.
type pair struct {
	machine *clusterv1.Machine
	infra   *infrav1.CloudStackMachine
}

type change func(*pair)

// machine makes a worker that is ready to be deployed.
func (w *world) machine(name string, changes ...change) *infrav1.CloudStackMachine {
	w.T.Helper()
	bootstrap := name + "-bootstrap"
	p := &pair{
		machine: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName}},
			Spec: clusterv1.MachineSpec{
				ClusterName: clusterName, Version: version, Bootstrap: clusterv1.Bootstrap{DataSecretName: &bootstrap},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackMachine", Name: name},
			},
		},
		infra: &infrav1.CloudStackMachine{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName}},
			Spec:       infrav1.CloudStackMachineSpec{Offering: infrav1.OfferingReference{Name: offering}},
		},
	}
	for _, f := range changes {
		f(p)
	}
	w.Must(client.IgnoreAlreadyExists(w.Client.Create(w.T.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: bootstrap},
		Data:       map[string][]byte{"value": []byte("#cloud-config\nruncmd: [kubeadm]\n"), "format": []byte("cloud-config")},
	})))
	w.Must(w.Client.Create(w.T.Context(), p.machine))
	p.infra.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: p.machine.UID,
	}}
	w.Must(w.Client.Create(w.T.Context(), p.infra))
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

func (w *world) get(cm *infrav1.CloudStackMachine) *infrav1.CloudStackMachine {
	w.T.Helper()
	return rig.Get(&w.World, cm, &infrav1.CloudStackMachine{})
}

// manager is one life of the manager.
type manager struct {
	*world
	*rig.Manager[*infrav1.CloudStackMachine]
	machines *machine.Reconciler
	events   *events.FakeRecorder
}

// start begins a life of the manager on a client, which may be one that fails.
func (w *world) start(c client.Client) *manager {
	w.T.Helper()
	sessions, recorder := w.NewSessions(), events.NewFakeRecorder(10000)
	reconciler, err := machine.New(c, w.Client, recorder, machine.Options{Sessions: sessions, Clock: w.Clock, Answer: 15 * time.Second})
	w.Must(err)
	m := &manager{world: w, machines: reconciler, events: recorder, Manager: &rig.Manager[*infrav1.CloudStackMachine]{
		In: w.World, Reconciler: reconciler, Sessions: sessions, Longest: 10 * time.Second,
		Fresh: func() *infrav1.CloudStackMachine { return &infrav1.CloudStackMachine{} },
	}}
	m.Start(reconciler.Waker())
	return m
}

func condition(cm *infrav1.CloudStackMachine, name string) *metav1.Condition {
	return meta.FindStatusCondition(cm.Status.Conditions, name)
}

func ready(cm *infrav1.CloudStackMachine) bool { return rig.Ready(cm) }

func gone(cm *infrav1.CloudStackMachine) bool { return cm == nil }

func because(reason string) func(*infrav1.CloudStackMachine) bool {
	return func(cm *infrav1.CloudStackMachine) bool { return rig.Because(cm, reason) }
}

func (m *manager) delete(cm *infrav1.CloudStackMachine) {
	m.T.Helper()
	m.Must(client.IgnoreNotFound(m.Client.Delete(m.T.Context(), cm.DeepCopy())))
	m.Drive(cm, gone)
}

// vms are the machines of the cloud that are not destroyed.
func (w *world) vms() []cloudsim.InventoryItem {
	return slices.DeleteFunc(w.Sim.Inventory().Machines, func(i cloudsim.InventoryItem) bool {
		return i.State == "Destroyed" || i.State == "Expunging"
	})
}

func (w *world) wantVMs(n int) {
	w.T.Helper()
	if got := w.vms(); len(got) != n {
		w.T.Errorf("the cloud has %d VMs, want %d: %+v", len(got), n, got)
	}
}
