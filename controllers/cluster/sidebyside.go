package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// sideBySide does one step of work in each failure domain and goes on with the next where it waits for a job or failed, so
// that their jobs are under way at the same time. What each began is saved before the next is worked on. A conflict ends it.
func (r *Reconciler) sideBySide(ctx context.Context, s *scope, domains []string, work func(domain string) error) error {
	var outcomes []error
	for _, domain := range domains {
		if len(outcomes) > 0 {
			if err := s.saver.Status(ctx, s.c); err != nil {
				return err
			}
		}
		err := work(domain)
		switch {
		case apierrors.IsConflict(err):
			return err
		case err != nil:
			outcomes = append(outcomes, err)
		}
	}
	return together(outcomes)
}

// together makes one outcome of several: what is unexpected, else the failures, else the first wait. It is looked at again when
// the first of them is to be.
func together(outcomes []error) error {
	if len(outcomes) < 2 {
		return errors.Join(outcomes...)
	}
	var unexpected, causes []error
	var failed *step.Failed
	var wait *step.Waiting
	var texts []string
	var pauses []time.Duration
	for _, outcome := range outcomes {
		var f *step.Failed
		var w *step.Waiting
		switch {
		case errors.As(outcome, &f):
			if failed == nil {
				failed = f
			}
			texts, causes, pauses = append(texts, f.Message), append(causes, f.Err), append(pauses, f.After)
		case errors.As(outcome, &w):
			if wait == nil {
				wait = w
			}
			if w.After > 0 {
				pauses = append(pauses, w.After)
			}
		default:
			unexpected = append(unexpected, outcome)
		}
	}
	switch {
	case len(unexpected) > 0:
		return errors.Join(unexpected...)
	case failed != nil:
		return &step.Failed{Reason: failed.Reason, Message: strings.Join(slices.Compact(texts), "; "), After: slices.Min(pauses), Err: errors.Join(causes...)}
	case len(pauses) == 0:
		return wait
	}
	return &step.Waiting{Reason: wait.Reason, Message: wait.Message, After: slices.Min(pauses)}
}

// besides has changes in a network or a VPC wait for a job that works there for another failure domain.
func (s *scope) besides(domain string) error {
	mine := s.c.Status.Domain(domain)
	for _, j := range s.c.Status.Jobs {
		if j.FailureDomain != domain && !isUnanswered(j) && sharing(mine, s.c.Status.Domain(j.FailureDomain)) {
			return &step.Waiting{
				Reason: infrav1.ReasonWaitingForJob, After: ending.JobPoll,
				Message: "the job " + string(j.Kind) + " of the failure domain " + j.FailureDomain + " works in the same network",
			}
		}
	}
	return nil
}

// sharing tells whether two failure domains are in one network or one VPC.
func sharing(a, b *infrav1.ResolvedFailureDomain) bool {
	if a == nil || b == nil {
		return false
	}
	return a.Network != nil && b.Network != nil && a.Network.ID == b.Network.ID || a.VPC != nil && b.VPC != nil && a.VPC.ID == b.VPC.ID
}

// names are those of failure domains.
func names(domains []infrav1.FailureDomainSpec) []string {
	var out []string
	for _, d := range domains {
		out = append(out, d.Name)
	}
	return out
}
