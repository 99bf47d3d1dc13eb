package machine_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/machine"
)

// TestUnderAManager runs the controller with its watches, caches and queue. The cloud's clock runs with the wall clock.
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
	w.Must(machine.SetupWithManager(ctx, mgr, machine.Options{Sessions: sessions, Clock: clock.RealClock{}, WatchFilter: "ours"}))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	go w.runClock(ctx)

	ours := func(p *pair) { p.infra.Labels[clusterv1.WatchLabel] = "ours" }
	cm := w.machine("worker", ours, owner(func(s *clusterv1.MachineSpec) { s.Version = "v1.34.0" }))
	others := w.machine("others")
	w.await(ctx, cm, because(infrav1.ReasonImageNotFound))
	// Nobody touches the machine: the watch on images must wake it.
	w.image("new", "zone-a", func(i *infrav1.CloudStackImage) { i.Spec.KubernetesVersion = "v1.34.0" })
	w.await(ctx, cm, ready)
	w.Must(w.Client.Delete(ctx, w.get(cm)))
	w.await(ctx, cm, gone)
	w.wantVMs(0)
	if got := w.get(others); len(got.Status.Conditions) != 0 {
		t.Errorf("a machine of another manager was worked on: %+v", got.Status)
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

// await watches a machine until what is asked for is true.
func (w *world) await(ctx context.Context, cm *infrav1.CloudStackMachine, until func(*infrav1.CloudStackMachine) bool) {
	w.T.Helper()
	watcher, err := w.Client.Watch(ctx, &infrav1.CloudStackMachineList{}, client.InNamespace(w.NS))
	w.Must(err)
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		now, _ := event.Object.(*infrav1.CloudStackMachine)
		if now == nil || now.Name != cm.Name {
			continue
		}
		if event.Type == watch.Deleted {
			now = nil
		}
		if until(now) {
			return
		}
	}
	w.T.Fatalf("not reached in time: %+v", w.get(cm))
}
