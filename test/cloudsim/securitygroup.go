package cloudsim

import (
	"net/netip"
	"slices"
	"strings"
	"time"
)

// defaultGroup is the security group that every account has.
const defaultGroup = "default"

// securityGroup says what may reach the machines in it.
type securityGroup struct {
	base
	owner       *account
	name, about string
	rules       []*securityRule
}

// securityRule lets traffic in or out.
type securityRule struct {
	base
	group      *securityGroup
	egress     bool
	protocol   string
	start, end int64 // for ICMP type and code
	cidr       string
	from       *securityGroup // instead of a CIDR
}

// securityDefault finds or makes the group that an account always has.
func (s *Server) securityDefault(a *account) *securityGroup {
	if g := s.securityNamed(a, defaultGroup); g != nil {
		return g
	}
	return s.securityGroups.insert(&securityGroup{base: s.newBase(), owner: a, name: defaultGroup, about: "Default Security Group"})
}

func (s *Server) securityNamed(a *account, name string) *securityGroup {
	for _, g := range s.securityGroups.rows {
		if g.owner == a && strings.EqualFold(g.name, name) {
			return g
		}
	}
	return nil
}

func createSecurityGroup(c *call) (object, error) {
	owner, err := c.ownerOf()
	if err != nil {
		return nil, err
	}
	c.securityDefault(owner)
	if c.securityNamed(owner, c.str("name")) != nil {
		return nil, invalid("Unable to create security group, a group with name %s already exists.", c.str("name"))
	}
	g := c.securityGroups.insert(&securityGroup{base: c.newBase(), owner: owner, name: c.str("name"), about: c.str("description")})
	return obj("securitygroup", c.securityObject(g)), nil
}

func (c *call) securityHead(g *securityGroup) object {
	o := obj("id", g.id, "name", g.name).text("description", g.about)
	o = append(o, c.ownerFields(g.owner, "account")...)
	return append(o, c.domainFirst(g.owner)...)
}

func (c *call) securityObject(g *securityGroup) object {
	in, out := []object{}, []object{}
	for _, r := range g.rules {
		o := r.object().with("tags", c.tagObjects("SecurityGroupRule", r.id, false))
		if r.egress {
			out = append(out, o)
		} else {
			in = append(in, o)
		}
	}
	ids := []string{}
	for _, m := range c.machines.all(func(m *machine) bool { return contains(m.security, g) }) {
		ids = append(ids, m.id)
	}
	return append(c.securityHead(g), obj("ingressrule", in, "egressrule", out, "tags", c.tagObjects("SecurityGroup", g.id, false),
		"virtualmachinecount", len(ids), "virtualmachineids", ids)...)
}

func (r *securityRule) object() object {
	o := obj("ruleid", r.id, "protocol", r.protocol)
	if r.protocol == "icmp" {
		o = append(o, obj("icmptype", r.start, "icmpcode", r.end)...)
	} else {
		o = append(o, obj("startport", r.start, "endport", r.end)...)
	}
	if r.from != nil {
		return append(o, obj("securitygroupname", r.from.name, "account", r.from.owner.name)...)
	}
	return o.with("cidr", r.cidr)
}

// machineSecurity are the security groups of a machine as it shows them: without their rules.
func (c *call) machineSecurity(m *machine) []object {
	out := []object{}
	for _, g := range m.security {
		o := obj("id", g.id, "name", g.name).text("description", g.about)
		o = append(o, c.ownerFields(g.owner, "account")...)
		out = append(out, append(o, obj("ingressrule", []object{}, "egressrule", []object{}, "tags", []object{}, "virtualmachineids", []string{})...))
	}
	return out
}

func listSecurityGroups(c *call) (object, error) {
	tagged, err := c.tagFilter("SecurityGroup")
	if err != nil {
		return nil, err
	}
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	c.securityDefault(c.acct)
	wanted := refersTo(c, c.securityGroups, "id")
	m, ofMachine := refer(c, c.machines, "virtualmachineid")
	rows := c.securityGroups.all(func(g *securityGroup) bool {
		return owner(g.owner) && tagged(g.id) && wanted(g) && (!ofMachine || (m != nil && contains(m.security, g))) &&
			allOf(c.text("securitygroupname", g.name), c.keyword(g.name))
	})
	return pageOf(c, "securitygroup", rows, c.securityObject)
}

func deleteSecurityGroup(c *call) (object, error) {
	g, byID := refer(c, c.securityGroups, "id")
	switch {
	case !byID && c.str("name") == "":
		return nil, invalid("Either id or name parameter is required by deleteSecurityGroup command")
	case !byID:
		owner, err := c.ownerOf()
		if err != nil {
			return nil, err
		}
		c.securityDefault(owner)
		g = c.securityNamed(owner, c.str("name"))
	}
	if g == nil {
		return nil, invalid("Unable to find security group by name %s", c.str("name"))
	}
	switch {
	case c.mayUse(g.owner) != nil:
		return nil, c.mayUse(g.owner)
	case strings.EqualFold(g.name, defaultGroup):
		return nil, invalid("The network group default is reserved")
	case len(c.machines.all(func(m *machine) bool { return contains(m.security, g) })) > 0:
		return nil, wrapped(536, "Cannot delete group when it's in use by virtual machines")
	}
	for _, r := range g.rules {
		c.securityRules.drop(r)
	}
	c.securityGroups.drop(g)
	c.dropTags("SecurityGroup", g.id)
	return success(), nil
}

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

// readSecurity reads the security groups of a deploy. Without any the default one is taken where the zone has security groups.
func (c *call) readSecurity(d *deployment) error {
	groups, err := c.securityAsked(d.m.owner)
	if err != nil {
		return err
	}
	enabled := d.m.zone.attrs.get("securitygroupsenabled") == true
	switch {
	case len(groups) > 0 && !enabled:
		return invalid("Can't create vm with security groups; security group feature is not enabled per zone")
	case len(groups) == 0 && enabled:
		groups = []*securityGroup{c.securityDefault(d.m.owner)}
	}
	d.m.security = groups
	return nil
}

// securityAsked are the groups that a call names by id or name.
func (c *call) securityAsked(owner *account) ([]*securityGroup, error) {
	groups, byID := referAll(c, c.securityGroups, "securitygroupids")
	names := c.list("securitygroupnames")
	for _, g := range groups {
		if g.owner != owner {
			return nil, denied(noPermission)
		}
	}
	if byID && len(names) > 0 {
		return nil, invalid("securitygroupids parameter is mutually exclusive with securitygroupnames parameter")
	}
	for _, name := range names {
		g := c.securityNamed(owner, name)
		if g == nil {
			return nil, invalid("Unable to find group by name %s", name)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// changeSecurity gives a stopped machine other security groups.
func (c *call) changeSecurity(m *machine) error {
	groups, err := c.securityAsked(m.owner)
	if err != nil || len(groups) == 0 {
		return err
	}
	if m.state != machineStopped {
		return internal("Failed to update VM, due to: Virtual machine must be stopped prior to update security groups")
	}
	m.security = groups
	return nil
}
