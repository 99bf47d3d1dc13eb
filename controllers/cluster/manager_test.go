package cluster_test

import (
	"context"
	"testing"

	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/cluster"
	"github.com/capcat/capcat/test/rig"
)

// TestUnderAManager runs the controller with its watches, caches and queue: it works on what carries the label of its
// --watch-filter in its --namespace, and on nothing else. The cloud's clock runs with the wall clock.
func TestUnderAManager(t *testing.T) {
	w := newWorld(t)
	ctx, end := w.Run(&plane, func(ctx context.Context, mgr ctrl.Manager) error {
		sessions, err := cloudstack.NewSessions(cloudstack.Options{CallsPerSecond: -1})
		w.Must(err)
		w.Must(mgr.Add(sessions))
		return cluster.SetupWithManager(ctx, mgr, cluster.Options{Sessions: sessions, Clock: clock.RealClock{}, WatchFilter: "ours"})
	})
	elsewhere := plane.Namespace(t)
	w.Secret(elsewhere, caller)
	ours := func(c *infrav1.CloudStackCluster) { c.Labels[clusterv1.WatchLabel] = "ours" }
	theirs := func(c *infrav1.CloudStackCluster) { c.Labels[clusterv1.WatchLabel] = "theirs" }
	others := []*infrav1.CloudStackCluster{w.cluster("unlabelled"), w.cluster("other", theirs), w.clusterIn(elsewhere, "away", ours)}
	c := w.cluster("c1", ours)
	rig.Await(ctx, &w.World, c, &infrav1.CloudStackClusterList{}, ready)
	w.Must(w.Client.Delete(ctx, w.get(c)))
	rig.Await(ctx, &w.World, c, &infrav1.CloudStackClusterList{}, gone)
	w.wantMade(made{})
	for _, other := range others {
		if got := w.get(other); len(got.Status.Conditions) != 0 || len(got.Finalizers) != 0 {
			t.Errorf("the cluster %s of another manager was worked on: %+v", other.Name, got.Status)
		}
	}
	end()
}
