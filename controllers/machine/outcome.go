package machine

import (
	"errors"
	"fmt"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
	"github.com/capcat/capcat/imagecatalog"
)

// Pauses between two tries or looks.
const (
	// slow is for what a person has to change.
	slow = 5 * time.Minute
	// answerPoll is for VMs that may turn up.
	answerPoll = 5 * time.Second
	// jobPoll is for jobs, should no wake-up come.
	jobPoll = time.Minute
	// statePoll is for VMs on their way to another state by no job of ours.
	statePoll = 15 * time.Second
	// atOnce ends a reconcile that is to go on with what it has saved.
	atOnce = time.Millisecond
)

// kindReason turns the kind of a failed API call into a condition reason.
func kindReason(kind cloudstack.Kind) string {
	switch kind {
	case cloudstack.Unauthorized:
		return infrav1.ReasonCredentialsRefused
	case cloudstack.NotPermitted, cloudstack.Forbidden:
		return infrav1.ReasonNotPermitted
	case cloudstack.Quota:
		return infrav1.ReasonQuotaExceeded
	case cloudstack.Capacity:
		return infrav1.ReasonOutOfCapacity
	case cloudstack.ZoneDisabled:
		return infrav1.ReasonZoneDisabled
	case cloudstack.Throttled, cloudstack.Unavailable, cloudstack.LostReply:
		return infrav1.ReasonAPIUnreachable
	case cloudstack.Invalid, cloudstack.NotFound, cloudstack.Ambiguous, cloudstack.Conflict, cloudstack.InUse, cloudstack.Busy:
		return infrav1.ReasonDeployRefused
	}
	return infrav1.ReasonInternalError
}

// apiFailure gives the outcome of a reconcile that a failed API call ends: what passes by itself is left to the backoff of
// the queue, everything else is tried again after minutes.
func apiFailure(doing string, err error) error {
	var e *cloudstack.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	failed := &step.Failed{Reason: kindReason(e.Kind), Message: doing + ": " + e.Error(), Err: err}
	switch {
	case e.After > 0:
		failed.After = e.After
	case e.Retry() != cloudstack.RetryBackoff:
		failed.After = slow
	}
	return failed
}

// apiFailureAs is apiFailure with a reason for things that are not there.
func apiFailureAs(reason, doing string, err error) error {
	return apiFailureAmong(reason, reason, doing, err)
}

// apiFailureAmong is apiFailure with reasons for things that are not there and for those that are there several times.
func apiFailureAmong(missing, several, doing string, err error) error {
	out := apiFailure(doing, err)
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

// lacking is the outcome for something that a person has to provide or to name otherwise.
func lacking(reason, format string, args ...any) error {
	return &step.Failed{Reason: reason, Message: fmt.Sprintf(format, args...), After: slow}
}

// sizeFailure turns a refusal of the rules for offerings into an outcome.
func sizeFailure(err error) error {
	var e *imagecatalog.SizeError
	if errors.As(err, &e) {
		return &step.Failed{Reason: e.Reason, Message: e.Message, After: slow, Err: err}
	}
	return fmt.Errorf("choosing the offering: %w", err)
}

// credentialsFailure tells what is wrong with the identity Secret; every other error comes back as it is.
func credentialsFailure(err error) error {
	switch {
	case errors.Is(err, kube.ErrSecretNotFound):
		return &step.Failed{Reason: infrav1.ReasonSecretNotFound, Message: err.Error(), After: slow, Err: err}
	case errors.Is(err, kube.ErrSecretInvalid):
		return &step.Failed{Reason: infrav1.ReasonSecretInvalid, Message: err.Error(), After: slow, Err: err}
	}
	return err
}
