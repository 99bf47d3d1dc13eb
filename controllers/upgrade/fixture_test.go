package upgrade_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/upgrade"
	"github.com/capcat/capcat/test/controlplane"
)

var (
	plane   controlplane.Shared
	kubeadm sync.Once
)

func TestMain(m *testing.M) { os.Exit(plane.Run(m)) }

// world is a management cluster with one Cluster in it, as Cluster API and a user leave it.
type world struct {
	t       *testing.T
	ns      string
	client  client.WithWatch
	clock   *clocktesting.FakePassiveClock
	cluster *clusterv1.Cluster
	infra   *infrav1.CloudStackCluster
}

// newWorld has a Cluster of v1.31.7 whose control plane may be in zone-a and zone-b, and whose workers, the deployment md-0,
// may be in zone-c as well. Images of that version are ready in all three.
func newWorld(t *testing.T) *world {
	t.Helper()
	installKubeadm(t)
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, ns: plane.Namespace(t), client: plane.Client(t, s), clock: clocktesting.NewFakePassiveClock(time.Now())}
	w.machineTemplate("control-plane", infrav1.CloudStackMachineSpec{})
	w.machineTemplate("workers", infrav1.CloudStackMachineSpec{})
	w.makeCluster()
	w.controlPlane("v1.31.7")
	w.workers("md-0", "v1.31.7")
	w.images("v1.31.7", "zone-a", "zone-b", "zone-c")
	return w
}

// installKubeadm has the API server serve the kinds of kubeadm control planes.
func installKubeadm(t *testing.T) {
	t.Helper()
	config := plane.Config(t)
	kubeadm.Do(func() {
		core, err := controlplane.ClusterAPICRDs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		module := strings.TrimSuffix(core, filepath.Join("core", "config", "crd", "bases"))
		_, err = envtest.InstallCRDs(config, envtest.CRDInstallOptions{
			Paths: []string{filepath.Join(module, "controlplane", "kubeadm", "config", "crd", "bases")}, ErrorIfPathMissing: true,
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(obj client.Object) {
	w.t.Helper()
	w.must(w.client.Create(w.t.Context(), obj))
}

func (w *world) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.ns, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"}}
}

func (w *world) makeCluster() {
	w.t.Helper()
	w.cluster = &clusterv1.Cluster{ObjectMeta: w.named("c1"), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackCluster", Name: "c1"},
		ControlPlaneRef:   clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane", Name: "c1"},
	}}
	w.create(w.cluster)
	w.infra = &infrav1.CloudStackCluster{ObjectMeta: w.named("c1"), Spec: infrav1.CloudStackClusterSpec{
		IdentityRef: infrav1.IdentityReference{Name: "cloudstack"},
	}}
	w.infra.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "c1", UID: w.cluster.UID}}
	for _, zone := range []string{"zone-a", "zone-b", "zone-c"} {
		w.infra.Spec.FailureDomains = append(w.infra.Spec.FailureDomains, infrav1.FailureDomainSpec{
			Name: "fd-" + zone, Zone: infrav1.FailureDomainZone{Name: zone, Network: infrav1.Network{Name: "net"}}, ControlPlane: ptr.To(zone != "zone-c"),
		})
	}
	w.create(w.infra)
	for _, d := range w.infra.Spec.FailureDomains {
		w.infra.Status.Resolved = append(w.infra.Status.Resolved, infrav1.ResolvedFailureDomain{
			Name: d.Name, ZoneID: "id-of-" + d.Zone.Name, ZoneName: d.Zone.Name, Hypervisors: []string{"KVM"},
		})
	}
	w.must(w.client.Status().Update(w.t.Context(), w.infra))
}

func (w *world) machineTemplate(name string, spec infrav1.CloudStackMachineSpec) {
	w.t.Helper()
	spec.Offering.Name = "small"
	w.create(&infrav1.CloudStackMachineTemplate{ObjectMeta: w.named(name), Spec: infrav1.CloudStackMachineTemplateSpec{
		Template: infrav1.CloudStackMachineTemplateResource{Spec: spec},
	}})
}

// controlPlane makes the kubeadm control plane.
func (w *world) controlPlane(version string) *unstructured.Unstructured {
	w.t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
		"metadata": map[string]any{"namespace": w.ns, "name": "c1", "labels": map[string]any{clusterv1.ClusterNameLabel: "c1"}},
		"spec": map[string]any{
			"version": version, "replicas": int64(3),
			"machineTemplate": map[string]any{"spec": map[string]any{"infrastructureRef": map[string]any{
				"apiGroup": infrav1.GroupName, "kind": "CloudStackMachineTemplate", "name": "control-plane",
			}}},
		},
	}}
	w.create(obj)
	return obj
}

type deploymentOption func(*clusterv1.MachineDeployment)

func (w *world) workers(name, version string, options ...deploymentOption) *clusterv1.MachineDeployment {
	w.t.Helper()
	d := &clusterv1.MachineDeployment{ObjectMeta: w.named(name), Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: "c1", Replicas: ptr.To[int32](2),
		Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": name}},
		Template: clusterv1.MachineTemplateSpec{
			ObjectMeta: clusterv1.ObjectMeta{Labels: map[string]string{"pool": name}},
			Spec: clusterv1.MachineSpec{
				ClusterName: "c1", Version: version, Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("none")},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackMachineTemplate", Name: "workers"},
			},
		},
	}}
	for _, option := range options {
		option(d)
	}
	w.create(d)
	return d
}

// images makes an image of the version ready in each of the zones.
func (w *world) images(version infrav1.KubernetesVersion, zones ...string) {
	w.t.Helper()
	for _, zone := range zones {
		w.image(version, zone, func(*infrav1.CloudStackImage) {})
	}
}

func imageName(version infrav1.KubernetesVersion, zone string) string {
	return strings.NewReplacer(".", "-", "+", "-").Replace("node-" + string(version) + "-" + zone)
}

// image makes an image ready, after a change.
func (w *world) image(version infrav1.KubernetesVersion, zone string, change func(*infrav1.CloudStackImage)) *infrav1.CloudStackImage {
	w.t.Helper()
	img := &infrav1.CloudStackImage{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: imageName(version, zone)},
		Spec: infrav1.CloudStackImageSpec{
			IdentityRef: infrav1.IdentityReference{Name: "cloudstack"}, Zone: infrav1.ZoneReference{Name: zone}, KubernetesVersion: version,
			OS: "ubuntu-24.04", Hypervisor: infrav1.HypervisorKVM, ExistingTemplate: &infrav1.TemplateReference{ID: "template-of-" + zone},
		},
	}
	change(img)
	w.create(img)
	w.ready(img)
	return img
}

func (w *world) ready(img *infrav1.CloudStackImage) {
	w.t.Helper()
	img.Status.TemplateID, img.Status.TemplateName = "template-"+img.Name, img.Name
	img.Status.ZoneID, img.Status.Hypervisor = "id-of-"+img.Spec.Zone.Name, infrav1.HypervisorKVM
	img.Status.Conditions = []metav1.Condition{{
		Type: infrav1.ConditionReady, Status: metav1.ConditionTrue, Reason: infrav1.ReasonReady, LastTransitionTime: metav1.Now(),
	}}
	w.must(w.client.Status().Update(w.t.Context(), img))
}

// unready makes an image one that is on its way.
func (w *world) unready(img *infrav1.CloudStackImage) {
	w.t.Helper()
	img.Status.Conditions[0].Status, img.Status.Conditions[0].Reason = metav1.ConditionFalse, infrav1.ReasonDownloading
	w.must(w.client.Status().Update(w.t.Context(), img))
}

// condition reconciles and gives the condition of the cluster.
func (w *world) condition(options ...upgrade.Options) metav1.Condition {
	w.t.Helper()
	o := upgrade.Options{Clock: w.clock}
	for _, given := range options {
		o = given
		o.Clock = w.clock
	}
	_, err := upgrade.New(w.client, w.client, o).Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.cluster)})
	w.must(err)
	w.must(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.infra), w.infra))
	found := meta.FindStatusCondition(w.infra.Status.Conditions, infrav1.ConditionVersionsAvailable)
	if found == nil {
		return metav1.Condition{}
	}
	return *found
}
