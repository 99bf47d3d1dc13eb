package rig

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/capcat/capcat/test/controlplane"
)

// Run has a real manager, with its watches, caches and queue, work in the world's namespace for five minutes at most, while a
// manual clock runs on its own. setup adds what it runs. The context is good for that time; end stops the manager.
func (w *World) Run(plane *controlplane.Shared, setup func(context.Context, ctrl.Manager) error) (running context.Context, end func()) {
	w.T.Helper()
	w.Reread()
	skipNames := true
	mgr, err := ctrl.NewManager(plane.Config(w.T), ctrl.Options{
		Scheme:     w.Client.Scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{w.NS: {}}},
		Controller: config.Controller{SkipNameValidation: &skipNames},
	})
	w.Must(err)
	ctx, cancel := context.WithTimeout(w.T.Context(), 5*time.Minute)
	w.T.Cleanup(cancel)
	w.Must(setup(ctx, mgr))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	if w.Clock != nil {
		go w.runClock(ctx)
	}
	return ctx, func() {
		cancel()
		if err := <-ended; err != nil {
			w.T.Error(err)
		}
	}
}

// runClock lets the world's time pass, faster than ours.
func (w *World) runClock(ctx context.Context) {
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

// Await watches an object until what is asked for is true; nil means that it is gone. list is an empty list of its kind.
func Await[T Object](ctx context.Context, w *World, o T, list client.ObjectList, until func(T) bool) {
	w.T.Helper()
	watcher, err := w.Client.Watch(ctx, list, client.InNamespace(o.GetNamespace()))
	w.Must(err)
	defer watcher.Stop()
	var last, none T
	for event := range watcher.ResultChan() {
		now, ok := event.Object.(T)
		if !ok || now.GetName() != o.GetName() {
			continue
		}
		last = now
		if event.Type == watch.Deleted {
			now = none
		}
		if until(now) {
			return
		}
	}
	w.T.Fatalf("not reached in time: %+v", last)
}
