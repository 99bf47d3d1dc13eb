package machine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/capcat/capcat/controllers/internal/kube"
)

// Waker gives tests the source of wake-ups.
func (r *Reconciler) Waker() *kube.Waker { return r.waker }

// MachinesOfImage is what the watch on images asks.
func (r *Reconciler) MachinesOfImage(ctx context.Context, o client.Object) []reconcile.Request {
	return r.machinesOfImage(ctx, o)
}
