package cloudsim

import (
	"slices"
	"strings"
)

// aclItem is one rule of a list; the lowest number that fits decides.
type aclItem struct {
	base
	list               *aclList
	number             int64
	protocol           string
	start, end         int
	icmpType, icmpCode int
	cidrs              []string
	traffic, action    string
	reason, state      string
}

func (s *Server) itemsOf(l *aclList) []*aclItem {
	return s.aclItems.all(func(i *aclItem) bool { return i.list == l })
}

// targetList is the list that a new item goes to: one that is named, or that of a tier, which gets a list of its own if it has none.
func (c *call) targetList() (*aclList, error) {
	if c.has("aclid") {
		return c.changeableList("aclid")
	}
	n, named := refer(c, c.networks, "networkid")
	switch {
	case !named:
		return nil, invalid("Cannot create Network ACL Item. ACL Id or network Id is required")
	case n == nil || !n.live():
		return nil, invalid("Unable to find specified Network")
	case n.vpc == nil:
		return nil, invalid("Network: %s is not a VPC tier", n.id)
	case c.mayUse(n.owner) != nil:
		return nil, denied(noPermission)
	case n.acl != nil && n.acl.isDefault:
		return nil, invalid("Default ACL cannot be modified")
	case n.acl == nil:
		n.acl = c.aclLists.insert(&aclList{base: c.newBase(), name: "VPC_" + n.vpc.name + "_Tier_" + n.name + "_ACL_" + n.id, text: "ACL for " + n.name, vpc: n.vpc})
	}
	return n.acl, nil
}

// createNetworkACL adds an item to a list.
func createNetworkACL(c *call) (*work, error) {
	if !c.has("aclid") && !c.has("networkid") {
		return nil, invalid("Cannot create Network ACL Item. ACL Id or network Id is required")
	}
	i := &aclItem{number: c.num("number", 0), start: c.port("startport"), end: c.port("endport"), icmpType: icmpAny, icmpCode: icmpAny,
		cidrs: []string{anywhere, "::/0"}, traffic: "Ingress", action: "Allow", state: ruleActive}
	if err := c.readACLItem(i); err != nil {
		return nil, err
	}
	l, err := c.targetList()
	if err != nil {
		return nil, err
	}
	i.list = l
	if err := c.numberItem(i); err != nil {
		return nil, err
	}
	i.base = c.newBase()
	c.aclItems.insert(i)
	return &work{created: i.id, instanceType: "NetworkAclItem", instanceID: i.id, run: func() (object, error) {
		if c.refused() {
			c.aclItems.drop(i)
			return nil, wrapped(530, "Failed to create network ACL Item")
		}
		return obj("networkacl", c.aclItemObject(i)), nil
	}}, nil
}

// numberItem refuses a number that is taken; without one an item comes last.
func (c *call) numberItem(i *aclItem) error {
	last := int64(0)
	for _, other := range c.itemsOf(i.list) {
		if other != i && other.number == i.number {
			return invalid("ACL item with number %d already exists in ACL: %s", i.number, i.list.id)
		}
		last = max(last, other.number)
	}
	if i.number == 0 {
		i.number = last + 1
	}
	return nil
}

// readACLItem takes what is sent of an item and refuses what no item can be.
func (c *call) readACLItem(i *aclItem) error {
	if c.has("protocol") {
		i.protocol = strings.ToLower(c.str("protocol"))
	}
	if c.has("cidrlist") {
		i.cidrs = c.list("cidrlist")
	}
	for param, to := range map[string]*string{"action": &i.action, "traffictype": &i.traffic, "reason": &i.reason} {
		if v := c.str(param); v != "" {
			*to = v
		}
	}
	i.icmpType, i.icmpCode = int(c.num("icmptype", int64(i.icmpType))), int(c.num("icmpcode", int64(i.icmpCode)))
	if i.start != noPort && i.end == noPort {
		i.end = i.start
	}
	for _, v := range i.cidrs {
		if !isCIDR(v) {
			return badParam("Source cidrs formatting error %s", v)
		}
	}
	return i.check()
}

func (i *aclItem) check() error {
	spelled := func(v string, known ...string) string {
		at := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, v) })
		if at < 0 {
			return ""
		}
		return known[at]
	}
	action, traffic := spelled(i.action, "Allow", "Deny"), spelled(i.traffic, "Ingress", "Egress")
	switch {
	case !slices.Contains([]string{"tcp", "udp", "icmp", "all"}, i.protocol):
		return invalid("Invalid protocol [%s]. Expected one of: [tcp,udp,icmp,all]", i.protocol)
	case action == "":
		return invalid("Invalid action [%s]. Permitted actions are Allow and Deny", i.action)
	case traffic == "":
		return invalid("Invalid traffic type %s", i.traffic)
	}
	i.action, i.traffic = action, traffic
	return checkPorts(i.start, i.end, csInvalid)
}

// ownACLItem finds the item of a command that changes it.
func (c *call) ownACLItem() (*aclItem, error) {
	i, _ := refer(c, c.aclItems, "id")
	switch {
	case i == nil:
		return nil, invalid("Unable to find ACL Item cannot be found")
	case i.list.isDefault:
		return nil, invalid("Default ACL cannot be modified")
	case i.list.vpc == nil && !c.root():
		return nil, denied(noPermission)
	}
	return i, c.mayUseList(i.list)
}

func updateNetworkACLItem(c *call) (*work, error) {
	i, err := c.ownACLItem()
	if err != nil {
		return nil, err
	}
	changed := *i
	changed.number = c.num("number", i.number)
	changed.start, changed.end = int(c.num("startport", int64(i.start))), int(c.num("endport", int64(i.end)))
	if err := c.readACLItem(&changed); err != nil {
		return nil, err
	}
	for _, other := range c.itemsOf(i.list) {
		if other != i && other.number == changed.number {
			return nil, invalid("ACL item with number %d already exists in ACL: %s", changed.number, i.list.id)
		}
	}
	return &work{instanceType: "NetworkAclItem", instanceID: i.id, run: func() (object, error) {
		*i = changed
		return obj("networkacl", c.aclItemObject(i)), nil
	}}, nil
}

func deleteNetworkACL(c *call) (*work, error) {
	i, err := c.ownACLItem()
	if err != nil {
		return nil, err
	}
	return &work{instanceType: "NetworkAclItem", instanceID: i.id, run: func() (object, error) {
		if _, ok := c.aclItems.index[i.id]; ok {
			c.aclItems.drop(i)
			c.dropTags("NetworkACL", i.id)
		}
		return success(), nil
	}}, nil
}

func listNetworkACLs(c *call) (object, error) {
	tagged, err := c.tagFilter("NetworkACL")
	if err != nil {
		return nil, err
	}
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	l, byList := refer(c, c.aclLists, "aclid")
	if byList && l != nil && c.mayUseList(l) != nil {
		return nil, denied(noPermission)
	}
	n, byNetwork := refer(c, c.networks, "networkid")
	rows := c.aclItems.all(func(i *aclItem) bool {
		seen := (i.list.vpc == nil && (byList || c.has("id"))) || (i.list.vpc != nil && (owner(i.list.vpc.owner) || byList)) || byNetwork
		return allOf(seen, tagged(i.id), refersTo(c, c.aclItems, "id")(i), !byList || i.list == l, !byNetwork || (n != nil && n.acl == i.list && owner(n.owner)),
			c.choice("traffictype", i.traffic), c.choice("protocol", i.protocol), c.choice("action", i.action), c.keyword(i.protocol))
	})
	slices.Reverse(rows)
	return pageOf(c, "networkacl", rows, c.aclItemObject)
}

func (c *call) aclItemObject(i *aclItem) object {
	o := obj("id", i.id, "protocol", i.protocol, "startport", portText(i.start), "endport", portText(i.end), "traffictype", i.traffic, "state", i.state,
		"cidrlist", strings.Join(i.cidrs, ","))
	if i.protocol == "icmp" {
		o = append(o, obj("icmptype", i.icmpType, "icmpcode", i.icmpCode)...)
	}
	o = append(o, obj("tags", c.shortTags("NetworkACL", i.id), "aclid", i.list.id, "aclname", i.list.name, "number", i.number, "action", i.action)...)
	if c.root() {
		o = o.with("fordisplay", true)
	}
	return o.text("reason", i.reason)
}
