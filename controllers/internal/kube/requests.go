package kube

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Wakes gives an event handler that wakes what find finds, leaving out objects of kind T without the watch-filter label:
// they are another manager's.
func Wakes[T client.Object](c client.Reader, fresh func() T, filter string, find handler.MapFunc) handler.EventHandler {
	if filter == "" {
		return handler.EnqueueRequestsFromMapFunc(find)
	}
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		var out []reconcile.Request
		for _, request := range find(ctx, o) {
			found := fresh()
			if err := c.Get(ctx, request.NamespacedName, found); err == nil && Watched(found, filter) {
				out = append(out, request)
			}
		}
		return out
	})
}

// Requests lists objects and gives a request for each that something holds for. T points to an item of the list. A list that
// fails is logged and wakes nobody: what was missed is looked at in its own time.
func Requests[T client.Object](ctx context.Context, c client.Reader, list client.ObjectList, items func() []T, holds func(T) bool, o ...client.ListOption) []reconcile.Request {
	if err := c.List(ctx, list, o...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing the objects to wake failed")
		return nil
	}
	var requests []reconcile.Request
	for _, item := range items() {
		if holds(item) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item)})
		}
	}
	return requests
}

// Pointers points to the items of a list, without copying them.
func Pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
