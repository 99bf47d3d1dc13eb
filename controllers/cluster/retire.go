package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// leaving are the failure domains whose things are to go: all of a cluster that is being deleted, else those that retire
// found to be neither wanted nor used any more.
func (s *scope) leaving() []string {
	var out []string
	for _, d := range s.c.Status.Resolved {
		if s.deleting() || slices.Contains(s.retired, d.Name) {
			out = append(out, d.Name)
		}
	}
	return out
}

// retire gives back what was made in failure domains that the spec no longer has, once no machine is there any more.
func (r *Reconciler) retire(ctx context.Context, s *scope) error {
	unwanted := slices.DeleteFunc(slices.Clone(s.c.Status.Resolved), func(d infrav1.ResolvedFailureDomain) bool {
		return slices.ContainsFunc(s.known(), func(w infrav1.FailureDomainSpec) bool { return w.Name == d.Name })
	})
	if len(unwanted) == 0 || len(s.known()) == 0 {
		return nil
	}
	machines, err := r.machines(ctx, s)
	if err != nil {
		return err
	}
	for _, d := range unwanted {
		switch {
		case s.c.Status.LoadBalancer != nil && s.c.Status.LoadBalancer.FailureDomain == d.Name:
			s.setBackBy(ending.Lacking(infrav1.ReasonInvalidSpec,
				"the failure domain %s holds the public address of the API and cannot go: put it back into spec.failureDomains", d.Name))
		case slices.ContainsFunc(machines, func(m infrav1.CloudStackMachine) bool { return isIn(&m, d.Name) }):
			s.remark = fmt.Sprintf("the failure domain %s goes when its last machine has", d.Name)
		case s.sessions[d.Name] != nil:
			s.retired = append(s.retired, d.Name)
		}
	}
	if len(s.retired) == 0 {
		return nil
	}
	err = step.Run(ctx, s, r.closeEgress, r.removeNetworks, r.removeVPCs)
	var waiting *step.Waiting
	switch {
	case errors.As(err, &waiting) && waiting.Reason == infrav1.ReasonWaitingForExpunge:
		s.remark, s.again = waiting.Message, waiting.After
		return nil
	case ending.IsFailure(err):
		s.setBackBy(err)
		return nil
	case err != nil:
		return err
	}
	for _, name := range s.retired {
		s.sessions[name].UnwatchNetwork(s.watchKey(name))
	}
	s.c.Status.Resolved = slices.DeleteFunc(s.c.Status.Resolved, func(d infrav1.ResolvedFailureDomain) bool {
		return slices.Contains(s.retired, d.Name)
	})
	return nil
}

// isIn tells whether a machine is in a failure domain, or is on its way there.
func isIn(m *infrav1.CloudStackMachine, domain string) bool {
	return m.Status.FailureDomain == domain || m.Spec.FailureDomainName == domain || m.Status.Resolved != nil && m.Status.Resolved.FailureDomain == domain
}

// machines lists the machines of the cluster.
func (r *Reconciler) machines(ctx context.Context, s *scope) ([]infrav1.CloudStackMachine, error) {
	var list infrav1.CloudStackMachineList
	err := r.client.List(ctx, &list, client.InNamespace(s.key.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: s.clusterName()})
	if err != nil {
		return nil, fmt.Errorf("listing the machines: %w", err)
	}
	return list.Items, nil
}
