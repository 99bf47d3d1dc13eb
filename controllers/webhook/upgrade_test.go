package webhook_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/upgrade"
	"github.com/capcat/capcat/controllers/webhook"
)

// heard collects warnings of the API server, as kubectl shows them.
type heard struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeader keeps a warning.
func (h *heard) HandleWarningHeader(_ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, text)
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	said := h.said
	h.said = nil
	return said
}

// upgradable makes a cluster in the zones zone-a and zone-b with a MachineDeployment of v1.32.3, of which there is an image in
// both; of v1.33.1 there is one in zone-a.
func upgradable(t *testing.T, c client.Client, namespace string) *clusterv1.MachineDeployment {
	t.Helper()
	create := func(obj client.Object) {
		t.Helper()
		obj.SetNamespace(namespace)
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	named := metav1.ObjectMeta{Name: "c1", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"}}
	create(&clusterv1.Cluster{ObjectMeta: named, Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackCluster", Name: "c1"},
	}})
	infra := &infrav1.CloudStackCluster{ObjectMeta: named, Spec: infrav1.CloudStackClusterSpec{IdentityRef: infrav1.IdentityReference{Name: "cloudstack"}}}
	for _, zone := range []string{"zone-a", "zone-b"} {
		infra.Spec.FailureDomains = append(infra.Spec.FailureDomains, infrav1.FailureDomainSpec{Name: zone, Zone: infrav1.FailureDomainZone{Name: zone, Network: infrav1.Network{Name: "n"}}})
	}
	create(infra)
	infra.Status.Resolved = []infrav1.ResolvedFailureDomain{{Name: "zone-a", ZoneID: "a", ZoneName: "zone-a"}, {Name: "zone-b", ZoneID: "b", ZoneName: "zone-b"}}
	if err := c.Status().Update(t.Context(), infra); err != nil {
		t.Fatal(err)
	}
	template := read[infrav1.CloudStackMachineTemplate](t, machineTemplateText)
	template.Name = "workers"
	create(template)
	for name, at := range map[string]struct {
		version infrav1.KubernetesVersion
		zone    string
	}{"one": {"v1.32.3", "a"}, "two": {"v1.32.3", "b"}, "three": {"v1.33.1", "a"}} {
		img := &infrav1.CloudStackImage{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: infrav1.CloudStackImageSpec{
			IdentityRef: infrav1.IdentityReference{Name: "cloudstack"}, Zone: infrav1.ZoneReference{Name: "zone-" + at.zone},
			KubernetesVersion: at.version, OS: "ubuntu-24.04", ExistingTemplate: &infrav1.TemplateReference{Name: name},
		}}
		create(img)
		img.Status.TemplateID, img.Status.ZoneID = "template-"+name, at.zone
		img.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, Status: metav1.ConditionTrue, Reason: infrav1.ReasonReady, LastTransitionTime: metav1.Now()}}
		if err := c.Status().Update(t.Context(), img); err != nil {
			t.Fatal(err)
		}
	}
	d := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "md-0", Labels: named.Labels}, Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: "c1", Replicas: ptr.To[int32](2), Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "md-0"}},
		Template: clusterv1.MachineTemplateSpec{
			ObjectMeta: clusterv1.ObjectMeta{Labels: map[string]string{"pool": "md-0"}},
			Spec: clusterv1.MachineSpec{
				ClusterName: "c1", Version: "v1.32.3", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("none")},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackMachineTemplate", Name: "workers"},
			},
		},
	}}
	create(d)
	return d
}

// TestWarningsThroughTheAPIServer changes versions as people do, and hears what they hear.
func TestWarningsThroughTheAPIServer(t *testing.T) {
	namespace := plane.Namespace(t)
	c := serveWebhooks(t, namespace)
	config := plane.Config(t)
	ears := &heard{}
	config.WarningHandler = ears
	person, err := client.New(config, client.Options{Scheme: c.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	d := upgradable(t, c, namespace)
	change := func(f func(*clusterv1.MachineDeployment)) []string {
		t.Helper()
		f(d)
		if err := person.Update(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(ears.all(), func(text string) bool {
			return !strings.Contains(text, "no ready image") && !strings.Contains(text, "rollout")
		})
	}
	to := func(version string) func(*clusterv1.MachineDeployment) {
		return func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.Version = version }
	}
	lacking := "no ready image of v1.33.1 in zone-b (md-0): machines of this version wait until a TemplateCatalog has brought it there"
	if diff := cmp.Diff([]string{lacking}, change(to("v1.33.1"))); diff != "" {
		t.Errorf("A version that one zone lacks (-want +got):\n%s", diff)
	}
	if got := change(func(d *clusterv1.MachineDeployment) { d.Spec.Replicas = ptr.To[int32](3) }); len(got) > 0 {
		t.Errorf("A change of the replicas warns: %q", got)
	}
	if got := change(to("v1.32.3")); len(got) > 0 {
		t.Errorf("A version that is everywhere warns: %q", got)
	}
	if got := change(func(d *clusterv1.MachineDeployment) {
		to("v1.33.1")(d)
		d.Spec.Template.Spec.FailureDomain = "zone-a"
	}); len(got) > 0 {
		t.Errorf("A version that is where the machines are warns: %q", got)
	}
}

// TestUpgradeWarnings asks the handler about all kinds that have a version.
func TestUpgradeWarnings(t *testing.T) {
	namespace := plane.Namespace(t)
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	c := plane.Client(t, s)
	upgradable(t, c, namespace)
	handler := &webhook.Upgrade{Gate: upgrade.NewGate(c, c, nil)}
	const (
		header       = "metadata: {name: %s, namespace: %s, labels: {cluster.x-k8s.io/cluster-name: c1}}\n"
		reference    = "{apiGroup: infrastructure.cluster.x-k8s.io, kind: CloudStackMachineTemplate, name: workers}"
		controlPlane = "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\n" + header +
			"spec: {version: %s, machineTemplate: {spec: {infrastructureRef: " + reference + "}}, rollout: {strategy: {rollingUpdate: {maxSurge: %s}}}}\n"
		older       = "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: K0sControlPlane\n" + header + "spec: {version: %s, machineTemplate: {infrastructureRef: " + reference + "}, extra: %s}\n"
		cluster     = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\n" + header + "spec: {topology: {version: %s, classRef: {name: %s}}}\n"
		deployment  = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\n" + header + "spec: {clusterName: c1, replicas: 2, rollout: {strategy: {type: RollingUpdate, rollingUpdate: {%[4]s}}}, template: {spec: {clusterName: c1, version: %[3]s, infrastructureRef: " + reference + "}}}\n"
		wait        = ": machines of this version wait until a TemplateCatalog has brought it there"
		removes     = "the rollout strategy of %s removes running machines before their replacements are there: until the image is ready there are fewer of them"
		inBothZones = "no ready image of v1.34.0 in zone-a (%[1]s), zone-b (%[1]s)" + wait
	)
	for name, test := range map[string]struct {
		object, name, extra string
		to                  string
		want                []string
	}{
		"a control plane":                      {object: controlPlane, name: "c1", extra: "1", to: "v1.34.0", want: []string{fmt.Sprintf(inBothZones, "control plane")}},
		"a control plane of an image in order": {object: controlPlane, name: "c1", extra: "1", to: "v1.32.3"},
		"a control plane that removes first": {
			object: controlPlane, name: "c1", extra: "0", to: "v1.34.0",
			want: []string{fmt.Sprintf(inBothZones, "control plane"), fmt.Sprintf(removes, "control plane")},
		},
		"a control plane of an older contract": {object: older, name: "c1", extra: "none", to: "v1.34.0", want: []string{fmt.Sprintf(inBothZones, "control plane")}},
		"a topology":                           {object: cluster, name: "c1", extra: "class", to: "v1.34.0", want: []string{fmt.Sprintf(inBothZones, "md-0")}},
		"a deployment":                         {object: deployment, name: "md-0", extra: "maxSurge: 1, maxUnavailable: 0", to: "v1.34.0", want: []string{fmt.Sprintf(inBothZones, "md-0")}},
		"a deployment that removes first": {
			object: deployment, name: "md-0", extra: "maxSurge: 1, maxUnavailable: 50%", to: "v1.34.0",
			want: []string{fmt.Sprintf(inBothZones, "md-0"), fmt.Sprintf(removes, "md-0")},
		},
		"a deployment that cannot surge": {
			object: deployment, name: "md-0", extra: "maxSurge: 0", to: "v1.34.0",
			want: []string{fmt.Sprintf(inBothZones, "md-0"), fmt.Sprintf(removes, "md-0")},
		},
		"no change":                   {object: controlPlane, name: "c1", extra: "1", to: "v1.31.0"},
		"what is no version":          {object: cluster, name: "c1", extra: "class", to: "newest"},
		"a cluster that nobody knows": {object: cluster, name: "c2", extra: "class", to: "v1.34.0"},
	} {
		t.Run(name, func(t *testing.T) {
			object := func(version string) runtime.RawExtension {
				raw, err := yaml.YAMLToJSON(fmt.Appendf(nil, test.object, test.name, namespace, version, test.extra))
				if err != nil {
					t.Fatal(err)
				}
				return runtime.RawExtension{Raw: raw}
			}
			got := handler.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Update, OldObject: object("v1.31.0"), Object: object(test.to),
			}})
			if !got.Allowed {
				t.Errorf("It is refused: %+v", got.Result)
			}
			if diff := cmp.Diff(test.want, got.Warnings); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, text := range got.Warnings {
				if len(text) > 256 {
					t.Errorf("%q is %d bytes long, and cut after 256", text, len(text))
				}
			}
		})
	}
	if got := handler.Handle(t.Context(), admission.Request{}); !got.Allowed || len(got.Warnings) > 0 {
		t.Errorf("Nothing to read: %+v", got)
	}
}
