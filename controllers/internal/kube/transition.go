package kube

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Transition tells whether status or reason of a condition differ between two sets, and how it stands now. A condition
// that is no longer there is no transition.
func Transition(before, now []metav1.Condition, conditionType string) (metav1.Condition, bool) {
	current := meta.FindStatusCondition(now, conditionType)
	if current == nil {
		return metav1.Condition{}, false
	}
	old := meta.FindStatusCondition(before, conditionType)
	if old != nil && old.Status == current.Status && old.Reason == current.Reason {
		return *current, false
	}
	return *current, true
}
