package image

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// observe computes the conditions from what the phases saw and from the error that ended them, nowhere else.
func observe(s *scope, outcome error) {
	st := &s.img.Status
	st.ObservedGeneration = s.img.Generation
	if st.Progress == nil {
		s.enter(infrav1.PhasePending)
	}
	reason, message := reasonOf(outcome)
	if s.deleting() {
		reason = ending.WhileDeleting(reason)
	}
	s.set(infrav1.ConditionFetched, st.ContentDigest != "" || s.adopted, doneReason(s), reason, message)
	verified, verdict, remark := s.verification(reason, message)
	s.put(infrav1.ConditionVerified, verified, verdict, remark)
	s.set(infrav1.ConditionRegistered, st.TemplateID != "", doneReason(s), reason, message)
	s.observeReady(outcome, reason, message)
}

// observeReady sets the condition that summarises. A ready template stays ready while we merely cannot look at it.
func (s *scope) observeReady(outcome error, reason, message string) {
	was := readyCondition(s.before)
	wasReady := was != nil && was.Status == metav1.ConditionTrue
	switch {
	case s.deleting():
		if s.kept && s.released {
			reason, message = infrav1.ReasonRetained, "the template stays in CloudStack"
		}
		s.put(infrav1.ConditionReady, metav1.ConditionFalse, reason, message)
	case reason == infrav1.ReasonReady:
		s.put(infrav1.ConditionReady, metav1.ConditionTrue, readyReason(s), message+s.notes())
	case was != nil && resting(s.before) && !s.judged && blind(outcome):
		return
	case wasReady && (blind(outcome) || reason == infrav1.ReasonSuspended || reason == infrav1.ReasonPaused):
		return
	default:
		s.put(infrav1.ConditionReady, metav1.ConditionFalse, reason, message+s.notes())
	}
}

// resting tells whether the image failed before, so that its condition says why and for how long it rests.
func resting(img *infrav1.CloudStackImage) bool {
	p := img.Status.Progress
	return p != nil && p.Phase == infrav1.PhaseFailed
}

// blind tells whether an outcome says nothing about the template: the cloud or Kubernetes could not be asked.
func blind(outcome error) bool {
	var waiting *step.Waiting
	var terminal *step.Terminal
	var failed *step.Failed
	switch {
	case errors.As(outcome, &waiting), errors.As(outcome, &terminal):
		return false
	case errors.As(outcome, &failed):
		kind := cloudstack.KindOf(failed)
		return kind != "" && kind != cloudstack.NotFound || ending.SecretReason(failed) != ""
	}
	return outcome != nil
}

func readyReason(s *scope) string {
	if s.adopted {
		return infrav1.ReasonAdopted
	}
	return infrav1.ReasonReady
}

func doneReason(s *scope) string {
	if s.adopted {
		return infrav1.ReasonAdopted
	}
	return infrav1.ReasonReady
}

// verification tells what vouches for the image.
func (s *scope) verification(reason, message string) (metav1.ConditionStatus, string, string) {
	switch {
	case s.adopted && s.img.Status.ContentDigest == "":
		return metav1.ConditionUnknown, infrav1.ReasonAdopted, "the template was named by a person and is used as it is"
	case s.img.Status.ContentDigest == "":
		return metav1.ConditionFalse, reason, message
	}
	warning := ""
	if code := s.img.Status.ContentCode; code != "" {
		warning = "; the inspector warns of " + code
	}
	if source := s.img.Spec.Source; source != nil {
		switch {
		case source.Checksum.InsecureSkip:
			return metav1.ConditionTrue, infrav1.ReasonChecksumSkipped, "nothing vouches for the source: checksum.insecureSkip is set" + warning
		case s.weak(source.Checksum):
			return metav1.ConditionTrue, infrav1.ReasonWeakChecksum,
				"no more than MD5 or SHA-1 is known to vouch for the source: checksum.allowWeak is set" + warning
		}
	}
	return metav1.ConditionTrue, infrav1.ReasonReady, "digest and content are verified" + warning
}

// weak tells whether what proved the bytes can be forged. Which digest of a checksum file that was only the import knows;
// afterwards the condition remembers it, and when the status is lost, the spec tells what may have been.
func (s *scope) weak(c infrav1.Checksum) bool {
	if s.result != nil {
		return s.result.WeakChecksum
	}
	was := meta.FindStatusCondition(s.before.Status.Conditions, infrav1.ConditionVerified)
	if was != nil && was.Status == metav1.ConditionTrue {
		return was.Reason == infrav1.ReasonWeakChecksum
	}
	return c.AllowWeak && (c.Algorithm == "md5" || c.Algorithm == "sha1" || c.URL != "" && c.Algorithm == "")
}

// notes are added to the message: things a person should know and that are no failure.
func (s *scope) notes() string {
	var notes []string
	if len(s.duplicates) > 0 {
		ids := slices.Clone(s.duplicates)
		slices.Sort(ids)
		notes = append(notes, fmt.Sprintf("more templates carry the mark of this image and are left alone: %s (in use is %s)",
			strings.Join(ids, ", "), s.img.Status.TemplateID))
	}
	if s.lost != "" {
		notes = append(notes, "the template "+s.lost+" vanished from CloudStack, so the image is registered again")
	}
	if len(notes) == 0 {
		return ""
	}
	return "; " + strings.Join(notes, "; ")
}

// set is put for conditions that are either done or stand as the outcome says.
func (s *scope) set(conditionType string, done bool, doneReason, reason, message string) {
	if done {
		s.put(conditionType, metav1.ConditionTrue, doneReason, "")
		return
	}
	s.put(conditionType, metav1.ConditionFalse, reason, message)
}

func (s *scope) put(conditionType string, status metav1.ConditionStatus, reason, message string) {
	ending.Put(&s.img.Status.Conditions, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: s.img.Generation,
		LastTransitionTime: metav1.NewTime(s.now),
	})
}

// reasonOf gives condition reason and message for the outcome of a reconcile.
func reasonOf(outcome error) (reason, message string) {
	if outcome == nil {
		return infrav1.ReasonDeleting, "nothing is left in CloudStack"
	}
	return reasons().Describe(outcome)
}

func readyCondition(img *infrav1.CloudStackImage) *metav1.Condition {
	return meta.FindStatusCondition(img.Status.Conditions, infrav1.ConditionReady)
}
