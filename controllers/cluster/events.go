package cluster

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
	now, changed := kube.Transition(s.before.Status.Conditions, s.c.Status.Conditions, infrav1.ConditionReady)
	if !changed {
		return
	}
	kind, action, note := corev1.EventTypeNormal, "Provision", now.Message
	if isFailure(outcome) {
		kind = corev1.EventTypeWarning
	}
	if s.deleting() {
		action = "Delete"
	}
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote], "") + "..."
	}
	r.recorder.Eventf(s.c, nil, kind, now.Reason, action, "%s", note)
}
