package cluster

import (
	"cmp"
	"context"
	"slices"
	"strings"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// wantedRules are the rules that the load balancer must have, that of the API first. The API server listens on the port that
// the Cluster tells, whatever port is published.
func (s *scope) wantedRules() []infrav1.LoadBalancerRuleStatus {
	api := infrav1.LoadBalancerRuleStatus{
		Name: infrav1.APIRuleName, PublicPort: infrav1.DefaultAPIPort, PrivatePort: infrav1.DefaultAPIPort,
		Algorithm: s.algorithm(), CIDRs: s.ruleClients(),
	}
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
			rules = append(rules, infrav1.LoadBalancerRuleStatus{
				Name: name, PublicPort: p.Port, PrivatePort: p.Port, Algorithm: api.Algorithm, CIDRs: api.CIDRs,
			})
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
		at := slices.IndexFunc(lb.Rules, func(have infrav1.LoadBalancerRuleStatus) bool { return sameRule(w, have) && have.ID != "" })
		if at < 0 {
			return r.createRule(ctx, s, known, w)
		}
		if err := r.adjustRule(ctx, s, known, &lb.Rules[at], w); err != nil {
			return err
		}
	}
	return nil
}

// sameRule tells whether a rule leads where the other does. How it does that can be changed.
func sameRule(a, b infrav1.LoadBalancerRuleStatus) bool {
	return a.Name == b.Name && a.PublicPort == b.PublicPort && a.PrivatePort == b.PrivatePort
}

// noticeLostRules forgets the rules that somebody removed, so that they are made again, and notes what somebody changed.
func (r *Reconciler) noticeLostRules(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	seen, lb := s.sights[known.Name], s.c.Status.LoadBalancer
	if !seen.slow && !seen.quick {
		return nil
	}
	for i, rule := range slices.Clone(lb.Rules) {
		_, hasMembers := seen.Members[rule.ID]
		row, there := seen.LoadBalancers[rule.ID]
		if (there || !seen.slow) && (hasMembers || !seen.quick) {
			if there && rule.Algorithm != "" && (row.Algorithm != rule.Algorithm || admitted(row) != rule.CIDRs) {
				s.repaired = "the load-balancer rule " + rule.Name
				lb.Rules[i].Algorithm, lb.Rules[i].CIDRs = row.Algorithm, admitted(row)
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
	lb, network := s.c.Status.LoadBalancer, ""
	if inVPC(known) {
		network = known.Network.ID
	}
	keep := func(id string, w infrav1.LoadBalancerRuleStatus) {
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
				PublicPort: w.PublicPort, PrivatePort: w.PrivatePort, Algorithm: w.Algorithm, CIDRs: split(w.CIDRs), NetworkID: network,
			})
		},
		made: func(id string) { keep(id, w) },
		refused: func(err error) error {
			if !cloudstack.Is(err, cloudstack.Conflict) {
				return apiFailure("making the load-balancer rule "+w.Name, err)
			}
			return r.adoptRule(ctx, s, known, w, keep)
		},
	})
}

// listsClients is the first version whose rules can be told other clients.
const listsClients = "4.22"

// adjustRule changes how a rule does its work, and keeps its members. Only where the server cannot is it made anew.
func (r *Reconciler) adjustRule(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, have *infrav1.LoadBalancerRuleStatus, w infrav1.LoadBalancerRuleStatus) error {
	if have.Algorithm == "" {
		row, err := s.sessions[known.Name].FindLoadBalancer(ctx, ownerOf(known.Owner), have.ID)
		switch {
		case cloudstack.Is(err, cloudstack.NotFound):
			have.ID = ""
			return &step.Waiting{Reason: infrav1.ReasonRepairing, Message: "the load-balancer rule " + have.Name + " is gone", After: ending.AtOnce}
		case err != nil:
			return apiFailure("reading a load-balancer rule", err)
		}
		have.Algorithm, have.CIDRs = row.Algorithm, admitted(row)
	}
	if have.Algorithm == w.Algorithm && have.CIDRs == w.CIDRs {
		return nil
	}
	to := cloudstack.LoadBalancerChange{Algorithm: w.Algorithm}
	if have.CIDRs != w.CIDRs {
		version, err := s.sessions[known.Name].Version(ctx)
		if err != nil {
			return apiFailure("asking for the version of CloudStack", err)
		}
		if !cloudstack.AtLeast(version, listsClients) {
			return r.deleteRule(ctx, s, known.Name, have.ID)
		}
		to.CIDRs = split(cmp.Or(w.CIDRs, everybody))
	}
	id := have.ID
	return r.remove(ctx, s, work{
		kind: infrav1.JobUpdateLoadBalancerRule, domain: known.Name, resource: id, doing: "changing the load-balancer rule " + have.Name,
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			job, err := session.UpdateLoadBalancer(ctx, id, to)
			return id, job, err
		},
	})
}

// admitted are the networks that a rule itself takes connections from; empty for all.
func admitted(row cloudstack.LoadBalancer) string {
	if slices.Contains(row.CIDRs, everybody) {
		return ""
	}
	return joined(row.CIDRs)
}

// split is the reverse of joined.
func split(cidrs string) []string {
	return slices.DeleteFunc(strings.Split(cidrs, ","), func(c string) bool { return c == "" })
}

// ruleClients are the networks that a rule itself takes connections from: where there is no firewall, and not everybody may.
func (s *scope) ruleClients() string {
	known := s.balancerDomain()
	if known == nil || !inVPC(known) || s.clients() == everybody {
		return ""
	}
	return s.clients()
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
func (r *Reconciler) adoptRule(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, w infrav1.LoadBalancerRuleStatus, keep func(string, infrav1.LoadBalancerRuleStatus)) error {
	lb := s.c.Status.LoadBalancer
	rules, err := s.sessions[known.Name].LoadBalancers(ctx, ownerOf(known.Owner), lb.PublicIPID)
	if err != nil {
		return apiFailure("listing the load-balancer rules", err)
	}
	for _, rule := range rules {
		if rule.PublicPort != w.PublicPort || !s.oursByText(rule.Description) {
			continue
		}
		if rule.PrivatePort != w.PrivatePort {
			return r.deleteRule(ctx, s, known.Name, rule.ID)
		}
		w.Algorithm, w.CIDRs = rule.Algorithm, admitted(rule)
		keep(rule.ID, w)
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
