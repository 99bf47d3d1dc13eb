package cluster

import (
	"context"
	"errors"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
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
	}
	found, err := r.findNetwork(ctx, s, known, n)
	if err != nil || !found {
		return unlessLacking(err)
	}
	if b := s.balancerDomain(); b != nil && b.Name == known.Name && s.c.Status.LoadBalancer == nil {
		s.c.Status.LoadBalancer = &infrav1.LoadBalancerStatus{FailureDomain: known.Name, NetworkID: known.Network.ID}
	}
	if known.Network.Type == isolated && !known.Network.Created && !inVPC(known) {
		return r.findEgress(ctx, s, known)
	}
	return nil
}

// unlessLacking leaves the errors of calls, and not that something is not there, or not what is wanted.
func unlessLacking(err error) error {
	var call *cloudstack.Error
	if !errors.As(err, &call) || call.Kind == cloudstack.NotFound {
		return nil
	}
	return err
}
