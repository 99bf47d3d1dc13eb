package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// everybody is what CloudStack takes when no source is given.
const everybody = "0.0.0.0/0"

// clients are the networks that may reach the load balancer, as they are recorded.
func (s *scope) clients() string {
	b := s.c.Spec.ControlPlaneLoadBalancer
	if b == nil || len(b.AllowedCIDRs) == 0 {
		return everybody
	}
	return joined(b.AllowedCIDRs)
}

func joined(cidrs []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(cidrs))), ",")
}

// admitClients opens the ports of the load balancer, and closes those that are no longer wanted.
func (r *Reconciler) admitClients(ctx context.Context, s *scope) error {
	if !s.holdsAddress() {
		return nil
	}
	known, lb := s.balancerDomain(), s.c.Status.LoadBalancer
	net, err := r.facts(ctx, s, known.Name)
	if err != nil {
		return err
	}
	if !net.Offers("Firewall") || inVPC(known) {
		return r.checkACL(ctx, s, known, net)
	}
	if err := r.noticeLostClients(ctx, s, known); err != nil {
		return err
	}
	for _, have := range lb.FirewallRules {
		if have.CIDRs != s.clients() || !slices.ContainsFunc(lb.Rules, func(w infrav1.LoadBalancerRuleStatus) bool { return w.PublicPort == have.Port }) {
			// CloudStack takes no second rule for a port while one has a source in common with it.
			return r.deleteFirewall(ctx, s, known.Name, have.ID)
		}
	}
	for _, w := range lb.Rules {
		if !slices.ContainsFunc(lb.FirewallRules, func(have infrav1.FirewallRuleStatus) bool { return have.Port == w.PublicPort }) && !r.openedByOthers(s, w.PublicPort) {
			return r.createFirewall(ctx, s, known, w.PublicPort)
		}
	}
	s.reached = true
	return nil
}

// openedByOthers tells whether a rule of somebody else does what is wanted on an address that was there before.
func (r *Reconciler) openedByOthers(s *scope, port int32) bool {
	var yes bool
	r.memo(s.key, func(m *memo) { yes = m.decided[s.portKey(port)] })
	return yes
}

func (s *scope) portKey(port int32) string {
	return fmt.Sprintf("%s/%d/%s", s.c.Status.LoadBalancer.PublicIPID, port, s.clients())
}

// noticeLostClients forgets the firewall rules that somebody removed or changed, so that they are made again.
func (r *Reconciler) noticeLostClients(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	seen, lb := s.sights[known.Name], s.c.Status.LoadBalancer
	if !seen.quick || len(lb.FirewallRules) == 0 {
		return nil
	}
	standing := func(rules []cloudstack.FirewallRule) func(infrav1.FirewallRuleStatus) bool {
		return func(have infrav1.FirewallRuleStatus) bool {
			return slices.ContainsFunc(rules, func(f cloudstack.FirewallRule) bool { return f.ID == have.ID && !f.Deleting() })
		}
	}
	missing := func(rules []cloudstack.FirewallRule) bool {
		is := standing(rules)
		return slices.ContainsFunc(lb.FirewallRules, func(have infrav1.FirewallRuleStatus) bool { return !is(have) })
	}
	if !missing(seen.Firewall[lb.PublicIPID]) {
		return nil
	}
	rules, err := s.sessions[known.Name].FirewallRules(ctx, ownerOf(known.Owner), lb.PublicIPID)
	if err != nil {
		return apiFailure("listing the firewall rules", err)
	}
	r.touch(s, known.Name)
	if missing(rules) {
		is := standing(rules)
		s.repaired = "a firewall rule of the public address"
		lb.FirewallRules = slices.DeleteFunc(lb.FirewallRules, func(have infrav1.FirewallRuleStatus) bool { return !is(have) })
	}
	return nil
}

func (r *Reconciler) createFirewall(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, port int32) error {
	lb, clients := s.c.Status.LoadBalancer, s.clients()
	keep := func(id string) {
		lb.FirewallRules = append(lb.FirewallRules, infrav1.FirewallRuleStatus{ID: id, Port: port, CIDRs: clients})
		if !lb.Created {
			r.memo(s.key, func(m *memo) { m.untagged[id] = untagged{domain: known.Name, kind: cloudstack.TagsOfFirewallRule} })
		}
	}
	return r.do(ctx, s, work{
		kind: infrav1.JobCreateFirewallRule, domain: known.Name, doing: "opening the public address to " + clients, reason: s.makes(),
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			return session.CreateFirewallRule(ctx, cloudstack.FirewallRule{
				AddressID: lb.PublicIPID, Protocol: "tcp", StartPort: port, EndPort: port, CIDRs: strings.Split(clients, ","),
			})
		},
		made: keep,
		refused: func(err error) error {
			if !cloudstack.Is(err, cloudstack.Conflict) {
				return apiFailure("opening the public address", err)
			}
			return r.adoptFirewall(ctx, s, known, port, keep)
		},
	})
}

// adoptFirewall looks at the rule that stands where ours should go. On an address that was taken for the cluster it is
// ours, or is made to be; on another one it is left alone, and counts when it does what is wanted.
func (r *Reconciler) adoptFirewall(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, port int32, keep func(string)) error {
	lb := s.c.Status.LoadBalancer
	rules, err := s.sessions[known.Name].FirewallRules(ctx, ownerOf(known.Owner), lb.PublicIPID)
	if err != nil {
		return apiFailure("listing the firewall rules", err)
	}
	found := &step.Waiting{Reason: infrav1.ReasonCreating, Message: "the firewall rule is found", After: ending.AtOnce}
	for _, f := range rules {
		first, last := f.StartPort, max(f.EndPort, f.StartPort)
		if !standsFor(f, port) {
			continue
		}
		same := first == port && last == port && joined(f.CIDRs) == s.clients()
		ours := s.oursByTag(f.Tags) || lb.Created || s.adopting[known.Name] == infrav1.JobCreateFirewallRule && same
		switch {
		case ours && same:
			keep(f.ID)
			return found
		case ours:
			return r.deleteFirewall(ctx, s, known.Name, f.ID)
		case slices.Contains(f.CIDRs, everybody) || joined(f.CIDRs) == s.clients():
			r.memo(s.key, func(m *memo) { m.decided[s.portKey(port)] = true })
			return found
		}
		return ending.Lacking(infrav1.ReasonPortTaken, "a firewall rule of somebody else stands for the port %d of the public address %s", port, lb.PublicIP)
	}
	return ending.Lacking(infrav1.ReasonPortTaken, "a firewall rule that is not seen stands for the port %d of the public address %s", port, lb.PublicIP)
}

// standsFor tells whether a rule speaks of the port and is not on its way out.
func standsFor(f cloudstack.FirewallRule, port int32) bool {
	return f.Protocol == "tcp" && !f.Deleting() && f.StartPort <= port && max(f.EndPort, f.StartPort) >= port
}

func (r *Reconciler) deleteFirewall(ctx context.Context, s *scope, domain, id string) error {
	return r.remove(ctx, s, work{
		kind: infrav1.JobDeleteFirewallRule, domain: domain, resource: id, doing: "deleting the firewall rule " + id,
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			job, err := session.DeleteFirewallRule(ctx, id)
			return id, job, err
		},
	})
}
