package image

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
)

// announce tells of transitions, after they were saved.
func (r *Reconciler) announce(s *scope, outcome error) {
	if s.lost != "" {
		r.eventLost(s)
	}
	now, changed := kube.Transition(s.before.Status.Conditions, s.img.Status.Conditions, infrav1.ConditionReady)
	if !changed {
		return
	}
	var failed *step.Failed
	var terminal *step.Terminal
	if errors.As(outcome, &failed) || errors.As(outcome, &terminal) {
		r.eventFailed(s, now)
		return
	}
	r.eventProgress(s, now)
}

func (r *Reconciler) eventLost(s *scope) {
	kube.Event(r.recorder, s.img, corev1.EventTypeWarning, infrav1.ReasonTemplateLost, "Register",
		"The template "+s.lost+" vanished from CloudStack; the image is registered again")
}

func (r *Reconciler) eventFailed(s *scope, c metav1.Condition) {
	kube.Event(r.recorder, s.img, corev1.EventTypeWarning, c.Reason, "Import", c.Message)
}

func (r *Reconciler) eventProgress(s *scope, c metav1.Condition) {
	action := "Import"
	if s.deleting() {
		action = "Delete"
	}
	kube.Event(r.recorder, s.img, corev1.EventTypeNormal, c.Reason, action, c.Message)
}
