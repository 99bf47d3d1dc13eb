package cluster

import (
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/kube"
)

// announce tells of transitions, after they were saved.
func (r *Reconciler) announce(s *scope, outcome error) {
	now, changed := kube.Transition(s.before.Status.Conditions, s.c.Status.Conditions, infrav1.ConditionReady)
	if !changed {
		return
	}
	kind, action := corev1.EventTypeNormal, "Provision"
	if ending.IsFailure(outcome) {
		kind = corev1.EventTypeWarning
	}
	if s.deleting() {
		action = "Delete"
	}
	kube.Event(r.recorder, s.c, kind, now.Reason, action, now.Message)
}
