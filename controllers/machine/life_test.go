package machine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/test/cloudsim"
)

// steady lets a minute pass, as it does under a manager: the shared listings look once, and the machine is looked at.
func (m *manager) steady(cm *infrav1.CloudStackMachine) *infrav1.CloudStackMachine {
	m.T.Helper()
	for range 20 {
		m.Clock.Step(3 * time.Second)
		m.Poll()
	}
	if _, err := m.Once(cm); err != nil {
		m.T.Log(err)
	}
	return m.get(cm)
}

func TestSteadyMachineCostsNoCallOfItsOwn(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	var all []*infrav1.CloudStackMachine
	for _, name := range []string{"w-1", "w-2", "w-3", "w-4", "w-5"} {
		cm := w.machine(name)
		all = append(all, cm)
		m.Drive(cm, ready)
	}
	m.steady(all[0])
	before := w.Calls("")
	for range 3 {
		for _, cm := range all {
			if _, err := m.Once(cm); err != nil {
				t.Error(err)
			}
		}
		m.steady(all[0])
	}
	if n := w.Calls("") - before; n > 6 {
		t.Errorf("%d calls in 3 minutes for 5 machines, want 6 at most", n)
	}
}

// TestRestartedManagerLooksOnce: a new manager learns of all machines with one listing.
func TestRestartedManagerLooksOnce(t *testing.T) {
	w := newWorld(t)
	first := w.start(w.Client)
	cms := []*infrav1.CloudStackMachine{w.machine("w-1"), w.machine("w-2"), w.machine("w-3")}
	for _, cm := range cms {
		first.Drive(cm, ready)
	}
	first.Stop()
	second := w.start(w.Client)
	before := w.Calls("")
	for range 3 {
		for _, cm := range cms {
			if _, err := second.Once(cm); err != nil {
				t.Error(err)
			}
			if !ready(w.get(cm)) {
				t.Errorf("%s is not ready: %+v", cm.Name, condition(w.get(cm), infrav1.ConditionReady))
			}
		}
		second.Poll()
		w.Clock.Step(3 * time.Second)
	}
	if n := w.Calls("") - before; n != 1 {
		t.Errorf("%d calls, want one listing", n)
	}
}

func TestChangesBehindOurBack(t *testing.T) {
	admin := func(w *world) *cloudstack.Session { return w.Session("admin") }
	tests := map[string]struct {
		act    func(w *world, id string)
		reason string
	}{
		"stopped": {func(w *world, id string) { _, err := w.cloud.StopVM(w.T.Context(), id); w.Must(err) }, infrav1.ReasonInstanceStopped},
		"destroyed": {func(w *world, id string) {
			_, err := w.cloud.DestroyVM(w.T.Context(), id, cloudstack.DestroyOptions{})
			w.Must(err)
		}, infrav1.ReasonInstanceLost},
		"expunged": {
			func(w *world, id string) {
				_, err := admin(w).DestroyVM(w.T.Context(), id, cloudstack.DestroyOptions{Expunge: true})
				w.Must(err)
			}, infrav1.ReasonInstanceLost,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.start(w.Client)
			cm := w.machine("worker")
			got := m.Drive(cm, ready)
			m.steady(cm)
			tc.act(w, got.Status.InstanceID)
			now := m.steady(cm)
			now = m.steady(now)
			if !because(tc.reason)(now) {
				t.Errorf("condition %+v, want %s", condition(now, infrav1.ConditionReady), tc.reason)
			}
			if c := condition(now, infrav1.ConditionInstanceReady); c.Status != metav1.ConditionFalse || c.Reason != tc.reason {
				t.Errorf("InstanceReady %+v", c)
			}
			if n := w.Calls("deployVirtualMachine"); n != 1 {
				t.Errorf("%d calls of deployVirtualMachine: the VM was replaced under the same Machine", n)
			}
			if now.Spec.ProviderID != got.Spec.ProviderID {
				t.Errorf("providerID became %s", now.Spec.ProviderID)
			}
			m.delete(cm)
			w.wantVMs(0)
		})
	}
}

func TestStoppedMachineIsReadyAgainWhenSomebodyStartsIt(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	cm := w.machine("worker")
	id := m.Drive(cm, ready).Status.InstanceID
	_, err := w.cloud.StopVM(t.Context(), id)
	w.Must(err)
	m.steady(cm)
	if now := m.steady(cm); ready(now) {
		t.Fatal("a stopped VM is ready")
	}
	if n := w.Calls("startVirtualMachine"); n != 0 {
		t.Error("a VM that somebody stopped was started")
	}
	_, err = w.cloud.StartVM(t.Context(), id)
	w.Must(err)
	m.steady(cm)
	if now := m.steady(cm); !ready(now) {
		t.Errorf("condition %+v", condition(now, infrav1.ConditionReady))
	}
}

func TestNoRoomSendsAMachineToAnotherFailureDomain(t *testing.T) {
	w := newWorld(t, "zone-a", "zone-b")
	w.template = w.register("node-b", w.zones["zone-b"])
	w.image("node-b", "zone-b")
	w.Must(w.Sim.AddFault(cloudsim.Fault{Command: "deployVirtualMachine", Phase: cloudsim.PhaseBefore, Kind: cloudsim.FaultError, Text: "Insufficient address capacity"}))
	m := w.start(w.Client)
	free := m.Drive(w.machine("free"), ready)
	if free.Status.FailureDomain != "fd-zone-b" {
		t.Errorf("the machine is in %s, want the failure domain that has room", free.Status.FailureDomain)
	}
	w.Must(w.Sim.AddFault(cloudsim.Fault{Command: "deployVirtualMachine", Phase: cloudsim.PhaseBefore, Kind: cloudsim.FaultError, Text: "Insufficient address capacity"}))
	pinned := w.machine("pinned", owner(func(s *clusterv1.MachineSpec) { s.FailureDomain = "fd-zone-a" }))
	m.Drive(pinned, because(infrav1.ReasonOutOfCapacity))
	got := m.Drive(pinned, ready)
	if got.Status.FailureDomain != "fd-zone-a" {
		t.Errorf("a machine that is bound went to %s", got.Status.FailureDomain)
	}
	w.wantVMs(2)
}

func TestLimitHasAReasonOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Sim.AddFault(cloudsim.Fault{
		Command: "deployVirtualMachine", Phase: cloudsim.PhaseBefore, Kind: cloudsim.FaultError, Count: 2,
		Text: "Maximum amount of resources of Type = 'user_vm', tag = 'null' for Account Name = x is exceeded",
	}))
	m := w.start(w.Client)
	cm := w.machine("worker")
	m.Drive(cm, because(infrav1.ReasonQuotaExceeded))
	m.Drive(cm, ready)
	w.wantVMs(1)
}

// TestNameIsTaken: a VM of somebody else holds the name; ours gets another one at once, and leaves the other alone.
func TestNameIsTaken(t *testing.T) {
	w := newWorld(t)
	id := w.foreignVM("worker", nil)
	m := w.start(w.Client)
	cm := w.machine("worker")
	from := w.Clock.Now()
	got := m.Drive(cm, ready)
	if took := w.Clock.Since(from); took > time.Minute {
		t.Errorf("the machine took %s", took)
	}
	if st := got.Status; st.InstanceID == id || !strings.HasPrefix(st.InstanceName, "worker-") || st.Addresses[0].Address != st.InstanceName {
		t.Errorf("VM %s, named %s, addresses %+v", st.InstanceID, st.InstanceName, st.Addresses)
	}
	if why := got.Status.Resolved.Choices; !strings.Contains(fmt.Sprint(why), "holds the name worker") {
		t.Errorf("choices %+v", why)
	}
	w.wantVMs(2)
	m.delete(cm)
	w.wantVMs(1)
}

// TestMachineIsMadeAnewUnderItsName: an account that may not expunge destroys a VM, which holds its name unseen for a day. A
// new Machine of that name does not wait for it, any number of times.
func TestMachineIsMadeAnewUnderItsName(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	names := map[string]bool{}
	for range 3 {
		cm := w.machine("worker")
		from := w.Clock.Now()
		names[m.Drive(cm, ready).Status.InstanceName] = true
		if took := w.Clock.Since(from); took > time.Minute {
			t.Errorf("the machine took %s", took)
		}
		w.wantVMs(1)
		m.delete(cm)
		w.Must(w.Client.Delete(t.Context(), &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "worker"}}))
		w.wantVMs(0)
	}
	if len(names) != 3 || !names["worker"] {
		t.Errorf("names %v, want three different ones", names)
	}
}

// foreignVM makes a VM beside the controller.
func (w *world) foreignVM(name string, details map[string]string) string {
	w.T.Helper()
	zone := w.zones["zone-a"]
	offerings, err := w.cloud.ServiceOfferings(w.T.Context(), cloudstack.Owner{}, zone)
	w.Must(err)
	at := slices.IndexFunc(offerings, func(o cloudstack.ServiceOffering) bool { return o.Name == offering })
	id, _, err := w.cloud.DeployVM(w.T.Context(), cloudstack.NewVM{
		Name: name, ZoneID: zone, OfferingID: offerings[at].ID, TemplateID: w.template, Details: details,
		Networks: []cloudstack.VMNetwork{{ID: w.networks["zone-a"]}},
	})
	w.Must(err)
	w.Clock.Step(time.Minute)
	return id
}

func TestAdoptsOneAndRefusesTwo(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	cm := w.machine("worker")
	identity := m.Drive(cm, func(c *infrav1.CloudStackMachine) bool { return c.Status.Resolved != nil }).Annotations[infrav1.AnnotationIdentity]
	id := w.foreignVM("worker", map[string]string{infrav1.MarkOwner: identity})
	got := m.Drive(cm, ready)
	if got.Status.InstanceID != id {
		t.Errorf("instance %s, want the one with the mark, %s", got.Status.InstanceID, id)
	}
	w.wantVMs(1)
	m.delete(cm)

	w.Clock.Step(72 * time.Hour)
	cm = w.machine("other")
	identity = m.Drive(cm, func(c *infrav1.CloudStackMachine) bool { return c.Status.Resolved != nil }).Annotations[infrav1.AnnotationIdentity]
	first := w.foreignVM("other", map[string]string{infrav1.MarkOwner: identity})
	w.networks["zone-a"] = w.network("another", w.zones["zone-a"])
	second := w.foreignVM("other", map[string]string{infrav1.MarkOwner: identity})
	now := m.Drive(cm, because(infrav1.ReasonInstanceAmbiguous))
	if message := condition(now, infrav1.ConditionReady).Message; !strings.Contains(message, first) || !strings.Contains(message, second) {
		t.Errorf("message %q does not name both", message)
	}
	w.wantVMs(2)
	m.delete(cm)
	w.wantVMs(0)
}

func TestTooLargeUserData(t *testing.T) {
	tests := map[string]struct {
		bytes int
		says  []string
		calls int
	}{
		"over the limit of the server":     {40000, []string{"53336", "32768"}, 1},
		"so large that no server reads it": {900000, []string{"1200000", "1032192"}, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.start(w.Client)
			secret := "big"
			w.Must(w.Client.Create(t.Context(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: secret},
				Data:       map[string][]byte{"value": make([]byte, tc.bytes), "format": []byte("ignition")},
			}))
			cm := w.machine("worker", owner(func(s *clusterv1.MachineSpec) { s.Bootstrap.DataSecretName = &secret }))
			now := m.Drive(cm, because(infrav1.ReasonUserDataTooLarge))
			message := condition(now, infrav1.ConditionReady).Message
			for _, number := range tc.says {
				if !strings.Contains(message, number) {
					t.Errorf("message %q lacks %s", message, number)
				}
			}
			if n := w.Calls("deployVirtualMachine"); n != tc.calls {
				t.Errorf("%d calls of deployVirtualMachine, want %d", n, tc.calls)
			}
			w.wantVMs(0)
			m.delete(cm)
		})
	}
}

// TestOnlyOurDiskGoesWithTheMachine: the data disk that was deployed with the VM is destroyed, one that a CSI driver attached
// stays, although it is of the same offering.
func TestOnlyOurDiskGoesWithTheMachine(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	all, err := w.cloud.DiskOfferings(t.Context(), cloudstack.Owner{}, w.zones["zone-a"])
	w.Must(err)
	at := slices.IndexFunc(all, func(o cloudstack.DiskOffering) bool { return !o.Custom })
	cm := w.machine("worker", infra(func(s *infrav1.CloudStackMachineSpec) {
		s.DiskOffering = &infrav1.DiskOfferingReference{Name: all[at].Name, MountPath: "/data"}
	}))
	got := m.Drive(cm, ready)
	if len(got.Status.VolumeIDs) != 1 {
		t.Fatalf("volumes %v, want one", got.Status.VolumeIDs)
	}
	ours := got.Status.VolumeIDs[0]
	theirs := w.attachDisk("pvc-1", all[at].ID, got.Status.InstanceID)
	m.delete(cm)
	var left []string
	for _, v := range w.Sim.Inventory().Volumes {
		if v.Name == "pvc-1" && v.State == "Ready" {
			left = append(left, v.ID)
		}
		if v.ID == ours && v.State != "Destroy" && v.State != "Expunged" {
			t.Errorf("our disk is %s", v.State)
		}
	}
	if len(left) != 1 || left[0] != theirs {
		t.Errorf("disks of others that are left: %v, want %s", left, theirs)
	}
}

// TestOurDiskGoesWhenItWasNotNoted: the data disk goes with a VM that is deleted before it ran, and with one whose machine lost its
// status.
func TestOurDiskGoesWhenItWasNotNoted(t *testing.T) {
	until := map[string]func(*infrav1.CloudStackMachine) bool{
		"while it is deployed":     func(cm *infrav1.CloudStackMachine) bool { return cm.Status.InstanceID != "" },
		"when the status was lost": ready,
	}
	for name, reached := range until {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.start(w.Client)
			cm := w.machine("worker", infra(func(s *infrav1.CloudStackMachineSpec) {
				s.DiskOffering = &infrav1.DiskOfferingReference{Name: "Small", MountPath: "/data"}
			}))
			if now := m.Drive(cm, reached); ready(now) {
				now.Status = infrav1.CloudStackMachineStatus{}
				w.Must(w.Client.Status().Update(t.Context(), now))
				m = w.start(w.Client)
			}
			m.delete(cm)
			w.Clock.Step(96 * time.Hour)
			if left := w.Sim.Inventory().Volumes; len(left) != 0 {
				t.Errorf("disks that are left: %+v", left)
			}
		})
	}
}

// attachDisk makes a disk as a CSI driver does.
func (w *world) attachDisk(name, offeringID, vmID string) string {
	w.T.Helper()
	made := w.Call(caller, "createVolume", "name", name, "diskofferingid", offeringID, "zoneid", w.zones["zone-a"])
	id := made["id"]
	w.Clock.Step(time.Minute)
	w.Call(caller, "attachVolume", "id", id, "virtualmachineid", vmID)
	w.Clock.Step(time.Minute)
	return id
}

// balancer gives the cluster a load balancer and returns the ids of its rules.
func (w *world) balancer(ports ...int32) []string {
	w.T.Helper()
	network := w.networks["zone-a"]
	address, _, err := w.cloud.AssociateAddress(w.T.Context(), cloudstack.NewAddress{NetworkID: network})
	w.Must(err)
	w.Clock.Step(time.Minute)
	now := &infrav1.CloudStackCluster{}
	w.Must(w.Client.Get(w.T.Context(), client.ObjectKeyFromObject(w.infra), now))
	b := &infrav1.LoadBalancerStatus{FailureDomain: "fd-zone-a", NetworkID: network, PublicIPID: address}
	for i, port := range ports {
		name := []string{infrav1.APIRuleName, "join"}[i]
		id, _, err := w.cloud.CreateLoadBalancer(w.T.Context(), cloudstack.NewLoadBalancer{
			Name: name, AddressID: address, PublicPort: port, PrivatePort: port, Algorithm: "roundrobin",
		})
		w.Must(err)
		b.Rules = append(b.Rules, infrav1.LoadBalancerRuleStatus{Name: name, ID: id, PublicPort: port, PrivatePort: port})
	}
	w.Clock.Step(time.Minute)
	now.Status.LoadBalancer = b
	w.Must(w.Client.Status().Update(w.T.Context(), now))
	return b.RuleIDs()
}

func (w *world) members(rule string) []string {
	w.T.Helper()
	ids, err := w.cloud.Members(w.T.Context(), rule)
	w.Must(err)
	return ids
}

func TestControlPlaneStandsBehindTheLoadBalancer(t *testing.T) {
	w := newWorld(t)
	rules := w.balancer(6443, 9345)
	m := w.start(w.Client)
	cp, worker := w.machine("cp", controlPlane), w.machine("worker")
	got := m.Drive(cp, ready)
	m.Drive(worker, ready)
	id := got.Status.InstanceID
	for _, rule := range rules {
		if members := w.members(rule); len(members) != 1 || members[0] != id {
			t.Errorf("members %v of %s, want %s", members, rule, id)
		}
	}
	if c := condition(got, infrav1.ConditionLoadBalancerAttached); c.Status != metav1.ConditionTrue || c.Reason != infrav1.ReasonAttached {
		t.Errorf("LoadBalancerAttached %+v", c)
	}
	m.steady(cp)

	_, err := w.cloud.RemoveMembers(t.Context(), rules[0], id)
	w.Must(err)
	w.Clock.Step(time.Minute)
	for range 3 {
		m.steady(cp)
	}
	if members := w.members(rules[0]); len(members) != 1 {
		t.Errorf("members %v, want the lost one back", members)
	}
	if now := m.Drive(cp, ready); now.Spec.ProviderID != got.Spec.ProviderID {
		t.Error("another VM was made")
	}

	w.Sim.ClearFaults()
	m.delete(cp)
	var order []string
	for _, e := range w.Sim.Journal() {
		if e.Command == "removeFromLoadBalancerRule" || e.Command == "destroyVirtualMachine" {
			order = append(order, e.Command)
		}
	}
	if n := len(order); n < 3 || order[n-1] != "destroyVirtualMachine" || order[n-2] != "removeFromLoadBalancerRule" || order[n-3] != "removeFromLoadBalancerRule" {
		t.Errorf("order of calls %v", order)
	}
	m.delete(worker)
	w.wantVMs(0)
}

// TestStatusIsFoundAgain: clusterctl move does not carry the status.
func TestStatusIsFoundAgain(t *testing.T) {
	w := newWorld(t)
	rules := w.balancer(6443)
	first := w.start(w.Client)
	cm := w.machine("cp", controlPlane)
	before := first.Drive(cm, ready)
	first.Stop()
	moved := w.get(cm)
	moved.Status = infrav1.CloudStackMachineStatus{}
	w.Must(w.Client.Status().Update(t.Context(), moved))
	second := w.start(w.Client)
	after := second.Drive(cm, ready)
	if after.Status.InstanceID != before.Status.InstanceID || after.Status.Resolved == nil || len(after.Status.Addresses) != 2 ||
		!slices.Equal(after.Status.LoadBalancerRuleIDs, rules) {
		t.Errorf("status %+v", after.Status)
	}
	if n := w.Calls("deployVirtualMachine"); n != 1 {
		t.Errorf("%d calls of deployVirtualMachine", n)
	}
	moved = w.get(cm)
	moved.Status = infrav1.CloudStackMachineStatus{}
	w.Must(w.Client.Status().Update(t.Context(), moved))
	third := w.start(w.Client)
	third.delete(cm)
	w.wantVMs(0)
}

// TestTheMadeIsTold: what a VM was made of is read from it when the status is lost, and not chosen anew: another image may be the
// right one by now.
func TestTheMadeIsTold(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	cm := w.machine("worker")
	before := m.Drive(cm, ready)
	newer := w.register("newer", w.zones["zone-a"])
	w.Must(w.Client.Delete(t.Context(), &infrav1.CloudStackImage{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: before.Status.Resolved.ImageRef}}))
	w.template = newer
	w.image("newer", "zone-a")
	moved := w.get(cm)
	moved.Status = infrav1.CloudStackMachineStatus{}
	w.Must(w.Client.Status().Update(t.Context(), moved))
	after := w.start(w.Client).Drive(cm, ready).Status.Resolved
	type made struct{ Template, TemplateName, Image, Offering, OfferingName string }
	told := func(r *infrav1.ResolvedMachine) made {
		return made{r.TemplateID, r.TemplateName, r.ImageRef, r.OfferingID, r.OfferingName}
	}
	want := told(before.Status.Resolved)
	want.Image = "" // it is no image any more
	if diff := cmp.Diff(want, told(after)); diff != "" {
		t.Errorf("what the VM was made of (-before +after):\n%s", diff)
	}
}

func TestSecretsGoneBlockOnlyWhatIsThere(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	cm := w.machine("worker")
	m.Drive(cm, ready)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "cloudstack"}}
	w.Must(w.Client.Delete(t.Context(), secret))
	w.Must(w.Client.Delete(t.Context(), w.get(cm)))
	m.Drive(cm, because(infrav1.ReasonSecretNotFound))
	w.wantVMs(1)
	w.Secret(w.NS, caller)
	m.Drive(cm, gone)
	w.wantVMs(0)
}
