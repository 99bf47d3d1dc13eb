package image_test

import (
	"context"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/image"
	"github.com/capcat/capcat/test/rig"
)

// TestUnderAManager runs the controller with its watches, caches and queue on the wall clock.
func TestUnderAManager(t *testing.T) {
	w := newWorldOn(t, nil)
	ctx, end := w.Run(&plane, func(ctx context.Context, mgr ctrl.Manager) error {
		o := w.options()
		w.Must(mgr.Add(o.Sessions))
		return image.SetupWithManager(ctx, mgr, o)
	})

	w.SecretOf(w.NS, "unknown", "unknown")
	img := w.image("node", "qcow2-v3.qcow2", by(infrav1.DeliveryServe))
	rig.Await(ctx, &w.World, img, &infrav1.CloudStackImageList{}, because(infrav1.ReasonCredentialsRefused))
	w.Secret(w.NS, "user") // nobody touches the image: the watch on Secrets must wake it
	rig.Await(ctx, &w.World, img, &infrav1.CloudStackImageList{}, ready)
	w.Must(w.Client.Delete(ctx, img.DeepCopy()))
	rig.Await(ctx, &w.World, img, &infrav1.CloudStackImageList{}, gone)
	w.wantTemplates(0)
	end()
}
