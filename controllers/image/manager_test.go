package image_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/image"
)

// TestUnderAManager runs the controller with its watches, caches and queue on the wall clock.
func TestUnderAManager(t *testing.T) {
	w := newWorldOn(t, nil)
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
	o := w.options()
	w.Must(mgr.Add(o.Sessions))
	w.Must(image.SetupWithManager(ctx, mgr, o))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()

	w.SecretOf(w.NS, "unknown", "unknown")
	img := w.image("node", "qcow2-v3.qcow2", by(infrav1.DeliveryServe))
	w.await(ctx, img, because(infrav1.ReasonCredentialsRefused))
	w.Secret(w.NS, "user") // nobody touches the image: the watch on Secrets must wake it
	w.await(ctx, img, ready)
	w.Must(w.Client.Delete(ctx, img.DeepCopy()))
	w.await(ctx, img, gone)
	w.wantTemplates(0)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// await watches an image until what is asked for is true.
func (w *world) await(ctx context.Context, img *infrav1.CloudStackImage, until func(*infrav1.CloudStackImage) bool) {
	w.T.Helper()
	watcher, err := w.Client.Watch(ctx, &infrav1.CloudStackImageList{}, client.InNamespace(w.NS))
	w.Must(err)
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		now, _ := event.Object.(*infrav1.CloudStackImage)
		if event.Type == watch.Deleted {
			now = nil
		}
		if until(now) {
			return
		}
	}
	now, _ := w.get(img)
	w.T.Fatalf("not reached in time: %+v", now.Status)
}
