package cluster_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/cluster"
)

// TestUnderAManager runs the controller with its watches, caches and queue: it works on what carries the label of its
// --watch-filter in its --namespace, and on nothing else. The cloud's clock runs with the wall clock.
func TestUnderAManager(t *testing.T) {
	w := newWorld(t)
	w.Reread()
	skipNames := true
	mgr, err := ctrl.NewManager(plane.Config(t), ctrl.Options{
		Scheme:     w.Client.Scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{w.NS: {}}},
		Controller: config.Controller{SkipNameValidation: &skipNames},
	})
	w.Must(err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sessions, err := cloudstack.NewSessions(cloudstack.Options{CallsPerSecond: -1})
	w.Must(err)
	w.Must(mgr.Add(sessions))
	w.Must(cluster.SetupWithManager(ctx, mgr, cluster.Options{Sessions: sessions, Clock: clock.RealClock{}, WatchFilter: "ours"}))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	go w.runClock(ctx)

	elsewhere := plane.Namespace(t)
	w.Secret(elsewhere, caller)
	ours := func(c *infrav1.CloudStackCluster) { c.Labels[clusterv1.WatchLabel] = "ours" }
	theirs := func(c *infrav1.CloudStackCluster) { c.Labels[clusterv1.WatchLabel] = "theirs" }
	others := []*infrav1.CloudStackCluster{w.cluster("unlabelled"), w.cluster("other", theirs), w.clusterIn(elsewhere, "away", ours)}
	c := w.cluster("c1", ours)
	w.awaitObject(ctx, c, ready)
	w.Must(w.Client.Delete(ctx, w.get(c)))
	w.awaitObject(ctx, c, gone)
	w.wantMade(made{})
	for _, other := range others {
		if got := w.get(other); len(got.Status.Conditions) != 0 || len(got.Finalizers) != 0 {
			t.Errorf("the cluster %s of another manager was worked on: %+v", other.Name, got.Status)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// runClock lets the cloud's time pass, faster than ours.
func (w *world) runClock(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.Clock.Step(time.Second)
		}
	}
}

// awaitObject watches a cluster until what is asked for is true.
func (w *world) awaitObject(ctx context.Context, c *infrav1.CloudStackCluster, until func(*infrav1.CloudStackCluster) bool) {
	w.T.Helper()
	watcher, err := w.Client.Watch(ctx, &infrav1.CloudStackClusterList{}, client.InNamespace(c.Namespace))
	w.Must(err)
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		now, _ := event.Object.(*infrav1.CloudStackCluster)
		if now == nil || now.Name != c.Name {
			continue
		}
		if event.Type == watch.Deleted {
			now = nil
		}
		if until(now) {
			return
		}
	}
	w.T.Fatalf("not reached in time: %+v", w.get(c))
}
