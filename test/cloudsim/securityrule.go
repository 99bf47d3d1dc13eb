package cloudsim

import (
	"net/netip"
	"slices"
	"strings"
	"time"
)

// authorize makes the command that lets traffic into a group's machines or out of them.
func authorize(egress bool) func(*call) (*work, error) {
	return func(c *call) (*work, error) {
		g, byID := refer(c, c.securityGroups, "securitygroupid")
		switch {
		case !byID && c.str("securitygroupname") == "":
			return nil, invalid("Either securityGroupId or securityGroupName is required by %s command", c.name)
		case !byID:
			owner, err := c.ownerOf()
			if err != nil {
				return nil, err
			}
			g = c.securityNamed(owner, c.str("securitygroupname"))
		}
		if g == nil {
			return nil, invalid("Unable to find security group %s for account id=%d", c.str("securitygroupname"), c.acct.db)
		}
		if err := c.mayUse(g.owner); err != nil {
			return nil, err
		}
		return &work{instanceType: "SecurityGroup", instanceID: g.id, takes: 300 * time.Millisecond, run: func() (object, error) { return c.addSecurityRules(g, egress) }}, nil
	}
}

// addSecurityRules adds a rule for each source that has none like it yet; the reply holds only what is new.
func (c *call) addSecurityRules(g *securityGroup, egress bool) (object, error) {
	sources, err := c.securitySources(g)
	if err != nil {
		return nil, err
	}
	protocol, start, end, err := c.securityPorts()
	if err != nil {
		return nil, err
	}
	in, out := []object{}, []object{}
	for _, r := range sources {
		r.base, r.group, r.egress, r.protocol, r.start, r.end = c.newBase(), g, egress, protocol, start, end
		if slices.ContainsFunc(g.rules, r.same) {
			continue
		}
		g.rules = append(g.rules, c.securityRules.insert(r))
		if egress {
			out = append(out, r.object())
		} else {
			in = append(in, r.object())
		}
	}
	if len(in)+len(out) == 0 {
		kind := "ingress"
		if egress {
			kind = "egress"
		}
		return nil, wrapped(530, "Failed to authorize security group %s rule(s)", kind)
	}
	return obj("securitygroup", append(c.securityHead(g), obj("ingressrule", in, "egressrule", out, "tags", []object{}, "virtualmachineids", []string{})...)), nil
}

func (r *securityRule) same(o *securityRule) bool {
	return r.egress == o.egress && r.protocol == o.protocol && r.start == o.start && r.end == o.end && r.cidr == o.cidr && r.from == o.from
}

func (c *call) securitySources(g *securityGroup) ([]*securityRule, error) {
	var out []*securityRule
	for _, cidr := range c.list("cidrlist") {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			return nil, invalid("Invalid cidr %s", cidr)
		}
		out = append(out, &securityRule{cidr: cidr})
	}
	for _, e := range c.maps["usersecuritygrouplist"] {
		a := c.findAccount(e["account"], g.owner.domain)
		if a == nil {
			return nil, invalid("Nonexistent account: %s when trying to authorize security group rule.", e["account"])
		}
		from := c.securityNamed(a, e["group"])
		if from == nil {
			return nil, invalid("Nonexistent group %s for account %s/%d is given, unable to authorize security group rule.", e["group"], a.name, a.domain.db)
		}
		out = append(out, &securityRule{from: from})
	}
	if len(out) == 0 {
		return nil, invalid("At least one cidr or at least one security group needs to be specified")
	}
	return out, nil
}

// securityPorts reads protocol and ports, or type and code.
func (c *call) securityPorts() (protocol string, start, end int64, err error) {
	protocol = strings.ToLower(c.str("protocol"))
	if protocol == "" {
		protocol = "all"
	}
	n, isNumber := number(protocol)
	switch {
	case protocol == "icmp":
		start, end = c.num("icmptype", -1), c.num("icmpcode", -1)
		return protocol, start, end, nil
	case protocol == "all", isNumber && n >= 0 && n <= 255:
		return protocol, 0, 0, nil
	case protocol != "tcp" && protocol != "udp":
		return "", 0, 0, invalid("Invalid protocol %s", c.str("protocol"))
	case !c.has("startport") || !c.has("endport"):
		return "", 0, 0, invalid("Invalid port range specified, startPort = %s, endPort = %s", orNull(c.str("startport")), orNull(c.str("endport")))
	}
	start, end = c.num("startport", 0), c.num("endport", 0)
	if start < 0 || start > 65535 || end < 0 || end > 65535 || start > end {
		return "", 0, 0, invalid("Invalid port numbers %d:%d", start, end)
	}
	return protocol, start, end, nil
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

// revoke takes a rule away again.
func revoke(c *call) (*work, error) {
	r, _ := refer(c, c.securityRules, "id")
	if r == nil {
		return nil, invalid("Unable to find security rule with id %s", c.str("id"))
	}
	if err := c.mayUse(r.group.owner); err != nil {
		return nil, err
	}
	return &work{instanceType: "SecurityGroup", instanceID: r.group.id, takes: 300 * time.Millisecond, run: func() (object, error) {
		r.group.rules = slices.DeleteFunc(r.group.rules, func(o *securityRule) bool { return o == r })
		c.securityRules.drop(r)
		return success(), nil
	}}, nil
}
