package machine

import (
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/kube"
)

// announce tells of transitions, after they were saved.
func (r *Reconciler) announce(s *scope, outcome error) {
	for _, warning := range s.warnings {
		kube.Event(r.recorder, s.m, corev1.EventTypeWarning, infrav1.ReasonDeprecated, "Resolve", warning)
	}
	now, changed := kube.Transition(s.before.Status.Conditions, s.m.Status.Conditions, infrav1.ConditionReady)
	if !changed {
		return
	}
	kind := corev1.EventTypeNormal
	if ending.IsFailure(outcome) || now.Reason == infrav1.ReasonKubeletVersionMismatch {
		kind = corev1.EventTypeWarning
	}
	action := "Provision"
	if s.deleting() {
		action = "Delete"
	}
	kube.Event(r.recorder, s.m, kind, now.Reason, action, now.Message)
}
