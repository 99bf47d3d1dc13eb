package kube

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watched says whether an object is of those that a manager with this watch filter is for; an empty filter takes all.
// Predicates see only the object's own events: what another object wakes has to be asked again when it is read.
func Watched(obj client.Object, filter string) bool {
	return filter == "" || obj.GetLabels()[clusterv1.WatchLabel] == filter
}
