package ending

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
)

// Pauses between two tries or looks.
const (
	// Slow is for what a person has to change.
	Slow = 5 * time.Minute
	// JobPoll is for jobs, should no wake-up come.
	JobPoll = time.Minute
	// AnswerPoll is for things that may turn up after a call that got no answer.
	AnswerPoll = 5 * time.Second
	// AtOnce ends a reconcile that is to go on with what it has saved.
	AtOnce = time.Millisecond
)

// Reasons are the condition reasons that kinds of failed calls have in one controller, where they are not the usual ones.
type Reasons map[cloudstack.Kind]string

// Of turns the kind of a failed call into a condition reason.
func (r Reasons) Of(kind cloudstack.Kind) string {
	if reason := r[kind]; reason != "" {
		return reason
	}
	switch kind {
	case cloudstack.Unauthorized:
		return infrav1.ReasonCredentialsRefused
	case cloudstack.NotPermitted, cloudstack.Forbidden:
		return infrav1.ReasonNotPermitted
	case cloudstack.Quota:
		return infrav1.ReasonQuotaExceeded
	case cloudstack.ZoneDisabled:
		return infrav1.ReasonZoneDisabled
	case cloudstack.Invalid:
		return infrav1.ReasonInvalidSpec
	case cloudstack.NotFound, cloudstack.Ambiguous, cloudstack.Conflict, cloudstack.InUse, cloudstack.Busy:
		return infrav1.ReasonRequestRefused
	case cloudstack.Throttled:
		return infrav1.ReasonThrottled
	case cloudstack.Unavailable, cloudstack.LostReply:
		return infrav1.ReasonAPIUnreachable
	}
	return infrav1.ReasonInternalError
}

// OfCall is Of for a failed call: what makes nothing is not refused for what the spec asks for.
func (r Reasons) OfCall(e *cloudstack.Error) string {
	if e.Kind == cloudstack.Invalid && !makes(e.Command) {
		return infrav1.ReasonRequestRefused
	}
	return r.Of(e.Kind)
}

func makes(command string) bool {
	return slices.ContainsFunc([]string{"create", "deploy", "associate", "register", "add", "getUploadParams"}, func(verb string) bool {
		return strings.HasPrefix(command, verb)
	})
}

// WhileDeleting is the reason for an object that is being deleted: whatever CloudStack refuses then keeps it from going, and
// none of it is for its spec to correct.
func WhileDeleting(reason string) string {
	switch reason {
	case infrav1.ReasonRequestRefused, infrav1.ReasonInvalidSpec, infrav1.ReasonDeployRefused, infrav1.ReasonOutOfCapacity, infrav1.ReasonAddressesExhausted,
		infrav1.ReasonQuotaExceeded, infrav1.ReasonPortTaken:
		return infrav1.ReasonDeletionBlocked
	}
	return reason
}

// Failure gives the outcome of a reconcile that a failed call ends: what passes by itself is left to the backoff of the
// queue, everything else is tried again after minutes. doing says what was called for.
func (r Reasons) Failure(doing string, err error) error {
	var e *cloudstack.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	failed := &step.Failed{Reason: r.OfCall(e), Message: doing + ": " + e.Error(), Err: err}
	switch {
	case e.After > 0:
		failed.After = e.After
	case e.Retry() != cloudstack.RetryBackoff:
		failed.After = Slow
	}
	return failed
}

// Search is Failure for a call that looks for something, with the reasons for what is not there, or there several times.
func (r Reasons) Search(missing, several, doing string, err error) error {
	out := r.Failure(doing, err)
	var failed *step.Failed
	if !errors.As(out, &failed) {
		return out
	}
	switch cloudstack.KindOf(err) {
	case cloudstack.NotFound, cloudstack.Invalid:
		failed.Reason = missing
	case cloudstack.Ambiguous:
		failed.Reason = several
	}
	return out
}

// Lacking is the outcome for something that a person has to provide or to name otherwise.
func Lacking(reason, format string, args ...any) error {
	return &step.Failed{Reason: reason, Message: fmt.Sprintf(format, args...), After: Slow}
}

// SecretReason tells what is wrong with the identity Secret; "" when the error is another one, or none.
func SecretReason(err error) string {
	switch {
	case errors.Is(err, kube.ErrSecretNotFound):
		return infrav1.ReasonSecretNotFound
	case errors.Is(err, kube.ErrSecretInvalid):
		return infrav1.ReasonSecretInvalid
	}
	return ""
}

// Credentials is the outcome for an identity Secret that cannot be used; every other error comes back as it is. The watch
// on Secrets wakes the object; the time is for those that were created while nobody looked.
func Credentials(err error) error {
	if reason := SecretReason(err); reason != "" {
		return &step.Failed{Reason: reason, Message: err.Error(), After: Slow, Err: err}
	}
	return err
}

// Session is the outcome for credentials that no session can be made of.
func Session(err error) error {
	return &step.Failed{Reason: infrav1.ReasonSecretInvalid, Message: err.Error(), After: Slow, Err: err}
}

// JobText tells why a job failed.
func JobText(o cloudstack.Outcome) string {
	if o.Err == nil {
		return "CloudStack forgot the job"
	}
	return o.Err.Error()
}
