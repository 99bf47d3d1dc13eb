package cluster_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/test/cloudsim"
)

func synced(c *infrav1.CloudStackCluster) { yes := true; c.Spec.SyncWithACS = &yes }

// members gives a cluster a machine object with a VM that runs in its network.
func (w *world) member(c *infrav1.CloudStackCluster, name string, controlPlane bool) *infrav1.CloudStackMachine {
	w.T.Helper()
	d := c.Status.Domain(zone)
	offerings, err := w.cloud.ServiceOfferings(w.T.Context(), ownerless, w.zoneID)
	w.Must(err)
	at := slices.IndexFunc(offerings, func(o cloudstack.ServiceOffering) bool { return o.Name == "Small Instance" })
	id, job, err := w.cloud.DeployVM(w.T.Context(), cloudstack.NewVM{
		Name: name, ZoneID: w.zoneID, OfferingID: offerings[at].ID, TemplateID: w.template(), Networks: []cloudstack.VMNetwork{{ID: d.Network.ID}},
	})
	w.await(job, err)
	m := &infrav1.CloudStackMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: c.Name}},
		Spec:       infrav1.CloudStackMachineSpec{Offering: infrav1.OfferingReference{Name: "Small Instance"}},
	}
	if controlPlane {
		m.Labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	w.Must(w.Client.Create(w.T.Context(), m))
	yes := true
	m.Status.InstanceID, m.Status.InstanceState, m.Status.Initialization.Provisioned = id, "Running", &yes
	m.Status.Resolved = &infrav1.ResolvedMachine{FailureDomain: zone, IdentityRef: d.IdentityRef, ZoneID: d.ZoneID, OfferingID: offerings[at].ID, TemplateID: "t"}
	w.Must(w.Client.Status().Update(w.T.Context(), m))
	return m
}

func (w *world) entry(id string) cloudstack.KubernetesCluster {
	w.T.Helper()
	found, err := w.cloud.FindKubernetesCluster(w.T.Context(), ownerless, id)
	w.Must(err)
	return found
}

// TestKubernetesServiceShowsTheCluster: the entry follows the machines, is repaired, and goes with the cluster or the wish.
func TestKubernetesServiceShowsTheCluster(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	foreign, job, err := w.cloud.CreateKubernetesCluster(t.Context(), cloudstack.NewKubernetesCluster{Name: "c1", Description: "not ours", ZoneID: w.zoneID})
	w.await(job, err)
	c := w.cluster("c1", synced)
	got := m.Drive(c, ready)
	id := got.Status.KubernetesClusterID
	if id == "" || id == foreign || condition(got, infrav1.ConditionCKSSynced).Status != "True" {
		t.Fatalf("entry %q, condition %+v", id, condition(got, infrav1.ConditionCKSSynced))
	}
	first, second := w.member(got, "cp", true), w.member(got, "worker", false)
	want := []string{first.Status.InstanceID, second.Status.InstanceID}
	slices.Sort(want)
	m.Drive(c, ready)
	if diff := cmp.Diff(want, w.entry(id).Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	adds := w.Calls("addVirtualMachinesToKubernetesCluster")
	m.Live(10 * time.Minute)
	m.Drive(c, ready)
	if again := w.Calls("addVirtualMachinesToKubernetesCluster"); again != adds {
		t.Errorf("members were added again: %d calls, before %d", again, adds)
	}
	w.Must(w.Client.Delete(t.Context(), second))
	m.Drive(c, ready)
	if diff := cmp.Diff([]string{first.Status.InstanceID}, w.entry(id).Members); diff != "" {
		t.Errorf("members after a machine went (-want +got):\n%s", diff)
	}
	w.await(w.cloud.DeleteKubernetesCluster(t.Context(), id))
	w.Clock.Step(10 * time.Minute)
	got = m.Drive(c, func(c *infrav1.CloudStackCluster) bool { return ready(c) && c.Status.KubernetesClusterID != id })
	if diff := cmp.Diff([]string{first.Status.InstanceID}, w.entry(got.Status.KubernetesClusterID).Members); diff != "" {
		t.Errorf("members of the new entry (-want +got):\n%s", diff)
	}
	got = m.edit(c, func(s *infrav1.CloudStackClusterSpec) { s.SyncWithACS = nil })
	if got.Status.KubernetesClusterID != "" || condition(got, infrav1.ConditionCKSSynced) != nil {
		t.Errorf("no longer asked for, it is %q", got.Status.KubernetesClusterID)
	}
	m.edit(c, func(s *infrav1.CloudStackClusterSpec) { yes := true; s.SyncWithACS = &yes })
	w.Must(w.Client.Delete(t.Context(), first))
	for _, machine := range []*infrav1.CloudStackMachine{first, second} {
		_, err := w.Session("admin").DestroyVM(t.Context(), machine.Status.InstanceID, cloudstack.DestroyOptions{Expunge: true})
		w.Must(err)
	}
	w.Clock.Step(time.Minute)
	m.delete(c)
	w.wantMade(made{})
	if w.entry(foreign).Description != "not ours" {
		t.Error("the foreign entry was touched")
	}
	if left, err := w.cloud.KubernetesClustersNamed(t.Context(), ownerless, "c1-"+got.Annotations[infrav1.AnnotationIdentity][:8]); err != nil || len(left) > 0 {
		t.Errorf("entries %+v are left, %v", left, err)
	}
}

// TestKubernetesServiceIsNeverInTheWay: without the service, or when it refuses, the cluster is ready all the same.
func TestKubernetesServiceIsNeverInTheWay(t *testing.T) {
	rows := map[string]struct {
		hurt   func(*world)
		reason string
	}{
		"turned off": {func(w *world) {
			w.Call("admin", "updateConfiguration", "name", "cloud.kubernetes.service.enabled", "value", "false")
		}, infrav1.ReasonCKSUnsupported},
		"it fails": {func(w *world) {
			w.Must(w.Sim.AddFault(cloudsim.Fault{Command: "createKubernetesCluster", Kind: cloudsim.FaultError, Count: -1}))
		}, infrav1.ReasonInternalError},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			row.hurt(w)
			m := w.start(w.Client)
			c := w.cluster("c1", synced)
			got := m.Drive(c, ready)
			if found := condition(got, infrav1.ConditionCKSSynced); found == nil || found.Status != "False" || found.Reason != row.reason {
				t.Errorf("condition %+v, want %s", found, row.reason)
			}
			m.delete(c)
			w.wantMade(made{})
		})
	}
}
