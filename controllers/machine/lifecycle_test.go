package machine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

func TestWorkerIsDeployedAndDestroyed(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	cm := w.machine("worker-1")
	got := m.Drive(cm, ready)
	w.wantVMs(1)
	vm := w.vms()[0]
	want := infrav1.CloudStackMachineStatus{InstanceID: vm.ID, InstanceName: "worker-1", FailureDomain: "fd-zone-a", InstanceState: "Running"}
	st := got.Status
	if diff := cmp.Diff(want, infrav1.CloudStackMachineStatus{
		InstanceID: st.InstanceID, InstanceName: st.InstanceName, FailureDomain: st.FailureDomain, InstanceState: st.InstanceState,
	}); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if got.Spec.ProviderID != "cloudstack:///"+vm.ID || st.Initialization.Provisioned == nil || !*st.Initialization.Provisioned {
		t.Errorf("providerID %q, provisioned %v", got.Spec.ProviderID, st.Initialization.Provisioned)
	}
	if len(st.Addresses) != 2 || st.Addresses[0].Type != clusterv1.MachineHostName || st.Addresses[1].Type != clusterv1.MachineInternalIP {
		t.Errorf("addresses %+v, want a host name and an internal IP", st.Addresses)
	}
	if res := st.Resolved; res == nil || res.ImageRef != "node-a" || res.TemplateID != w.template || res.OfferingName != offering ||
		res.KubernetesVersion != version || len(res.Choices) != 4 {
		t.Errorf("resolved %+v", res)
	}
	marks := map[string]string{infrav1.MarkOwner: got.Annotations[infrav1.AnnotationIdentity], infrav1.MarkMachine: w.NS + "/worker-1", infrav1.MarkCluster: "the-cluster"}
	for key, value := range marks {
		if vm.Details[key] != value || value == "" {
			t.Errorf("detail %s = %q, want %q", key, vm.Details[key], value)
		}
	}
	if n := w.Calls("deployVirtualMachine"); n != 1 {
		t.Errorf("%d calls of deployVirtualMachine, want 1", n)
	}
	m.delete(cm)
	w.wantVMs(0)
	if n := w.Calls("destroyVirtualMachine"); n != 1 {
		t.Errorf("%d calls of destroyVirtualMachine, want 1", n)
	}
}
