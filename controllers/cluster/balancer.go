package cluster

import (
	"context"
	"slices"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// wantedRules are the rules that the load balancer must have, that of the API first. The API server listens on the port that
// the Cluster tells, whatever port is published.
func (s *scope) wantedRules() []infrav1.LoadBalancerRuleStatus {
	api := infrav1.LoadBalancerRuleStatus{Name: infrav1.APIRuleName, PublicPort: infrav1.DefaultAPIPort, PrivatePort: infrav1.DefaultAPIPort}
	if port := s.c.Spec.ControlPlaneEndpoint.Port; port != 0 {
		api.PublicPort = port
	}
	if s.cluster != nil && s.cluster.Spec.ClusterNetwork.APIServerPort != 0 {
		api.PrivatePort = s.cluster.Spec.ClusterNetwork.APIServerPort
	}
	rules := []infrav1.LoadBalancerRuleStatus{api}
	if b := s.c.Spec.ControlPlaneLoadBalancer; b != nil {
		for _, p := range b.AdditionalPorts {
			name := p.Name
			if name == infrav1.APIRuleName {
				name += "-2"
			}
			rules = append(rules, infrav1.LoadBalancerRuleStatus{Name: name, PublicPort: p.Port, PrivatePort: p.Port})
		}
	}
	return rules
}

// algorithm is that of the spec in CloudStack's spelling.
func (s *scope) algorithm() string {
	if b := s.c.Spec.ControlPlaneLoadBalancer; b != nil {
		switch b.Algorithm {
		case infrav1.AlgorithmLeastConnections:
			return "leastconn"
		case infrav1.AlgorithmSource:
			return "source"
		}
	}
	return "roundrobin"
}

// holdsAddress tells whether rules can be made.
func (s *scope) holdsAddress() bool {
	lb := s.c.Status.LoadBalancer
	return lb != nil && lb.PublicIPID != "" && lb.PublicIP != "" && s.c.Spec.ControlPlaneLoadBalancer.IsEnabled()
}

// balance makes the rules of the load balancer, and again when they are lost or changed.
func (r *Reconciler) balance(ctx context.Context, s *scope) error {
	if !s.holdsAddress() {
		return nil
	}
	lb, known, wanted := s.c.Status.LoadBalancer, s.balancerDomain(), s.wantedRules()
	if err := r.noticeLostRules(ctx, s, known); err != nil {
		return err
	}
	for _, have := range lb.Rules {
		if !slices.ContainsFunc(wanted, func(w infrav1.LoadBalancerRuleStatus) bool { return sameRule(w, have) }) {
			return r.deleteRule(ctx, s, known.Name, have.ID)
		}
	}
	for _, w := range wanted {
		if !slices.ContainsFunc(lb.Rules, func(have infrav1.LoadBalancerRuleStatus) bool { return sameRule(w, have) && have.ID != "" }) {
			return r.createRule(ctx, s, known, w)
		}
	}
	return nil
}

func sameRule(a, b infrav1.LoadBalancerRuleStatus) bool {
	return a.Name == b.Name && a.PublicPort == b.PublicPort && a.PrivatePort == b.PrivatePort
}

// noticeLostRules forgets the rules that somebody removed, so that they are made again. A rule of another algorithm is
// removed, for the same reason.
func (r *Reconciler) noticeLostRules(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	seen, lb := s.sights[known.Name], s.c.Status.LoadBalancer
	if !seen.slow && !seen.quick {
		return nil
	}
	for _, rule := range slices.Clone(lb.Rules) {
		_, hasMembers := seen.Members[rule.ID]
		row, there := seen.LoadBalancers[rule.ID]
		if (there || !seen.slow) && (hasMembers || !seen.quick) {
			if there && row.Algorithm != s.algorithm() {
				s.repaired = "the algorithm of the load balancer"
				return r.deleteRule(ctx, s, known.Name, rule.ID)
			}
			continue
		}
		_, err := s.sessions[known.Name].FindLoadBalancer(ctx, ownerOf(known.Owner), rule.ID)
		switch {
		case cloudstack.Is(err, cloudstack.NotFound):
			s.repaired = "the load-balancer rule " + rule.Name
			r.touch(s, known.Name)
			lb.Rules = slices.DeleteFunc(lb.Rules, func(have infrav1.LoadBalancerRuleStatus) bool { return have.ID == rule.ID })
			// A rule that is gone may have gone with its address.
			if err := r.readAddress(ctx, s, known); err != nil {
				return err
			}
		case err != nil:
			return apiFailure("reading a load-balancer rule", err)
		}
	}
	return nil
}

func (r *Reconciler) createRule(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, w infrav1.LoadBalancerRuleStatus) error {
	lb := s.c.Status.LoadBalancer
	keep := func(id string) {
		lb.Rules = slices.DeleteFunc(lb.Rules, func(have infrav1.LoadBalancerRuleStatus) bool { return have.Name == w.Name })
		w.ID = id
		lb.Rules = append(lb.Rules, w)
		s.sortRules()
	}
	return r.do(ctx, s, work{
		kind: infrav1.JobCreateLoadBalancerRule, domain: known.Name, doing: "making the load-balancer rule " + w.Name, reason: s.makes(),
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			return session.CreateLoadBalancer(ctx, cloudstack.NewLoadBalancer{
				Name: s.clusterName() + "-" + w.Name, Description: s.markText(), AddressID: lb.PublicIPID,
				PublicPort: w.PublicPort, PrivatePort: w.PrivatePort, Algorithm: s.algorithm(),
			})
		},
		made: keep,
		refused: func(err error) error {
			if !cloudstack.Is(err, cloudstack.Conflict) {
				return apiFailure("making the load-balancer rule "+w.Name, err)
			}
			return r.adoptRule(ctx, s, known, w, keep)
		},
	})
}

// sortRules has the rule of the API first and the others in the order of the spec.
func (s *scope) sortRules() {
	order := map[string]int{}
	for i, w := range s.wantedRules() {
		order[w.Name] = i
	}
	slices.SortStableFunc(s.c.Status.LoadBalancer.Rules, func(a, b infrav1.LoadBalancerRuleStatus) int { return order[a.Name] - order[b.Name] })
}

// adoptRule takes the rule that holds the port when it is ours: the call that made it got no answer.
func (r *Reconciler) adoptRule(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, w infrav1.LoadBalancerRuleStatus, keep func(string)) error {
	lb := s.c.Status.LoadBalancer
	rules, err := s.sessions[known.Name].LoadBalancers(ctx, ownerOf(known.Owner), lb.PublicIPID)
	if err != nil {
		return apiFailure("listing the load-balancer rules", err)
	}
	for _, rule := range rules {
		if rule.PublicPort != w.PublicPort || !s.oursByText(rule.Description) {
			continue
		}
		if rule.PrivatePort != w.PrivatePort || rule.Algorithm != s.algorithm() {
			return r.deleteRule(ctx, s, known.Name, rule.ID)
		}
		keep(rule.ID)
		return &step.Waiting{Reason: infrav1.ReasonCreating, Message: "the load-balancer rule " + w.Name + " is found", After: ending.AtOnce}
	}
	return ending.Lacking(infrav1.ReasonPortTaken, "a rule of somebody else holds the port %d of the public address %s", w.PublicPort, lb.PublicIP)
}

// deleteRule begins to delete a load-balancer rule.
func (r *Reconciler) deleteRule(ctx context.Context, s *scope, domain, id string) error {
	return r.remove(ctx, s, work{
		kind: infrav1.JobDeleteLoadBalancerRule, domain: domain, resource: id, doing: "deleting the load-balancer rule " + id,
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			job, err := session.DeleteLoadBalancer(ctx, id)
			return id, job, err
		},
	})
}

// remove begins to remove something. What is gone already is forgotten.
func (r *Reconciler) remove(ctx context.Context, s *scope, w work) error {
	w.reason = infrav1.ReasonDeleting
	if !s.deleting() {
		w.reason = infrav1.ReasonRepairing
	}
	gone := infrav1.JobReference{Kind: w.kind, FailureDomain: w.domain, ResourceID: w.resource}
	w.refused = func(err error) error {
		if !cloudstack.Is(err, cloudstack.NotFound) {
			return apiFailure(w.doing, err)
		}
		s.drop(gone)
		return &step.Waiting{Reason: w.reason, Message: w.doing + ": it is gone", After: ending.AtOnce}
	}
	return r.do(ctx, s, w)
}
