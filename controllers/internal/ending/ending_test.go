package ending_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
)

func refused(kind cloudstack.Kind) *cloudstack.Error {
	return &cloudstack.Error{Kind: kind, Command: "listZones", HTTP: 431, Text: "no"}
}

func TestFailure(t *testing.T) {
	own := ending.Reasons{cloudstack.Capacity: infrav1.ReasonOutOfCapacity}
	tests := map[string]struct {
		err    error
		search bool
		reason string
		after  time.Duration
	}{
		"a usual reason, for a person":     {err: refused(cloudstack.Unauthorized), reason: infrav1.ReasonCredentialsRefused, after: ending.Slow},
		"a reason of the controller":       {err: refused(cloudstack.Capacity), reason: infrav1.ReasonOutOfCapacity, after: ending.Slow},
		"what passes is left to the queue": {err: refused(cloudstack.Unavailable), reason: infrav1.ReasonAPIUnreachable},
		"the server names a time": {
			err:    &cloudstack.Error{Kind: cloudstack.Throttled, After: 7 * time.Second},
			reason: infrav1.ReasonThrottled, after: 7 * time.Second,
		},
		"a look that is refused": {err: refused(cloudstack.Invalid), reason: infrav1.ReasonRequestRefused, after: ending.Slow},
		"what the spec asks for is refused": {
			err:    &cloudstack.Error{Kind: cloudstack.Invalid, Command: "createNetwork", HTTP: 431},
			reason: infrav1.ReasonInvalidSpec, after: ending.Slow,
		},
		"something is in the way": {err: refused(cloudstack.Conflict), reason: infrav1.ReasonRequestRefused, after: ending.Slow},
		"unknown":                 {err: refused("Nonsense"), reason: infrav1.ReasonInternalError},
		"not found":               {err: refused(cloudstack.NotFound), search: true, reason: infrav1.ReasonZoneNotFound, after: ending.Slow},
		"found several times":     {err: refused(cloudstack.Ambiguous), search: true, reason: infrav1.ReasonZoneAmbiguous, after: ending.Slow},
		"a search that fails":     {err: refused(cloudstack.Unavailable), search: true, reason: infrav1.ReasonAPIUnreachable},
		"a cause that is wrapped": {err: fmt.Errorf("once: %w", refused(cloudstack.Quota)), reason: infrav1.ReasonQuotaExceeded, after: ending.Slow},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := own.Failure("listing", tc.err)
			if tc.search {
				got = own.Search(infrav1.ReasonZoneNotFound, infrav1.ReasonZoneAmbiguous, "listing", tc.err)
			}
			var failed *step.Failed
			if !errors.As(got, &failed) {
				t.Fatalf("outcome %v, want a failure", got)
			}
			if failed.Reason != tc.reason || failed.After != tc.after || !errors.Is(got, tc.err) {
				t.Errorf("outcome %q after %s because of %v, want %q after %s", failed.Reason, failed.After, failed.Err, tc.reason, tc.after)
			}
		})
	}
}

func TestWhileDeleting(t *testing.T) {
	for reason, want := range map[string]string{
		infrav1.ReasonRequestRefused: infrav1.ReasonDeletionBlocked, infrav1.ReasonInvalidSpec: infrav1.ReasonDeletionBlocked,
		infrav1.ReasonAPIUnreachable: infrav1.ReasonAPIUnreachable, infrav1.ReasonWaitingForExpunge: infrav1.ReasonWaitingForExpunge,
	} {
		if got := ending.WhileDeleting(reason); got != want {
			t.Errorf("%s is told as %s, want %s", reason, got, want)
		}
	}
}

func TestFailureOfSomethingElse(t *testing.T) {
	boom := errors.New("boom")
	got := ending.Reasons{}.Failure("listing", boom)
	var failed *step.Failed
	if errors.As(got, &failed) || !errors.Is(got, boom) || got.Error() != "listing: boom" {
		t.Errorf("outcome %v", got)
	}
}

func TestDescribe(t *testing.T) {
	tests := map[string]struct {
		err             error
		reason, message string
		blind           bool
	}{
		"waiting":              {err: &step.Waiting{Reason: "Creating", Message: "wait"}, reason: "Creating", message: "wait"},
		"failed":               {err: &step.Failed{Reason: "InUse", Message: "in use"}, reason: "InUse", message: "in use"},
		"failed for a cause":   {err: &step.Failed{Reason: "InUse", Err: errors.New("boom")}, reason: "InUse", message: "boom"},
		"unreachable":          {err: &step.Failed{Reason: infrav1.ReasonAPIUnreachable, Message: "down"}, reason: infrav1.ReasonAPIUnreachable, message: "down", blind: true},
		"throttled":            {err: &step.Failed{Reason: infrav1.ReasonThrottled, Message: "later"}, reason: infrav1.ReasonThrottled, message: "later", blind: true},
		"terminal":             {err: &step.Terminal{Reason: "TooLarge", Message: "3 TiB"}, reason: "TooLarge", message: "3 TiB"},
		"a call":               {err: fmt.Errorf("x: %w", refused(cloudstack.Quota)), reason: infrav1.ReasonQuotaExceeded, message: "x: " + refused(cloudstack.Quota).Error(), blind: true},
		"anything":             {err: errors.New("boom"), reason: infrav1.ReasonInternalError, message: "boom", blind: true},
		"a Secret that is not": {err: ending.Credentials(kube.ErrSecretNotFound), reason: infrav1.ReasonSecretNotFound, message: kube.ErrSecretNotFound.Error(), blind: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			reason, message := ending.Reasons{}.Describe(tc.err)
			if reason != tc.reason || message != tc.message {
				t.Errorf("%q %q, want %q %q", reason, message, tc.reason, tc.message)
			}
			if got := ending.Blind(tc.err); got != tc.blind {
				t.Errorf("blind %t, want %t", got, tc.blind)
			}
		})
	}
	if ending.Blind(nil) || ending.IsFailure(nil) {
		t.Error("no outcome is a failure")
	}
}

func TestPutCutsLongMessages(t *testing.T) {
	var got []metav1.Condition
	ending.Put(&got, metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Long", Message: strings.Repeat("ü", ending.LongestMessage)})
	if n := len(got[0].Message); n > ending.LongestMessage || !strings.HasSuffix(got[0].Message, "ü...") {
		t.Errorf("%d bytes, ending with %q", n, got[0].Message[n-8:])
	}
	if diff := cmp.Diff("Ready", got[0].Type); diff != "" {
		t.Error(diff)
	}
}
