package workload_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

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

// TestWatchAfterADeletion: who begins to watch where a list was, and a Node has gone since, is told to list again.
func TestWatchAfterADeletion(t *testing.T) {
	t.Parallel()
	_, admin := oneNode(t)
	nodes := admin.CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := nodes.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	told, err := admin.CoreV1().RESTClient().Delete().AbsPath("/api/v1/nodes/other").DoRaw(t.Context())
	if err != nil || !strings.Contains(string(told), `"status":"Success"`) {
		t.Fatalf("the deletion: %v, and this for kubectl to read: %q", err, told)
	}
	w, err := nodes.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if told := <-w.ResultChan(); told.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(told.Object)) {
		t.Errorf("a watch of Nodes from before the deletion: %v, want that the version is too old", told)
	}
	if list, err = nodes.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Fatal(list, err)
	}
	for what, begin := range map[string]func(context.Context, metav1.ListOptions) (watch.Interface, error){
		"Nodes from after the deletion": nodes.Watch, "another kind": admin.CoreV1().Services("").Watch,
	} {
		w, err := begin(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		if told := <-w.ResultChan(); told.Type == watch.Error {
			t.Errorf("a watch of %s: %v", what, told)
		}
	}
}

// oneNode is a cluster of one machine.
func oneNode(t *testing.T) (*site, kubernetes.Interface) {
	t.Helper()
	s := newSite(t, workload.Options{})
	p := newPlan(t, s.ip+":6443", "v1.34.2")
	s.begin(p, s.template("node-kube-v1.34.2"))
	return s, p.ca.admin(t, p.endpoint)
}
