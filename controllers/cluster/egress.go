package cluster

import (
	"context"
	"slices"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
)

// egress lets machines out of every isolated network that keeps traffic in, before the first of them boots.
func (r *Reconciler) egress(ctx context.Context, s *scope) error {
	whole := true
	err := r.sideBySide(ctx, s, names(s.known()), func(domain string) error {
		if s.c.Status.Domain(domain).Network == nil {
			whole = false
			return nil
		}
		return s.tolerate(domain, r.letOut(ctx, s, domain))
	})
	s.networked = err == nil && whole && s.setBack == nil
	return err
}

func (r *Reconciler) letOut(ctx context.Context, s *scope, domain string) error {
	known := s.c.Status.Domain(domain)
	net, err := r.facts(ctx, s, domain)
	if err != nil {
		return err
	}
	if net.Type != isolated || net.VPCID != "" || net.EgressAllowed || known.Network.Routed || !net.Offers("Firewall") {
		return nil
	}
	if len(known.Network.EgressRuleIDs) > 0 {
		if r.egressSeen(s, known) {
			return nil
		}
		s.repaired = "the egress rule of the network " + net.Name
		return r.findEgress(ctx, s, known)
	}
	var decided, fresh bool
	r.memo(s.key, func(m *memo) { decided, fresh = m.decided[net.ID], m.fresh[net.ID] })
	if decided && !r.abandoned(s, known) {
		return nil
	}
	if !fresh {
		if err := r.findEgress(ctx, s, known); err != nil || len(known.Network.EgressRuleIDs) > 0 {
			return err
		}
		r.memo(s.key, func(m *memo) { decided = m.decided[net.ID] })
		if decided {
			return nil
		}
	}
	return r.createEgress(ctx, s, known)
}

// abandoned tells whether those who let machines out of a network have taken their rules away, as a cluster does that is deleted:
// then ours is needed.
func (r *Reconciler) abandoned(s *scope, known *infrav1.ResolvedFailureDomain) bool {
	seen := s.sights[known.Name]
	if !seen.quick || slices.ContainsFunc(seen.Egress[known.Network.ID], func(f cloudstack.FirewallRule) bool { return !f.Deleting() }) {
		return false
	}
	s.repaired = "what lets machines out of the network " + known.Network.Name
	return true
}

// egressSeen tells whether our rules are there, as far as is known.
func (r *Reconciler) egressSeen(s *scope, known *infrav1.ResolvedFailureDomain) bool {
	seen := s.sights[known.Name]
	if !seen.slow {
		return true
	}
	return allOpen(seen.Egress[known.Network.ID], known.Network.EgressRuleIDs)
}

// allOpen tells whether all rules of those ids are there.
func allOpen(rules []cloudstack.FirewallRule, ids []string) bool {
	for _, id := range ids {
		if !slices.ContainsFunc(rules, func(f cloudstack.FirewallRule) bool { return f.ID == id && !f.Deleting() }) {
			return false
		}
	}
	return true
}

// findEgress records which rules are ours. Where others have rules on a network that was not made here, they decide.
func (r *Reconciler) findEgress(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	rules, err := s.sessions[known.Name].EgressRules(ctx, ownerOf(known.Owner), known.Network.ID)
	if err != nil {
		return apiFailure("listing the egress rules", err)
	}
	r.touch(s, known.Name)
	var ours []string
	others := false
	for _, f := range rules {
		switch {
		case f.Deleting():
		case s.oursByTag(f.Tags), slices.Contains(known.Network.EgressRuleIDs, f.ID), opensAll(f) && (known.Network.Created || s.adopting[known.Name] == infrav1.JobCreateEgressRule):
			ours = append(ours, f.ID)
		default:
			others = true
		}
	}
	slices.Sort(ours)
	known.Network.EgressRuleIDs = ours
	r.memo(s.key, func(m *memo) { m.decided[known.Network.ID] = others && !known.Network.Created && len(ours) == 0 })
	if len(ours) == 0 && s.repaired != "" && !(others && !known.Network.Created) {
		return r.createEgress(ctx, s, known)
	}
	return nil
}

func opensAll(f cloudstack.FirewallRule) bool {
	return f.Protocol == "all" && len(f.DestinationCIDRs) == 0
}

func (r *Reconciler) createEgress(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	return r.do(ctx, s, work{
		kind: infrav1.JobCreateEgressRule, domain: known.Name, doing: "letting machines out of the network " + known.Network.Name, reason: s.makes(),
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			return session.CreateEgressRule(ctx, cloudstack.FirewallRule{NetworkID: known.Network.ID, Protocol: "all"})
		},
		made: func(id string) {
			known.Network.EgressRuleIDs = append(known.Network.EgressRuleIDs, id)
			if !known.Network.Created {
				r.memo(s.key, func(m *memo) { m.untagged[id] = untagged{domain: known.Name, kind: cloudstack.TagsOfFirewallRule} })
			}
		},
		refused: func(err error) error {
			r.memo(s.key, func(m *memo) { delete(m.fresh, known.Network.ID) })
			if !cloudstack.Is(err, cloudstack.Conflict) {
				return apiFailure("letting machines out of the network", err)
			}
			return r.findEgress(ctx, s, known)
		},
	})
}

// makes is the reason while something is made: for the first time, or again.
func (s *scope) makes() string {
	if s.repaired != "" {
		return infrav1.ReasonRepairing
	}
	return infrav1.ReasonCreating
}
