package cloudsim

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// icmpAny stands for every type and every code.
const icmpAny = -1

// firewallRule lets traffic in to an address or out of a network.
type firewallRule struct {
	portRule
	egress             bool
	icmpType, icmpCode int
	dests              []string // of an egress rule; empty for anywhere
	stuck              bool     // the router refused to remove it
}

func (r *firewallRule) portless() bool { return r.start == noPort && r.end == noPort }

// sameTraffic says whether two rules are about the same sources and destinations. Of rules for all protocols only the destinations count.
func (r *firewallRule) sameTraffic(other *firewallRule) bool {
	sources := share(r.cidrs, other.cidrs) || (r.egress && r.protocol == "all")
	dests := share(r.dests, other.dests) || (len(r.dests) == 0 && len(other.dests) == 0)
	return sources && dests
}

// conflicts refuses a rule that another one covers.
func (r *firewallRule) conflicts(other *firewallRule) error {
	cs := csConflict
	if r.egress {
		cs = csPlain
	}
	switch {
	case other.state == ruleDeleting, other.protocol != r.protocol, !r.sameTraffic(other):
		return nil
	case r.protocol == "icmp" && r.icmpType == other.icmpType && r.icmpCode == other.icmpCode:
		return invalid("New rule conflicts with existing rule: %s", other.printed())
	case r.protocol == "icmp":
		return nil
	case r.portless() && other.portless():
		e := wrapped(537, "There is already a firewall rule specified with protocol = %s and no ports", r.protocol)
		e.cs = cs
		return e
	case r.overlaps(&other.portRule):
		return r.conflict(&other.portRule, cs)
	}
	return nil
}

// readFirewallRule reads what rules in both directions have in common.
func (c *call) readFirewallRule(z *zone) (*firewallRule, error) {
	r := &firewallRule{portRule: portRule{purpose: purposeFirewall, protocol: strings.ToLower(c.str("protocol")), start: c.port("startport"), end: c.port("endport"), state: ruleAdd},
		icmpType: icmpAny, icmpCode: icmpAny, egress: c.has("networkid")}
	known := []string{"tcp", "udp", "icmp"}
	if r.egress {
		known = append(known, "all")
	}
	if !slices.Contains(known, r.protocol) {
		return nil, invalid("Protocol %s is not supported in zone %d", c.str("protocol"), z.db)
	}
	if r.start != noPort && r.end == noPort {
		r.end = r.start
	}
	if err := checkPorts(r.start, r.end, csInvalid); err != nil {
		return nil, err
	}
	switch {
	case r.protocol == "icmp" && !r.portless():
		return nil, invalid("Can't specify start/end port when protocol is ICMP")
	case r.protocol != "icmp" && (c.has("icmptype") || c.has("icmpcode")):
		return nil, invalid("Can specify icmpCode and icmpType for ICMP protocol only")
	}
	r.icmpType, r.icmpCode = int(c.num("icmptype", icmpAny)), int(c.num("icmpcode", icmpAny))
	return r, nil
}

// createFirewallRule lets traffic in to an address.
func createFirewallRule(c *call) (*work, error) {
	ip, err := c.ownAddress("ipaddressid")
	if err != nil {
		return nil, err
	}
	switch {
	case ip == nil:
		return nil, invalid("Unable to create firewall rule; couldn't locate IP address by id in the system")
	case ip.network == nil:
		return nil, invalid("Unable to create firewall rule for the IP address ID=%d as IP is not associated with any network and no networkId is passed in", ip.db)
	case ip.vpc != nil:
		return nil, invalid("Unable to create firewall rule for the IP address ID=%d as its associated network is part of a VPC", ip.db)
	}
	cidrs := c.list("cidrlist")
	for _, v := range cidrs {
		if !isCIDR(v) {
			return nil, badParam("Source CIDRs formatting error %s", v)
		}
	}
	if len(cidrs) == 0 {
		cidrs = []string{anywhere}
	}
	r, err := c.readFirewallRule(ip.zone())
	if err != nil {
		return nil, err
	}
	r.owner, r.network, r.ip, r.cidrs = ip.owner, ip.network, ip, cidrs
	return c.addFirewallRule(r)
}

// createEgressFirewallRule lets traffic out of a network, or keeps it in where all is let out by default.
func createEgressFirewallRule(c *call) (*work, error) {
	n, _ := refer(c, c.networks, "networkid")
	switch {
	case n == nil || !n.live() || n.kind() == kindL2:
		return nil, &apiError{code: 530, cs: csPlain, text: "Unable to find a network with the Firewall service", hidden: true}
	case c.mayUse(n.owner) != nil && n.kind() != kindShared:
		return nil, denied(noPermission)
	case n.kind() == kindShared:
		return nil, invalid("Egress firewall rules are not supported for %s  networks", n.kind())
	}
	cidrs, dests, err := c.egressCIDRs(n)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.EqualFold(c.str("protocol"), "all") && c.has("startport") && c.has("endport"):
		return nil, invalid("Unable to create firewall rule for the network id=[%d] due to: ports must not be informed to protocol ALL, as it does not require them.", n.db)
	case n.vpc != nil:
		return nil, invalid("Unable to create firewall rule for the network id=[%d] as firewall egress rule can be created only for non VPC networks.", n.db)
	}
	r, err := c.readFirewallRule(n.zone)
	if err != nil {
		return nil, err
	}
	r.owner, r.network, r.cidrs, r.dests = n.owner, n, cidrs, dests
	return c.addFirewallRule(r)
}

// egressCIDRs reads sources, which have to be guests, and destinations.
func (c *call) egressCIDRs(n *network) (sources, dests []string, err error) {
	sources, dests = c.list("cidrlist"), c.list("destcidrlist")
	for _, v := range sources {
		p, err := netip.ParsePrefix(v)
		switch {
		case err != nil:
			return nil, nil, badParam("Source CIDRs formatting error [%s].", v)
		case v != anywhere && (p.Bits() < n.cidr.Bits() || !n.cidr.Contains(p.Addr())):
			return nil, nil, badParam("[%s] is not within the guest CIDR [%s]. ", v, n.cidr)
		}
	}
	for _, v := range dests {
		if !isCIDR(v) {
			return nil, nil, badParam("Destination CIDRs formatting error [%s].", v)
		}
	}
	if len(sources) == 0 {
		sources = []string{n.cidr.String()}
	}
	return sources, dests, nil
}

// addFirewallRule stores a rule that conflicts with none; the job brings it to the router.
func (c *call) addFirewallRule(r *firewallRule) (*work, error) {
	for _, other := range c.firewallRules.rows {
		if other.egress != r.egress || other.network != r.network || other.ip != r.ip {
			continue
		}
		if err := r.conflicts(other); err != nil {
			return nil, err
		}
	}
	r.base = c.newRuleBase()
	c.firewallRules.insert(r)
	return &work{created: r.id, instanceType: "FirewallRule", instanceID: r.id, run: func() (object, error) {
		if c.refused() {
			c.dropRule(&r.portRule)
			return nil, wrapped(530, "Failed to create firewall rule")
		}
		r.state = ruleActive
		c.sweepFirewall(r)
		return obj("firewallrule", c.firewallObject(r)), nil
	}}, nil
}

// sweepFirewall drops what the router had refused to remove, now that it has been told all rules of the address or network again.
func (s *Server) sweepFirewall(like *firewallRule) {
	for _, r := range slices.Clone(s.firewallRules.rows) {
		if r.stuck && r.egress == like.egress && r.ip == like.ip && r.network == like.network {
			s.dropRule(&r.portRule)
		}
	}
}

// ownFirewallRule finds the rule of a command that changes it.
func (c *call) ownFirewallRule() (*firewallRule, error) {
	r, _ := refer(c, c.firewallRules, "id")
	if r == nil {
		return nil, invalid("Unable to find a firewall rule by id %s", c.str("id"))
	}
	return r, c.mayUse(r.owner)
}

// markDeletion is how long it takes until a rule lists as being deleted: that of an address waits for the address.
const markDeletion = 500 * time.Millisecond

// deleteFirewallRule removes a rule of either direction.
func deleteFirewallRule(c *call) (*work, error) {
	r, err := c.ownFirewallRule()
	if err != nil {
		return nil, err
	}
	mark := func() {
		if c.firewallRules.index[r.id] == r {
			r.state = ruleDeleting
		}
	}
	at := markDeletion
	if r.egress {
		at = 0
	}
	return &work{pace: func() ([]phase, time.Duration) { return []phase{{at, mark}}, takesRemoval }, run: func() (object, error) {
		if c.firewallRules.index[r.id] != r {
			return nil, invalid("Unable to find %d having purpose [Firewall, Ipv6Firewall]", r.db)
		}
		if c.refused() {
			r.state, r.stuck = ruleDeleting, true
			return nil, wrapped(530, "Failed to delete firewall rule")
		}
		c.dropRule(&r.portRule)
		c.sweepFirewall(r)
		return success(), nil
	}}, nil
}

// updateFirewallRule changes nothing that the simulator knows: custom ids and what is displayed are for root admins.
func updateFirewallRule(c *call) (*work, error) {
	r, err := c.ownFirewallRule()
	if err != nil {
		return nil, err
	}
	return &work{run: func() (object, error) { return obj("firewallrule", c.firewallObject(r)), nil }}, nil
}

func listFirewallRules(c *call) (object, error) {
	if ip, ok := refer(c, c.publicIPs, "ipaddressid"); ok && (ip == nil || ip.owner == nil) {
		return nil, invalid("Ip address id=%s not ready for firewall rules yet", dbOf(ip, c.str("ipaddressid")))
	}
	return c.listFirewall(false)
}

func dbOf(ip *publicIP, sent string) string {
	if ip == nil {
		return sent
	}
	return formatInt(ip.db)
}

func listEgressFirewallRules(c *call) (object, error) { return c.listFirewall(true) }

func (c *call) listFirewall(egress bool) (object, error) {
	tagged, err := c.tagFilter("FirewallRule")
	if err != nil {
		return nil, err
	}
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	rows := c.firewallRules.all(func(r *firewallRule) bool {
		return allOf(r.egress == egress, owner(r.owner), tagged(r.id), refersTo(c, c.firewallRules, "id")(r), refersTo(c, c.networks, "networkid")(r.network),
			refersTo(c, c.publicIPs, "ipaddressid")(r.ip), c.keyword(r.protocol, fmt.Sprint(r.start), fmt.Sprint(r.end)))
	})
	slices.Reverse(rows)
	return pageOf(c, "firewallrule", rows, c.firewallObject)
}

func (c *call) firewallObject(r *firewallRule) object {
	o := obj("id", r.id, "protocol", r.protocol, "startport", portNumber(r.start), "endport", portNumber(r.end))
	if r.ip != nil {
		o = o.with("ipaddressid", r.ip.id)
	}
	o = o.with("networkid", r.network.id)
	if r.ip != nil {
		o = o.with("ipaddress", r.ip.address.String())
	}
	o = append(o, obj("state", r.state, "cidrlist", strings.Join(r.cidrs, ","))...)
	if r.protocol == "icmp" {
		o = append(o, obj("icmptype", r.icmpType, "icmpcode", r.icmpCode)...)
	}
	o = o.with("tags", c.shortTags("FirewallRule", r.id))
	if c.root() {
		o = o.with("fordisplay", true)
	}
	traffic := "Ingress"
	if r.egress {
		traffic = "Egress"
	}
	return append(o, obj("destcidrlist", strings.Join(r.dests, ","), "traffictype", traffic)...)
}
