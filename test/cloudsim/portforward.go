package cloudsim

import (
	"net/netip"
	"slices"
	"strings"
)

// forwarding hands what arrives on ports of an address to one machine.
type forwarding struct {
	portRule
	machine         *machine
	guest           netip.Addr
	private         int
	privateEnd      int
	restrictedCIDRs []string
}

// createPortForwardingRule makes a rule for a port or a range of them.
func createPortForwardingRule(c *call) (*work, error) {
	ip, err := c.ownAddress("ipaddressid")
	if err != nil {
		return nil, err
	}
	m, _ := refer(c, c.machines, "virtualmachineid")
	switch {
	case ip == nil || ip.owner == nil || ip.state == addressAllocating:
		return nil, invalid("Unable to create port forwarding rule; couldn't locate IP address by id=%s in the system", dbOf(ip, c.str("ipaddressid")))
	case m == nil || !m.live():
		return nil, invalid("Unable to create port forwarding rule on address %s, invalid virtual machine id specified (%s).", ip.printed(), c.str("virtualmachineid"))
	case c.mayUse(m.owner) != nil:
		return nil, denied(noPermission)
	case ip.machine != nil:
		return nil, invalid("Unable to create port forwarding rule; ip %s has static nat enabled", ip.printed())
	}
	r, err := c.readForwarding(ip, m)
	if err != nil {
		return nil, err
	}
	for _, other := range c.rulesOn(ip) {
		if other.purpose != purposeFirewall && other.protocol == r.protocol && r.overlaps(other) {
			return nil, r.conflict(other, csConflict)
		}
	}
	r.base = c.newRuleBase()
	c.forwardings.insert(r)
	if ip.vpc != nil {
		ip.network = r.network
	} else if c.flagOr("openfirewall", true) {
		c.openFirewall(&r.portRule)
	}
	return &work{created: r.id, instanceType: "FirewallRule", instanceID: r.id, run: func() (object, error) { return c.forward(r) }}, nil
}

// forward ends the creation of a forwarding rule.
func (c *call) forward(r *forwarding) (object, error) {
	if c.refused() {
		c.dropRule(&r.portRule)
		return nil, wrapped(530, "Failed to apply port forwarding rule")
	}
	r.state = ruleActive
	if fw := c.opened(&r.portRule); fw != nil {
		fw.state = ruleActive
	}
	return obj("portforwardingrule", c.forwardingObject(r)), nil
}

func (c *call) readForwarding(ip *publicIP, m *machine) (*forwarding, error) {
	n := ip.network
	if tier, named := refer(c, c.networks, "networkid"); named && ip.vpc != nil && n == nil {
		n = tier
	}
	r := &forwarding{portRule: portRule{purpose: purposeForwarding, owner: ip.owner, network: n, ip: ip, protocol: strings.ToLower(c.str("protocol")),
		start: c.port("publicport"), end: int(c.num("publicendport", c.num("publicport", noPort))), state: ruleAdd},
		machine: m, private: c.port("privateport"), privateEnd: int(c.num("privateendport", c.num("privateport", noPort))), restrictedCIDRs: c.list("cidrlist")}
	switch {
	case n == nil || !m.onNetwork(n):
		return nil, invalid("Vm doesn't belong to network associated with ipAddress")
	case r.protocol != "tcp" && r.protocol != "udp":
		return nil, invalid("Protocol %s is not supported in zone %d", c.str("protocol"), ip.zone().db)
	case r.end-r.start != r.privateEnd-r.private:
		return nil, invalid("Source port and destination port ranges should be of equal sizes.")
	}
	if err := checkPorts(r.start, r.end, csInvalid); err != nil {
		return nil, err
	}
	return r, c.aim(r)
}

// aim finds the address of the machine that a rule forwards to.
func (c *call) aim(r *forwarding) error {
	wanted := c.str("vmguestip")
	for _, x := range r.machine.nics {
		if x.network != r.network {
			continue
		}
		r.guest = x.address
		if a, err := netip.ParseAddr(wanted); err == nil && x.holds(a) {
			r.guest = a
			return nil
		}
	}
	if wanted != "" && r.guest.String() != wanted {
		return invalid("Unable to create port forwarding rule; ip %s is not of the machine", wanted)
	}
	return nil
}

// ownForwarding finds the rule of a command that changes it.
func (c *call) ownForwarding() (*forwarding, error) {
	r, _ := refer(c, c.forwardings, "id")
	if r == nil {
		return nil, invalid("Unable to find port forwarding rule by id %s", c.str("id"))
	}
	return r, c.mayUse(r.owner)
}

func updatePortForwardingRule(c *call) (*work, error) {
	r, err := c.ownForwarding()
	if err != nil {
		return nil, err
	}
	return &work{run: func() (object, error) {
		if m, ok := refer(c, c.machines, "virtualmachineid"); ok {
			if m == nil || !m.live() || !m.onNetwork(r.network) {
				return nil, invalid("Vm doesn't belong to network associated with ipAddress")
			}
			r.machine = m
		}
		r.private = int(c.num("privateport", int64(r.private)))
		r.privateEnd = r.private + r.end - r.start
		if err := c.aim(r); err != nil {
			return nil, err
		}
		return obj("portforwardingrule", c.forwardingObject(r)), nil
	}}, nil
}

func deletePortForwardingRule(c *call) (*work, error) {
	r, err := c.ownForwarding()
	if err != nil {
		return nil, err
	}
	return &work{run: func() (object, error) {
		if c.refused() {
			return nil, wrapped(530, "Failed to delete port forwarding rule")
		}
		c.dropRule(&r.portRule)
		return success(), nil
	}}, nil
}

func listPortForwardingRules(c *call) (object, error) {
	tagged, err := c.tagFilter("PortForwardingRule")
	if err != nil {
		return nil, err
	}
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	rows := c.forwardings.all(func(r *forwarding) bool {
		return allOf(owner(r.owner), tagged(r.id), refersTo(c, c.forwardings, "id")(r), refersTo(c, c.publicIPs, "ipaddressid")(r.ip), refersTo(c, c.networks, "networkid")(r.network))
	})
	slices.Reverse(rows)
	return pageOf(c, "portforwardingrule", rows, c.forwardingObject)
}

func (c *call) forwardingObject(r *forwarding) object {
	o := obj("id", r.id, "privateport", portText(r.private), "privateendport", portText(r.privateEnd), "protocol", r.protocol, "publicport", portText(r.start),
		"publicendport", portText(r.end), "virtualmachineid", r.machine.id, "virtualmachinename", r.machine.name, "virtualmachinedisplayname", r.machine.displayName,
		"ipaddressid", r.ip.id, "ipaddress", r.ip.address.String(), "state", r.state, "cidrlist", strings.Join(r.restrictedCIDRs, ","),
		"tags", c.shortTags("PortForwardingRule", r.id), "vmguestip", r.guest.String(), "networkid", r.network.id)
	if c.root() {
		o = o.with("fordisplay", true)
	}
	return o
}
