package workload_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capcat/capcat/test/workload"
)

// TestWatchersHear: who watches Nodes hears of a machine that is expunged behind everybody's back, as a MachineHealthCheck has to.
func TestWatchersHear(t *testing.T) {
	t.Parallel()
	s := newSite(t, workload.Options{})
	image := s.template("node-kube-v1.34.2")
	p := newPlan(t, s.ip+":6443", "v1.34.2")
	s.begin(p, image)
	admin := p.ca.admin(t, p.endpoint)
	addToken(t, admin)
	worker := s.deploy("worker", image, p.join(false))
	s.says("worker", "This node has joined the cluster")
	// As Cluster API does with every Node.
	patch := []byte(`{"metadata":{"annotations":{"cluster.x-k8s.io/machine":"worker"}}}`)
	if _, err := admin.CoreV1().Nodes().Patch(t.Context(), "worker", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := admin.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	s.keys = s.sim.Keys()["admin"]
	s.job("destroyVirtualMachine", "id", worker, "expunge", "true")
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	var heard []string
	for {
		select {
		case e, open := <-w.ResultChan():
			if n, ok := e.Object.(*corev1.Node); ok && open && n.Name == "worker" {
				heard = append(heard, string(e.Type))
				if e.Type == "DELETED" {
					return
				}
			}
			if !open {
				t.Fatalf("the watch ended after %v", heard)
			}
		case <-limit.C:
			t.Fatalf("heard only %v; nodes are %v\n%s", heard, nodes(t, admin), s.consoles())
		}
	}
}
