package machine

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/kube"
)

// maxNote is what an event takes.
const maxNote = 1000

// announce tells of transitions, after they were saved.
func (r *Reconciler) announce(s *scope, outcome error) {
	for _, warning := range s.warnings {
		r.event(s, corev1.EventTypeWarning, infrav1.ReasonDeprecated, "Resolve", warning)
	}
	now, changed := kube.Transition(s.before.Status.Conditions, s.m.Status.Conditions, infrav1.ConditionReady)
	if !changed {
		return
	}
	kind := corev1.EventTypeNormal
	if isFailure(outcome) {
		kind = corev1.EventTypeWarning
	}
	action := "Provision"
	if s.deleting() {
		action = "Delete"
	}
	r.event(s, kind, now.Reason, action, now.Message)
}

func (r *Reconciler) event(s *scope, kind, reason, action, note string) {
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote], "") + "..."
	}
	r.recorder.Eventf(s.m, nil, kind, reason, action, "%s", note)
}
