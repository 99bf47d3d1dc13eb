package upgrade_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/upgrade"
)

// TestWatches runs the controller and lets nothing but its watches tell it of changes.
func TestWatches(t *testing.T) {
	w := newWorld(t)
	w.owned()
	skipNames := true
	mgr, err := ctrl.NewManager(plane.Config(t), ctrl.Options{
		Scheme: w.client.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{w.ns: {}}},
		Controller: config.Controller{SkipNameValidation: &skipNames},
	})
	w.must(err)
	w.must(upgrade.SetupWithManager(mgr, upgrade.Options{}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	seen, err := w.client.Watch(t.Context(), &infrav1.CloudStackClusterList{}, client.InNamespace(w.ns))
	w.must(err)
	defer seen.Stop()

	w.await(seen, metav1.ConditionTrue, infrav1.ReasonReady)
	w.setControlPlaneVersion("v1.32.3")
	w.await(seen, metav1.ConditionFalse, infrav1.ReasonImageNotFound)
	w.images("v1.32.3", "zone-a")
	last := w.image("v1.32.3", "zone-b", func(*infrav1.CloudStackImage) {})
	w.await(seen, metav1.ConditionTrue, infrav1.ReasonReady)
	w.unready(last)
	w.await(seen, metav1.ConditionFalse, infrav1.ReasonImageNotReady)
	w.ready(last)
	w.await(seen, metav1.ConditionTrue, infrav1.ReasonReady)
	w.machineTemplate("rocky", infrav1.CloudStackMachineSpec{Image: &infrav1.MachineImage{OS: "rocky-9"}})
	w.workers("md-1", "v1.31.7", of("rocky"))
	w.await(seen, metav1.ConditionFalse, infrav1.ReasonImageNotFound)
	w.must(w.client.DeleteAllOf(t.Context(), &clusterv1.MachineDeployment{}, client.InNamespace(w.ns)))
	w.await(seen, metav1.ConditionTrue, infrav1.ReasonReady)
}

// owned makes the Cluster the owner of its control plane, as Cluster API does.
func (w *world) owned() {
	w.t.Helper()
	obj := w.kubeadmControlPlane()
	obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "c1", UID: w.cluster.UID}})
	w.must(w.client.Update(w.t.Context(), obj))
}

// await waits until the cluster has the condition.
func (w *world) await(seen watch.Interface, status metav1.ConditionStatus, reason string) {
	w.t.Helper()
	for {
		select {
		case e := <-seen.ResultChan():
			infra, ok := e.Object.(*infrav1.CloudStackCluster)
			if !ok {
				w.t.Fatalf("got %+v", e)
			}
			c := meta.FindStatusCondition(infra.Status.Conditions, infrav1.ConditionVersionsAvailable)
			if c != nil && c.Status == status && c.Reason == reason {
				return
			}
		case <-w.t.Context().Done():
			w.t.Fatal(w.t.Context().Err())
		}
	}
}
