package cluster

import (
	"errors"
	"fmt"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
)

// Pauses between two tries or looks.
const (
	// slow is for what a person has to change.
	slow = 5 * time.Minute
	// again is for what CloudStack failed to do.
	again = 20 * time.Second
	// answerPoll is for things that may turn up.
	answerPoll = 5 * time.Second
	// jobPoll is for jobs, should no wake-up come.
	jobPoll = time.Minute
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
		return infrav1.ReasonAddressesExhausted
	case cloudstack.ZoneDisabled:
		return infrav1.ReasonZoneDisabled
	case cloudstack.Throttled, cloudstack.Unavailable, cloudstack.LostReply:
		return infrav1.ReasonAPIUnreachable
	case cloudstack.Invalid:
		return infrav1.ReasonInvalidSpec
	case cloudstack.Conflict:
		return infrav1.ReasonPortTaken
	case cloudstack.InUse:
		return infrav1.ReasonInUse
	case cloudstack.Busy:
		return infrav1.ReasonWaitingForJob
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

// isFailure tells whether an outcome is one that people should be warned of.
func isFailure(err error) bool {
	var waiting *step.Waiting
	return err != nil && !errors.As(err, &waiting)
}

func outcomeText(o cloudstack.Outcome) string {
	if o.Err == nil {
		return "CloudStack forgot the job"
	}
	return o.Err.Error()
}
