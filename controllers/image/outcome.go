package image

import (
	"slices"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
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

// reasons are those of failed calls about templates.
func reasons() ending.Reasons {
	return ending.Reasons{
		cloudstack.Capacity: infrav1.ReasonQuotaExceeded, cloudstack.InUse: infrav1.ReasonInUse, cloudstack.Busy: infrav1.ReasonInUse,
		cloudstack.NotFound: infrav1.ReasonTemplateNotFound, cloudstack.Ambiguous: infrav1.ReasonTemplateAmbiguous,
	}
}

func apiFailure(doing string, err error) error { return reasons().Failure(doing, err) }

// searchFailure is apiFailure with a reason for things that are not there, or there several times.
func searchFailure(reason, doing string, err error) error {
	return reasons().Search(reason, reason, doing, err)
}
