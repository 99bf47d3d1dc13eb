package kube

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Waker is a source of a controller's queue for everything that does not happen in Kubernetes: a task has ended, a cloud
// job is done. It is safe for concurrent use.
type Waker struct {
	mu      sync.Mutex
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	pending map[types.NamespacedName]bool
}

// NewWaker makes a Waker that keeps wake-ups until it is started.
func NewWaker() *Waker { return &Waker{pending: map[types.NamespacedName]bool{}} }

// Start implements source.Source.
func (w *Waker) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	for key := range w.pending {
		queue.Add(reconcile.Request{NamespacedName: key})
	}
	clear(w.pending)
	return nil
}

// Wake queues an object. It never blocks.
func (w *Waker) Wake(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue == nil {
		w.pending[key] = true
		return
	}
	w.queue.Add(reconcile.Request{NamespacedName: key})
}

// Of gives a function that wakes one object.
func (w *Waker) Of(key types.NamespacedName) func() { return func() { w.Wake(key) } }
