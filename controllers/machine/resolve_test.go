package machine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
)

// TestNothingIsMadeOfWhatIsNotThere: a condition names what is wrong, and no VM comes into being.
func TestNothingIsMadeOfWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	w.image("other-os", "zone-a", func(i *infrav1.CloudStackImage) { i.Spec.KubernetesVersion = "v1.32.0" })
	w.image("twin-1", "zone-a", func(i *infrav1.CloudStackImage) { i.Spec.KubernetesVersion, i.Spec.OS = "v1.31.0", "ubuntu-24.04" })
	w.image("twin-2", "zone-a", func(i *infrav1.CloudStackImage) { i.Spec.KubernetesVersion, i.Spec.OS = "v1.31.0", "rocky-9" })
	of := func(v string) change { return owner(func(s *clusterv1.MachineSpec) { s.Version = v }) }
	tests := map[string]struct {
		change change
		reason string
		says   []string
	}{
		"an unknown version":  {of("v1.30.0"), infrav1.ReasonImageNotFound, []string{"no image of v1.30.0 fits in zone-a: version v1.30.0 is unknown"}},
		"a version of two":    {of("v1.31.0"), infrav1.ReasonImageAmbiguous, []string{"twin-1", "twin-2"}},
		"no version":          {of(""), infrav1.ReasonVersionMissing, []string{"spec.version"}},
		"no version at all":   {of("latest"), infrav1.ReasonInvalidSpec, []string{"latest"}},
		"an operating system": {infra(func(s *infrav1.CloudStackMachineSpec) { s.Image = &infrav1.MachineImage{OS: "plan-9"} }), infrav1.ReasonImageNotFound, []string{" in zone-a: ", "plan-9", "ubuntu-24.04"}},
		"a root disk too small": {
			infra(func(s *infrav1.CloudStackMachineSpec) { s.RootDiskSizeGiB = 1 }), infrav1.ReasonRootDiskTooSmall, []string{"1 GiB", "2 GiB"},
		},
		"an offering": {infra(func(s *infrav1.CloudStackMachineSpec) { s.Offering.Name = "Huge" }), infrav1.ReasonOfferingNotFound, []string{"Huge", offering}},
		"an offering class": {
			infra(func(s *infrav1.CloudStackMachineSpec) { s.Offering = infrav1.OfferingReference{Class: "big"} }),
			infrav1.ReasonOfferingClassNotFound, []string{"big"},
		},
		"a disk offering": {
			infra(func(s *infrav1.CloudStackMachineSpec) { s.DiskOffering = &infrav1.DiskOfferingReference{Name: "Tape"} }),
			infrav1.ReasonDiskOfferingNotFound, []string{"Tape"},
		},
		"a network": {
			infra(func(s *infrav1.CloudStackMachineSpec) { s.Networks = []infrav1.MachineNetwork{{Name: "net-zone"}} }),
			infrav1.ReasonNetworkNotFound, []string{"net-zone"},
		},
		"a key":      {infra(func(s *infrav1.CloudStackMachineSpec) { s.SSHKey = "lost" }), infrav1.ReasonSSHKeyNotFound, []string{"lost"}},
		"a template": {infra(func(s *infrav1.CloudStackMachineSpec) { s.Template = &infrav1.ResourceIdentifier{Name: "nod"} }), infrav1.ReasonTemplateNotFound, []string{"nod"}},
		"a template of another version": {
			func(p *pair) {
				p.infra.Spec.Template = &infrav1.ResourceIdentifier{ID: w.template}
				p.machine.Spec.Version = "v1.20.0"
			}, infrav1.ReasonVersionMismatch, []string{"v1.20.0", "node"},
		},
		"a failure domain": {
			owner(func(s *clusterv1.MachineSpec) { s.FailureDomain = "mars" }), infrav1.ReasonFailureDomainNotFound, []string{"mars", "fd-zone-a"},
		},
		"bootstrap data": {
			owner(func(s *clusterv1.MachineSpec) {
				s.Bootstrap = clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "KubeadmConfig", Name: "x"}}
			}), infrav1.ReasonWaitingForBootstrapData, []string{"dataSecretName"},
		},
		"a Secret with bootstrap data": {
			owner(func(s *clusterv1.MachineSpec) { name := "nowhere"; s.Bootstrap.DataSecretName = &name }), infrav1.ReasonWaitingForBootstrapData, []string{"nowhere"},
		},
	}
	m := w.start(w.Client)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inner := *m
			world := *w
			world.T, inner.world = t, &world
			cm := inner.machine("worker-"+strings.ToLower(strings.ReplaceAll(name, " ", "-")), tc.change)
			got := inner.Drive(cm, because(tc.reason))
			message := condition(got, infrav1.ConditionReady).Message
			for _, text := range tc.says {
				if !strings.Contains(message, text) {
					t.Errorf("message %q lacks %q", message, text)
				}
			}
			inner.delete(cm)
		})
	}
	w.wantVMs(0)
	if n := w.Calls("deployVirtualMachine"); n != 0 {
		t.Errorf("%d calls of deployVirtualMachine, want none", n)
	}
}

func TestWaitingForAnImageIsWokenByIt(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	cm := w.machine("worker", owner(func(s *clusterv1.MachineSpec) { s.Version = "v1.34.0" }))
	m.Drive(cm, because(infrav1.ReasonImageNotFound))
	img := &infrav1.CloudStackImage{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "new"},
		Spec: infrav1.CloudStackImageSpec{
			IdentityRef: infrav1.IdentityReference{Name: "cloudstack"}, Zone: infrav1.ZoneReference{Name: "zone-a"}, KubernetesVersion: "v1.34.0",
			OS: "ubuntu-24.04", ExistingTemplate: &infrav1.TemplateReference{ID: w.template},
		},
	}
	w.Must(w.Client.Create(t.Context(), img))
	got := m.Drive(cm, because(infrav1.ReasonImageNotReady))
	if message := condition(got, infrav1.ConditionReady).Message; !strings.Contains(message, "new") {
		t.Errorf("message %q does not name the image", message)
	}
	result, err := m.Once(cm)
	if err != nil || result.RequeueAfter != 0 {
		t.Errorf("a machine that waits for an image comes back in %s, %v; want that a watch wakes it", result.RequeueAfter, err)
	}
	if woken := m.machines.MachinesOfImage(t.Context(), img); len(woken) != 0 {
		t.Errorf("an image that is not ready wakes %v", woken)
	}
	w.ready(img)
	if woken := m.machines.MachinesOfImage(t.Context(), img); len(woken) != 1 || woken[0].Name != "worker" {
		t.Errorf("the image wakes %v, want the machine", woken)
	}
	m.Drive(cm, ready)
	if woken := m.machines.MachinesOfImage(t.Context(), img); len(woken) != 0 {
		t.Errorf("the image still wakes %v", woken)
	}
}

func TestWaysToNameThings(t *testing.T) {
	w := newWorld(t)
	catalog := &infrav1.TemplateCatalog{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "catalog"},
		Spec: infrav1.TemplateCatalogSpec{
			IdentityRef: infrav1.IdentityReference{Name: "cloudstack"}, Zones: []infrav1.CatalogZone{{ZoneReference: infrav1.ZoneReference{Name: "zone-a"}}},
			Images: []infrav1.CatalogImage{{
				Name: "node", OS: "ubuntu-24.04", KubernetesVersions: []infrav1.KubernetesVersion{version}, URL: "http://x.example.org/{{.Version}}.{{.Suffix}}",
				Checksum: &infrav1.Checksum{InsecureSkip: true},
			}},
			OfferingClasses: []infrav1.OfferingClass{{Name: "small", Rules: []infrav1.OfferingRule{
				{KubernetesVersions: ">=1.34.0", Offering: infrav1.OfferingChoice{Name: "Medium Instance"}}, {Offering: infrav1.OfferingChoice{Name: offering}},
			}}},
		},
	}
	w.Must(w.Client.Create(t.Context(), catalog))
	m := w.start(w.Client)
	tests := map[string]struct {
		change   func(*infrav1.CloudStackMachineSpec)
		offering string
	}{
		"the class of a catalog": {func(s *infrav1.CloudStackMachineSpec) { s.Offering = infrav1.OfferingReference{Class: "small"} }, offering},
		"at least this much": {
			func(s *infrav1.CloudStackMachineSpec) {
				s.Offering = infrav1.OfferingReference{Minimum: &infrav1.OfferingMinimum{CPU: 1}}
			}, offering,
		},
		"a template by name": {func(s *infrav1.CloudStackMachineSpec) { s.Template = &infrav1.ResourceIdentifier{Name: "node"} }, offering},
		"a network by its id": {func(s *infrav1.CloudStackMachineSpec) {
			s.Networks = []infrav1.MachineNetwork{{ID: w.networks["zone-a"]}}
		}, offering},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inner := *m
			world := *w
			world.T, inner.world = t, &world
			cm := inner.machine("worker-"+strings.ToLower(strings.ReplaceAll(name, " ", "-")), infra(tc.change))
			got := inner.Drive(cm, func(c *infrav1.CloudStackMachine) bool { return c.Status.Resolved != nil })
			if got.Status.Resolved.OfferingName != tc.offering || got.Status.Resolved.TemplateID != w.template {
				t.Errorf("resolved %+v", got.Status.Resolved)
			}
			inner.delete(cm)
		})
	}
}

func TestMachinesSpreadOverFailureDomains(t *testing.T) {
	w := newWorld(t, "zone-a", "zone-b")
	w.template = w.register("node-b", w.zones["zone-b"])
	w.image("node-b", "zone-b")
	m := w.start(w.Client)
	count := map[string]int{}
	for _, name := range []string{"w-1", "w-2", "w-3", "w-4"} {
		got := m.Drive(w.machine(name), func(c *infrav1.CloudStackMachine) bool { return c.Status.Resolved != nil })
		count[got.Status.FailureDomain]++
		if why := got.Status.Resolved.Choices[0].Why; !strings.Contains(why, "even spread") {
			t.Errorf("why %q", why)
		}
	}
	if count["fd-zone-a"] != 2 || count["fd-zone-b"] != 2 {
		t.Errorf("machines by failure domain: %v, want 2 and 2", count)
	}
	pinned := m.Drive(w.machine("pinned", owner(func(s *clusterv1.MachineSpec) { s.FailureDomain = "fd-zone-b" })), ready)
	if pinned.Status.FailureDomain != "fd-zone-b" || pinned.Status.Resolved.ZoneID != w.zones["zone-b"] {
		t.Errorf("the machine is in %s", pinned.Status.FailureDomain)
	}
}

func TestExternallyManagedCluster(t *testing.T) {
	w := newWorld(t)
	now := &infrav1.CloudStackCluster{}
	w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(w.infra), now))
	now.Annotations[clusterv1.ManagedByAnnotation] = "somebody"
	w.Must(w.Client.Update(t.Context(), now))
	now.Status.Resolved = nil
	w.Must(w.Client.Status().Update(t.Context(), now))
	m := w.start(w.Client)
	cm := w.machine("worker")
	got := m.Drive(cm, ready)
	if nets := got.Status.Resolved.Networks; len(nets) != 1 || nets[0].ID != w.networks["zone-a"] {
		t.Errorf("networks %+v", nets)
	}
	m.delete(cm)
	w.wantVMs(0)
}

func TestPausedMachineIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	cm := w.machine("worker", func(p *pair) { p.infra.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
	result, err := m.Once(cm)
	got := w.get(cm)
	if err != nil || result.RequeueAfter != 0 || !slices.ContainsFunc(got.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == infrav1.ConditionPaused && c.Status == metav1.ConditionTrue
	}) || len(got.Finalizers) != 0 {
		t.Errorf("after %v, %v: %+v", result, err, got)
	}
	got.Annotations = nil
	w.Must(w.Client.Update(t.Context(), got))
	m.Drive(cm, ready)
	yes := true
	w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(w.cluster), w.cluster))
	w.cluster.Spec.Paused = &yes
	w.Must(w.Client.Update(t.Context(), w.cluster))
	w.Must(w.Client.Delete(t.Context(), w.get(cm)))
	before := w.Calls("")
	if _, err := m.Once(cm); err != nil {
		t.Error(err)
	}
	if w.Calls("") != before || w.get(cm) == nil {
		t.Error("a machine of a paused Cluster was worked on")
	}
}

func TestAffinityGroupComesAndGoesWithItsMachines(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	anti := infra(func(s *infrav1.CloudStackMachineSpec) { s.Affinity = infrav1.AffinityAnti })
	first, second := w.machine("w-1", anti), w.machine("w-2", anti)
	a, b := m.Drive(first, ready), m.Drive(second, ready)
	if len(a.Status.Resolved.AffinityGroupIDs) != 1 || a.Status.Resolved.AffinityGroupIDs[0] != b.Status.Resolved.AffinityGroupIDs[0] {
		t.Errorf("affinity groups %v and %v, want the same", a.Status.Resolved.AffinityGroupIDs, b.Status.Resolved.AffinityGroupIDs)
	}
	if n := w.Calls("createAffinityGroup"); n != 1 {
		t.Errorf("%d calls of createAffinityGroup, want 1", n)
	}
	m.delete(first)
	if n := w.Calls("deleteAffinityGroup"); n != 0 {
		t.Error("the group was deleted before its last machine")
	}
	m.delete(second)
	if n := w.Calls("deleteAffinityGroup"); n != 1 {
		t.Errorf("%d calls of deleteAffinityGroup, want 1", n)
	}
}

// TestAffinityGroupGoesWithMachinesThatGoTogether: the second of two is on its way out between the first one's look at the others
// and its end.
func TestAffinityGroupGoesWithMachinesThatGoTogether(t *testing.T) {
	w := newWorld(t)
	before := len(w.Sim.Inventory().Affinity)
	var m *manager
	var second *infrav1.CloudStackMachine
	m = w.start(interceptor.NewClient(w.Client, interceptor.Funcs{
		Patch: func(ctx context.Context, inner client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if o.GetName() == "w-1" && !o.GetDeletionTimestamp().IsZero() && len(o.GetFinalizers()) == 0 && w.get(second) != nil {
				m.delete(second)
			}
			return inner.Patch(ctx, o, p, opts...)
		},
	}))
	anti := infra(func(s *infrav1.CloudStackMachineSpec) { s.Affinity = infrav1.AffinityAnti })
	first := w.machine("w-1", anti)
	second = w.machine("w-2", anti)
	m.Drive(first, ready)
	m.Drive(second, ready)
	m.delete(first)
	w.wantVMs(0)
	if left := len(w.Sim.Inventory().Affinity) - before; left != 0 {
		t.Errorf("%d affinity groups are left", left)
	}
}

// TestAffinityGroupOfALeftFailureDomain: the group that was made where there was no room then goes, too.
func TestAffinityGroupOfALeftFailureDomain(t *testing.T) {
	w := newWorld(t, "zone-a", "zone-b")
	w.template = w.register("node-b", w.zones["zone-b"])
	w.image("node-b", "zone-b")
	before := len(w.Sim.Inventory().Affinity)
	w.Must(w.Sim.AddFault(cloudsim.Fault{Command: "deployVirtualMachine", Phase: cloudsim.PhaseBefore, Kind: cloudsim.FaultError, Text: "Insufficient address capacity"}))
	m := w.start(w.Client)
	cm := w.machine("free", infra(func(s *infrav1.CloudStackMachineSpec) { s.Affinity = infrav1.AffinityAnti }))
	if got := m.Drive(cm, ready); got.Status.FailureDomain != "fd-zone-b" {
		t.Fatalf("the machine is in %s", got.Status.FailureDomain)
	}
	m.delete(cm)
	if left := len(w.Sim.Inventory().Affinity) - before; left != 0 {
		t.Errorf("%d affinity groups are left", left)
	}
}

// TestAffinityGroupStaysForWhoLostTheStatus: CloudStack deletes groups that have machines, so a machine whose status is lost keeps
// that of its group until it goes itself.
func TestAffinityGroupStaysForWhoLostTheStatus(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	anti := infra(func(s *infrav1.CloudStackMachineSpec) { s.Affinity = infrav1.AffinityAnti })
	first, second := w.machine("w-1", anti), w.machine("w-2", anti)
	m.Drive(first, ready)
	m.Drive(second, ready)
	for _, cm := range []*infrav1.CloudStackMachine{first, second} {
		moved := w.get(cm)
		moved.Status = infrav1.CloudStackMachineStatus{}
		w.Must(w.Client.Status().Update(t.Context(), moved))
	}
	m = w.start(w.Client)
	m.delete(first)
	if n := w.Calls("deleteAffinityGroup"); n != 0 {
		t.Error("the group was deleted before its last machine")
	}
	m.delete(second)
	if n := w.Calls("deleteAffinityGroup"); n != 1 {
		t.Errorf("%d calls of deleteAffinityGroup, want 1", n)
	}
}
