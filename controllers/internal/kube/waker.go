package kube

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// woken is the priority of what is woken. What is well under way goes before what begins: else the first of a hundred machines
// would be told to run when a worker has come to the last.
const woken = 10

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
		w.add(key)
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
	w.add(key)
}

// add queues an object before others, where the queue knows that.
func (w *Waker) add(key types.NamespacedName) {
	request := reconcile.Request{NamespacedName: key}
	if q, ranks := w.queue.(priorityqueue.PriorityQueue[reconcile.Request]); ranks {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(woken)}, request)
		return
	}
	w.queue.Add(request)
}

// Of gives a function that wakes one object.
func (w *Waker) Of(key types.NamespacedName) func() { return func() { w.Wake(key) } }
