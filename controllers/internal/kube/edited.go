package kube

import (
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Edited leaves out updates that changed nothing but the status. A reconciler that sees its own writes of the status comes
// back at once instead of after the pause that it asked for, and for ever where each of them writes something.
func Edited() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, now := e.ObjectOld, e.ObjectNew
		return old.GetResourceVersion() == now.GetResourceVersion() || // the informer shows everything again
			old.GetUID() != now.GetUID() ||
			old.GetGeneration() != now.GetGeneration() ||
			!old.GetDeletionTimestamp().Equal(now.GetDeletionTimestamp()) ||
			!reflect.DeepEqual(old.GetLabels(), now.GetLabels()) ||
			!reflect.DeepEqual(old.GetAnnotations(), now.GetAnnotations()) ||
			!reflect.DeepEqual(old.GetFinalizers(), now.GetFinalizers()) ||
			!reflect.DeepEqual(old.GetOwnerReferences(), now.GetOwnerReferences())
	}}
}
