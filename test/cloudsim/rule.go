package cloudsim

import (
	"fmt"
	"net/netip"
	"slices"
)

// Purposes of the rules on public addresses.
const (
	purposeFirewall   = "Firewall"
	purposeBalancing  = "LoadBalancing"
	purposeForwarding = "PortForwarding"
)

// States of rules.
const (
	ruleAdd      = "Add"
	ruleActive   = "Active"
	ruleDeleting = "Deleting"
)

const (
	noPort     = -1
	maxPort    = 65535
	anywhere   = "0.0.0.0/0"
	csConflict = 4360
)

// portRule is what rules of every purpose have in common.
type portRule struct {
	base
	purpose    string
	owner      *account
	network    *network
	ip         *publicIP // nil for egress rules
	protocol   string
	start, end int // noPort where none was given
	state      string
	cidrs      []string
	by         *portRule // the rule that opened the firewall by this one; nil when it was made by hand
}

// printed is a rule as refusals show it.
func (r *portRule) printed() string {
	return fmt.Sprintf(`FirewallRule {"id":%d,"networkId":%d,"purpose":%q,"state":%q,"uuid":%q}`, r.db, r.network.db, r.purpose, r.state, r.id)
}

func (r *portRule) overlaps(other *portRule) bool {
	return r.start != noPort && other.start != noPort && r.start <= other.end && other.start <= r.end
}

// conflict refuses a rule because of another one.
func (r *portRule) conflict(other *portRule, cs int) error {
	e := wrapped(537, "The range specified, %d-%d, conflicts with rule %s which has %d-%d", r.start, r.end, other.printed(), other.start, other.end)
	e.cs = cs
	return e
}

// rulesOn are the rules of every purpose on an address, in the order in which they were made.
func (s *Server) rulesOn(ip *publicIP) []*portRule {
	return s.rulesWhere(func(r *portRule) bool { return r.ip == ip })
}

// rulesOf are the rules of a network, egress rules too.
func (s *Server) rulesOf(n *network) []*portRule {
	return s.rulesWhere(func(r *portRule) bool { return r.network == n })
}

func (s *Server) rulesWhere(keep func(*portRule) bool) []*portRule {
	var out []*portRule
	for _, r := range s.firewallRules.rows {
		if keep(&r.portRule) {
			out = append(out, &r.portRule)
		}
	}
	for _, r := range s.loadBalancers.rows {
		if keep(&r.portRule) {
			out = append(out, &r.portRule)
		}
	}
	for _, r := range s.forwardings.rows {
		if keep(&r.portRule) {
			out = append(out, &r.portRule)
		}
	}
	slices.SortStableFunc(out, func(a, b *portRule) int { return int(a.db - b.db) })
	return out
}

// dropRule forgets a rule and the firewall rule that it opened.
func (s *Server) dropRule(r *portRule) {
	switch r.purpose {
	case purposeFirewall:
		if row, ok := s.firewallRules.index[r.id]; ok {
			s.firewallRules.drop(row)
			s.dropTags("FirewallRule", r.id)
		}
		return
	case purposeBalancing: // its tags stay behind
		if row, ok := s.loadBalancers.index[r.id]; ok {
			s.loadBalancers.drop(row)
		}
	case purposeForwarding:
		if row, ok := s.forwardings.index[r.id]; ok {
			s.forwardings.drop(row)
			s.dropTags("PortForwardingRule", r.id)
		}
	}
	for _, fw := range slices.Clone(s.firewallRules.rows) {
		if fw.by == r {
			s.dropRule(&fw.portRule)
		}
	}
	if ip := r.ip; ip != nil && ip.vpc != nil && ip.machine == nil && len(s.rulesOn(ip)) == 0 {
		ip.network = nil // the address goes back to its VPC
	}
}

// openFirewall lets traffic to a rule through, unless some firewall rule for exactly its ports is there already.
func (s *Server) openFirewall(r *portRule) {
	for _, fw := range s.firewallRules.rows {
		if fw.ip == r.ip && fw.state != ruleDeleting && fw.protocol == r.protocol && fw.start == r.start && fw.end == r.end {
			return
		}
	}
	fw := &firewallRule{portRule: portRule{base: s.newRuleBase(), purpose: purposeFirewall, owner: r.owner, network: r.network, ip: r.ip, protocol: r.protocol,
		start: r.start, end: r.end, state: ruleAdd, cidrs: []string{anywhere}, by: r}}
	s.firewallRules.insert(fw)
}

// opened is the firewall rule that a rule opened, nil for none.
func (s *Server) opened(r *portRule) *firewallRule {
	for _, fw := range s.firewallRules.rows {
		if fw.by == r {
			return fw
		}
	}
	return nil
}

func (s *Server) newRuleBase() base {
	b := s.newBase()
	b.db = s.nextRule()
	return b
}

// port reads a port, noPort when it was not sent.
func (c *call) port(name string) int {
	return int(c.num(name, noPort))
}

// checkPorts refuses ports that no packet can have.
func checkPorts(start, end int, cs int) error {
	for _, p := range []int{start, end} {
		if p > maxPort || p < noPort {
			e := invalid("publicPort is an invalid value: %d", p)
			e.cs = cs
			return e
		}
	}
	if start != noPort && end != noPort && start > end {
		return invalid("Start port can't be bigger than end port")
	}
	return nil
}

// isCIDR says whether a text is an address with a mask; host bits may be set.
func isCIDR(s string) bool {
	_, err := netip.ParsePrefix(s)
	return err == nil
}

func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(v string) bool { return slices.Contains(b, v) })
}

// portText shows a port as most rules do, nil when there is none.
func portText(p int) any {
	if p == noPort {
		return nil
	}
	return fmt.Sprint(p)
}

// portNumber shows a port as firewall rules do, nil when there is none.
func portNumber(p int) any {
	if p == noPort {
		return nil
	}
	return p
}

// ownAddress finds the address of a command that makes a rule on it, once it is associated.
func (c *call) ownAddress(param string) (*publicIP, error) {
	ip, _ := refer(c, c.publicIPs, param)
	if ip == nil || ip.owner == nil || ip.state == addressAllocating {
		return ip, nil
	}
	return ip, c.mayUse(ip.owner)
}
