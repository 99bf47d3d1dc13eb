package cloudsim

import "slices"

// aclList is a list of rules for the tiers of a VPC. Two lists belong to no VPC and to all.
type aclList struct {
	base
	name, text string
	vpc        *vpc // nil for lists of all VPCs
	isDefault  bool
}

// seedACLs makes the lists that every installation has.
func (s *Server) seedACLs() {
	for _, d := range []struct{ name, text, action string }{
		{"default_deny", "Default Network ACL Deny All", "Deny"},
		{"default_allow", "Default Network ACL Allow All", "Allow"},
	} {
		l := s.aclLists.insert(&aclList{base: s.seedBase("acl/" + d.name), name: d.name, text: d.text, isDefault: true})
		for i, traffic := range []string{"Ingress", "Egress"} {
			s.aclItems.insert(&aclItem{base: s.newBase(), list: l, number: int64(i + 1), protocol: "all", start: noPort, end: noPort, cidrs: []string{anywhere},
				traffic: traffic, action: d.action, state: ruleActive})
		}
	}
}

// mayUseList refuses a list of another account's VPC; lists of all VPCs may be read by everybody.
func (c *call) mayUseList(l *aclList) error {
	if l.vpc == nil {
		return nil
	}
	return c.mayUse(l.vpc.owner)
}

func createNetworkACLList(c *call) (*work, error) {
	v, named := refer(c, c.vpcs, "vpcid")
	switch {
	case named && (v == nil || !v.live()):
		return nil, invalid("Unable to find VPC")
	case named && c.mayUse(v.owner) != nil:
		return nil, denied(noPermission)
	case !named && !c.root():
		return nil, denied("Only Root Admin can create global ACLs.")
	}
	l := c.aclLists.insert(&aclList{base: c.newBase(), name: c.str("name"), text: c.str("description"), vpc: v})
	return &work{created: l.id, instanceType: "NetworkAcl", instanceID: l.id, run: func() (object, error) {
		return obj("networkacllist", c.aclListObject(l)), nil
	}}, nil
}

// changeableList finds a list that a command changes, in its job.
func (c *call) changeableList(param string) (*aclList, error) {
	l, _ := refer(c, c.aclLists, param)
	switch {
	case l == nil:
		return nil, invalid("Unable to find specified ACL")
	case l.isDefault:
		return nil, invalid("Default ACL cannot be modified")
	case l.vpc == nil && !c.root():
		return nil, denied("Only Root Admins can modify global ACLs.")
	}
	return l, c.mayUseList(l)
}

func updateNetworkACLList(c *call) (*work, error) {
	l, err := c.changeableList("id")
	if err != nil {
		return nil, err
	}
	return &work{instanceType: "NetworkAcl", instanceID: l.id, run: func() (object, error) {
		for param, to := range map[string]*string{"name": &l.name, "description": &l.text} {
			if s := c.str(param); s != "" {
				*to = s
			}
		}
		return success(), nil
	}}, nil
}

// deleteNetworkACLList removes a list that no tier uses.
func deleteNetworkACLList(c *call) (*work, error) {
	l, _ := refer(c, c.aclLists, "id")
	if l == nil {
		return nil, invalid("Unable to find specified ACL")
	}
	if err := c.mayUseList(l); err != nil {
		return nil, err
	}
	return &work{instanceType: "NetworkAcl", instanceID: l.id, run: func() (object, error) {
		tiers := c.networks.all(func(n *network) bool { return n.acl == l })
		switch {
		case l.isDefault:
			return nil, invalid("Default ACL cannot be removed")
		case l.vpc == nil && !c.root():
			return nil, denied("Only Root Admins can delete global ACLs.")
		case len(tiers) > 0:
			return nil, internal("ACL is still associated with %d tier(s). Cannot delete network ACL: %s", len(tiers), l.id)
		}
		c.dropACLList(l)
		return success(), nil
	}}, nil
}

func (s *Server) dropACLList(l *aclList) {
	for _, i := range s.itemsOf(l) {
		s.aclItems.drop(i)
		s.dropTags("NetworkACL", i.id)
	}
	if _, ok := s.aclLists.index[l.id]; ok {
		s.aclLists.drop(l)
		s.dropTags("NetworkACLList", l.id)
	}
}

// replaceNetworkACLList gives a tier another list.
func replaceNetworkACLList(c *call) (*work, error) {
	l, _ := refer(c, c.aclLists, "aclid")
	n, named := refer(c, c.networks, "networkid")
	switch {
	case !named:
		return nil, invalid("Network id or private gateway id should be specified")
	case l == nil:
		return nil, invalid("Unable to find specified ACL")
	case n == nil || !n.live():
		return nil, invalid("Unable to find specified Network")
	}
	if err := c.mayUse(n.owner); err != nil {
		return nil, err
	}
	return &work{run: func() (object, error) {
		switch {
		case n.vpc == nil:
			return nil, invalid("Network is not part of a VPC: %s", n.printed())
		case l.vpc != nil && l.vpc != n.vpc:
			return nil, invalid("Network: %s and ACL: %s do not belong to the same VPC", n.id, l.id)
		}
		n.acl = l
		return success(), nil
	}}, nil
}

func listNetworkACLLists(c *call) (object, error) {
	v, byVPC := refer(c, c.vpcs, "vpcid")
	n, byNetwork := refer(c, c.networks, "networkid")
	owner, err := c.scopeOf(scopeOwn)
	switch {
	case err != nil:
		return nil, err
	case byVPC && (v == nil || !v.live()):
		return nil, invalid("Unable to find VPC")
	case byVPC && c.mayUse(v.owner) != nil:
		return nil, denied(noPermission)
	}
	rows := c.aclLists.all(func(l *aclList) bool {
		seen := l.vpc == nil || owner(l.vpc.owner) || byVPC
		return allOf(seen, refersTo(c, c.aclLists, "id")(l), !byVPC || l.vpc == nil || l.vpc == v, !byNetwork || (n != nil && n.acl == l), c.text("name", l.name), c.keyword(l.name, l.text))
	})
	slices.Reverse(rows)
	return pageOf(c, "networkacllist", rows, c.aclListObject)
}

func (c *call) aclListObject(l *aclList) object {
	o := obj("id", l.id, "name", l.name).text("description", l.text)
	if l.vpc != nil {
		o = append(o, obj("vpcid", l.vpc.id, "vpcname", l.vpc.name)...)
	}
	if c.root() {
		o = o.with("fordisplay", true)
	}
	return o
}
