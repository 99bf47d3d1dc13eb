package machine_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// joined has the Node of a machine join with a kubelet, as Cluster API tells it.
func (w *world) joined(cm *infrav1.CloudStackMachine, kubelet string) {
	w.T.Helper()
	owner := &clusterv1.Machine{}
	w.Must(w.Client.Get(w.T.Context(), client.ObjectKeyFromObject(cm), owner))
	// The API takes this information only as a whole.
	owner.Status.NodeInfo = &corev1.NodeSystemInfo{
		MachineID: "m", SystemUUID: "s", BootID: "b", KernelVersion: "6.8.0", OSImage: "Ubuntu 24.04", ContainerRuntimeVersion: "containerd://2.0.0",
		KubeletVersion: kubelet, OperatingSystem: "linux", Architecture: "amd64",
	}
	w.Must(w.Client.Status().Update(w.T.Context(), owner))
}

func TestKubeletVersion(t *testing.T) {
	for name, c := range map[string]struct {
		asked, kubelet string
		status         metav1.ConditionStatus
		reason         string
	}{
		"no Node yet":                   {asked: version, status: metav1.ConditionUnknown, reason: infrav1.ReasonWaitingForNode},
		"as asked":                      {asked: version, kubelet: version, status: metav1.ConditionTrue, reason: infrav1.ReasonKubeletVersionMatched},
		"any build serves":              {asked: version, kubelet: version + "+k3s1", status: metav1.ConditionTrue, reason: infrav1.ReasonKubeletVersionMatched},
		"another patch":                 {asked: version, kubelet: "v1.33.10", status: metav1.ConditionFalse, reason: infrav1.ReasonKubeletVersionMismatch},
		"a pre-release":                 {asked: version, kubelet: version + "-rc.1", status: metav1.ConditionFalse, reason: infrav1.ReasonKubeletVersionMismatch},
		"what is no version":            {asked: version, kubelet: "devel", status: metav1.ConditionFalse, reason: infrav1.ReasonKubeletVersionMismatch},
		"another build than that asked": {asked: version + "+k3s1", kubelet: version + "+k3s2", status: metav1.ConditionFalse, reason: infrav1.ReasonKubeletVersionMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.image("asked", "zone-a", func(img *infrav1.CloudStackImage) { img.Spec.KubernetesVersion = infrav1.KubernetesVersion(c.asked) })
			m := w.start(w.Client)
			cm := w.machine("w-1", owner(func(s *clusterv1.MachineSpec) { s.Version = c.asked }), infra(func(s *infrav1.CloudStackMachineSpec) {
				s.Image = &infrav1.MachineImage{Name: "asked"}
			}))
			m.Drive(cm, ready)
			if c.kubelet != "" {
				w.joined(cm, c.kubelet)
			}
			got := m.steady(cm)
			found := condition(got, infrav1.ConditionKubeletVersionMatched)
			if found == nil || found.Status != c.status || found.Reason != c.reason {
				t.Fatalf("got %+v, want %s/%s", found, c.status, c.reason)
			}
			summary := condition(got, infrav1.ConditionReady)
			if c.status != metav1.ConditionFalse {
				if summary.Status != metav1.ConditionTrue {
					t.Errorf("Ready is %+v", summary)
				}
				return
			}
			if summary.Status != metav1.ConditionFalse || summary.Reason != infrav1.ReasonKubeletVersionMismatch {
				t.Errorf("Ready is %+v", summary)
			}
			for _, part := range []string{c.asked, c.kubelet, `"node" (` + w.template + ")", "image asked", "delete the Machine"} {
				if !strings.Contains(summary.Message, part) {
					t.Errorf("%q does not contain %q", summary.Message, part)
				}
			}
			if condition(got, infrav1.ConditionInstanceReady).Status != metav1.ConditionTrue {
				t.Error("The VM runs and its condition says otherwise")
			}
		})
	}
}

// TestKubeletVersionIsToldAtOnce: neither the mismatch nor its end waits for the next look at the VM, and nothing is written
// while nothing changes.
func TestKubeletVersionIsToldAtOnce(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	cm := w.machine("w-1")
	m.Drive(cm, ready)
	m.steady(cm)
	at := func(kubelet string) *infrav1.CloudStackMachine {
		t.Helper()
		w.joined(cm, kubelet)
		if _, err := m.Once(cm); err != nil {
			t.Fatal(err)
		}
		return w.get(cm)
	}
	if got := at("v1.32.3"); ready(got) || condition(got, infrav1.ConditionReady).Reason != infrav1.ReasonKubeletVersionMismatch {
		t.Errorf("Ready is %+v", condition(got, infrav1.ConditionReady))
	}
	written := w.get(cm).ResourceVersion
	if got := m.steady(cm); got.ResourceVersion != written {
		t.Error("The machine is written although nothing changed")
	}
	m.steady(cm)
	if got := at(version); !ready(got) {
		t.Errorf("Ready is %+v", condition(got, infrav1.ConditionReady))
	}
	m.delete(cm)
}
