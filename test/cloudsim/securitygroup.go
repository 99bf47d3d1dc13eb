package cloudsim

import "strings"

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
	owner, err := c.finalOwner()
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
