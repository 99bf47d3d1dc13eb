package image

import (
	"errors"
	"fmt"
	"slices"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
	"github.com/capcat/capcat/imagecatalog/artifact"
)

// Pauses between two tries.
const (
	pauseSlow    = 10 * time.Minute
	pauseFirst   = 30 * time.Second
	pauseLongest = time.Hour
)

// pauseAfter is how long a failed import rests. forever means until the spec changes.
func pauseAfter(reason string, attempts int32) (pause time.Duration, forever bool) {
	switch {
	case slices.Contains(terminalReasons(), reason):
		return 0, true
	case slices.Contains(slowReasons(), reason):
		return pauseSlow, false
	}
	pause = pauseFirst
	for range min(max(attempts-1, 0), 10) {
		pause *= 2
	}
	return min(pause, pauseLongest), false
}

// terminalReasons are proven to stay until the spec changes.
func terminalReasons() []string {
	return []string{
		infrav1.ReasonInvalidSpec, infrav1.ReasonContentRejected, infrav1.ReasonContentMismatch, infrav1.ReasonContentChanged,
		infrav1.ReasonChecksumMismatch, infrav1.ReasonWeakChecksum, infrav1.ReasonTooLarge, infrav1.ReasonSourceInvalid,
		infrav1.ReasonChecksumUnavailable,
	}
}

// slowReasons change when a person does something, not by trying often.
func slowReasons() []string {
	return []string{
		infrav1.ReasonSourceForbidden, infrav1.ReasonSourceMissing, infrav1.ReasonSourceRedirects, infrav1.ReasonNotPermitted,
		infrav1.ReasonQuotaExceeded, infrav1.ReasonZoneDisabled, infrav1.ReasonDeliveryImpossible, infrav1.ReasonDiskFull,
	}
}

// fail records that this import failed, so that it rests even over a restart, and gives the outcome of the reconcile.
func (s *scope) fail(reason, message string, cause error) error {
	s.judged = true
	s.renew(infrav1.PhaseFailed)
	pause, forever := pauseAfter(reason, s.img.Status.Attempts)
	if forever {
		return &step.Terminal{Reason: reason, Message: message, Err: cause}
	}
	return &step.Failed{Reason: reason, Message: message, After: pause, Err: cause}
}

// importReason turns the code of a failed import into a condition reason.
func importReason(code artifact.Code) string {
	switch code {
	case artifact.ChecksumMismatch:
		return infrav1.ReasonChecksumMismatch
	case artifact.BadChecksumForm, artifact.NoChecksum, artifact.InvalidURL:
		return infrav1.ReasonInvalidSpec
	case artifact.NoEntry, artifact.NotAChecksumFile:
		return infrav1.ReasonChecksumUnavailable
	case artifact.WeakAlgorithm:
		return infrav1.ReasonWeakChecksum
	case artifact.SourceBlocked, artifact.SourceForbidden:
		return infrav1.ReasonSourceForbidden
	case artifact.SourceMissing:
		return infrav1.ReasonSourceMissing
	case artifact.SourceRedirects:
		return infrav1.ReasonSourceRedirects
	case artifact.SourceEncoded:
		return infrav1.ReasonSourceInvalid
	case artifact.SourceInterrupted, artifact.SourceStalled, artifact.SourceTLS, artifact.SourceUnreachable,
		artifact.SourceUnresolvable, artifact.SourceRefused:
		return infrav1.ReasonSourceUnreachable
	case artifact.TooLarge:
		return infrav1.ReasonTooLarge
	case artifact.NoSpace:
		return infrav1.ReasonDiskFull
	case artifact.Canceled, artifact.StoreFailed, "":
		return infrav1.ReasonInternalError
	}
	return infrav1.ReasonContentRejected
}

// kindReason turns the kind of a failed API call into a condition reason.
func kindReason(kind cloudstack.Kind) string {
	switch kind {
	case cloudstack.Unauthorized:
		return infrav1.ReasonCredentialsRefused
	case cloudstack.NotPermitted, cloudstack.Forbidden:
		return infrav1.ReasonNotPermitted
	case cloudstack.Quota, cloudstack.Capacity:
		return infrav1.ReasonQuotaExceeded
	case cloudstack.ZoneDisabled:
		return infrav1.ReasonZoneDisabled
	case cloudstack.InUse, cloudstack.Busy:
		return infrav1.ReasonInUse
	case cloudstack.NotFound:
		return infrav1.ReasonTemplateNotFound
	case cloudstack.Ambiguous:
		return infrav1.ReasonTemplateAmbiguous
	case cloudstack.Invalid:
		return infrav1.ReasonInvalidSpec
	case cloudstack.Throttled, cloudstack.Unavailable, cloudstack.LostReply:
		return infrav1.ReasonAPIUnreachable
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
		failed.After = pauseSlow / 2
	}
	return failed
}

// apiFailureAs is apiFailure with a reason for things that are not there.
func apiFailureAs(reason, doing string, err error) error {
	out := apiFailure(doing, err)
	var failed *step.Failed
	if (cloudstack.Is(err, cloudstack.NotFound) || cloudstack.Is(err, cloudstack.Ambiguous)) && errors.As(out, &failed) {
		failed.Reason = reason
	}
	return out
}

// credentialsReason tells what is wrong with the identity Secret; "" when it is something else.
func credentialsReason(err error) string {
	switch {
	case errors.Is(err, kube.ErrSecretNotFound):
		return infrav1.ReasonSecretNotFound
	case errors.Is(err, kube.ErrSecretInvalid):
		return infrav1.ReasonSecretInvalid
	}
	return ""
}
