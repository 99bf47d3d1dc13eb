package cluster

import (
	"context"
	"errors"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// recall finds again, before a deletion, what a lost status said of networks: else an address or a rule of ours would stay where
// the network or the VPC is somebody else's. What is not found is no longer there.
func (r *Reconciler) recall(ctx context.Context, s *scope) error {
	return r.sideBySide(ctx, s, s.leaving(), func(domain string) error {
		known, done := s.c.Status.Domain(domain), false
		r.memo(s.key, func(m *memo) { done = m.recalled[domain] })
		if done {
			return nil
		}
		if known.Network == nil {
			if err := r.recallNetwork(ctx, s, known); err != nil {
				return err
			}
		}
		r.memo(s.key, func(m *memo) { m.recalled[domain] = true })
		return nil
	})
}

func (r *Reconciler) recallNetwork(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	n := s.specOf(known.Name).Zone.Network
	if n.VPC != nil && known.VPC == nil {
		if found, err := r.findVPC(ctx, s, known, n); err != nil || !found {
			return unlessLacking(err)
		}
		if err := r.awaitYoungVPC(ctx, s, known); err != nil {
			return err
		}
	}
	found, err := r.findNetwork(ctx, s, known, n)
	if err != nil || !found {
		return unlessLacking(err)
	}
	if b := s.balancerDomain(); b != nil && b.Name == known.Name && s.c.Status.LoadBalancer == nil {
		s.c.Status.LoadBalancer = &infrav1.LoadBalancerStatus{FailureDomain: known.Name, NetworkID: known.Network.ID}
		if s.c.Annotations[annotationAddresses] != "" && s.job(known.Name) == nil {
			s.begin(infrav1.JobAssociateAddress, unansweredIn(known.Name), known.Name, "") // one was being taken when the status was lost
		}
	}
	if known.Network.Type == isolated && !known.Network.Created && !inVPC(known) {
		return r.findEgress(ctx, s, known)
	}
	return nil
}

// awaitYoungVPC waits for the job that may still be at work on a VPC that was just made, as nobody knows its id any more: an address
// that is taken for a VPC on its way out is never given back.
func (r *Reconciler) awaitYoungVPC(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	if !known.VPC.Created {
		return nil
	}
	v, err := s.sessions[known.Name].FindVPC(ctx, ownerOf(known.Owner), known.VPC.ID)
	switch {
	case cloudstack.Is(err, cloudstack.NotFound):
		return nil
	case err != nil:
		return apiFailure("reading the VPC", err)
	case s.now.Sub(v.Created).Abs() >= r.options.Answer:
		return nil
	}
	known.VPC = nil // it is looked for again
	return &step.Waiting{
		Reason: infrav1.ReasonDeleting, After: ending.AnswerPoll,
		Message: "the VPC " + v.Name + " was made a moment ago; CloudStack may still be at work on it",
	}
}

// unlessLacking leaves the errors of calls, and not that something is not there, or not what is wanted.
func unlessLacking(err error) error {
	var call *cloudstack.Error
	if !errors.As(err, &call) || call.Kind == cloudstack.NotFound {
		return nil
	}
	return err
}
