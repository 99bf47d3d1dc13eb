package cloudsim

import (
	"fmt"
	"slices"
	"strings"
)

func listNetworks(c *call) (object, error) {
	tagged, err := c.tagFilter("Network")
	if err != nil {
		return nil, err
	}
	if t := c.str("type"); t != "" && !contains([]string{"isolated", "shared", "l2", "all"}, strings.ToLower(t)) {
		return nil, invalid("Unexpected Guest type : %s", t)
	}
	owner, err := c.scopeOf(scopeDomain)
	if err != nil {
		return nil, err
	}
	rows := c.networks.all(func(n *network) bool { return c.seesNetwork(n, owner) && tagged(n.id) && c.matchesNetwork(n) })
	slices.Reverse(rows)
	return pageOf(c, "network", rows, c.networkObject)
}

// seesNetwork says whether a list holds a network: those of the owners that are asked for, and those that these share with others.
func (c *call) seesNetwork(n *network, owner owns) bool {
	if n.scope == nil {
		return owner(n.owner)
	}
	d, _ := refer(c, c.domains, "domainid")
	switch {
	case c.has("projectid"):
		return false
	case d == nil && c.root() && c.flag("listall"):
		return true
	case d == nil:
		d = c.acct.domain
	}
	return n.reaches(d)
}

func (c *call) matchesNetwork(n *network) bool {
	return allOf(refersTo(c, c.networks, "id")(n), refersTo(c, c.zones, "zoneid")(n.zone), refersTo(c, c.networkOfferings, "networkofferingid")(n.offering),
		refersTo(c, c.vpcs, "vpcid")(n.vpc), c.truth("forvpc", n.vpc != nil), c.text("name", n.name), c.keyword(n.name),
		strings.EqualFold(c.str("type"), "all") || c.choice("type", n.kind()), c.text("traffictype", "Guest"), c.choice("acltype", n.aclType()), !c.flag("issystem"),
		c.truth("specifyipranges", n.offering.flag("specifyipranges")), c.truth("restartrequired", false), c.truth("canusefordeploy", true),
		n.offering.supports(c.list("supportedservices")), c.filteredAs(n))
}

// filteredAs is the filter by whose a network is: the account's, its domain's, shared with it, or all.
func (c *call) filteredAs(n *network) bool {
	switch strings.ToLower(c.str("networkfilter")) {
	case "account":
		return n.scope == nil
	case "domain", "accountdomain":
		return n.scope != nil || strings.EqualFold(c.str("networkfilter"), "accountdomain")
	case "shared":
		return n.kind() == kindShared
	}
	return true
}

func (n *network) aclType() string {
	if n.scope != nil {
		return "Domain"
	}
	return "Account"
}

func (c *call) networkObject(n *network) object {
	a := n.offering.attrs
	o := obj("id", n.id, "name", n.name, "displaytext", n.text, "broadcastdomaintype", "Vlan", "traffictype", "Guest")
	if n.cidr.IsValid() {
		o = append(o, obj("gateway", n.gateway.String(), "netmask", netmaskOf(n.cidr), "cidr", n.cidr.String())...)
	}
	o = append(o, obj("zoneid", n.zone.id, "zonename", n.zone.name, "networkofferingid", n.offering.id, "networkofferingname", n.offering.name,
		"networkofferingdisplaytext", a.str("displaytext"), "networkofferingconservemode", a.get("conservemode"), "networkofferingavailability", a.get("availability"),
		"issystem", false, "state", n.state, "related", n.id)...)
	wired := c.root() && (n.state == networkImplemented || n.state == networkSetup)
	if wired {
		o = o.with("broadcasturi", fmt.Sprintf("vlan://%d", n.vlan))
	}
	o = append(o, c.networkDNS(n)...)
	o = o.with("type", n.kind())
	if wired {
		o = o.with("vlan", fmt.Sprint(n.vlan))
	}
	o = append(o, c.networkOwnerFields(n)...)
	o = o.with("service", c.networkServices(n.offering))
	if n.cidr.IsValid() {
		o = o.with("networkdomain", n.domain)
	}
	o = append(o, obj("physicalnetworkid", c.physicalNetworkOf(n.zone), "restartrequired", false, "specifyvlan", a.get("specifyvlan"), "specifyipranges", a.get("specifyipranges"))...)
	if n.vpc != nil {
		o = append(o, obj("vpcid", n.vpc.id, "vpcname", n.vpc.name)...)
	}
	o = append(o, obj("canusefordeploy", true, "ispersistent", a.get("ispersistent"), "tags", c.shortTags("Network", n.id))...)
	return append(o, c.networkTail(n)...)
}

func (c *call) networkDNS(n *network) object {
	if len(n.dns) == 0 {
		return object{}.with("dns1", n.zone.attrs.get("dns1"))
	}
	o := object{}
	for i, v := range n.dns {
		o = o.with(fmt.Sprintf("dns%d", i+1), v)
	}
	return o
}

// networkOwnerFields says whose a network is; one that a domain shares names no account.
func (c *call) networkOwnerFields(n *network) object {
	o := obj("acltype", n.aclType())
	if n.scope != nil {
		return append(o, obj("subdomainaccess", n.subdomains, "domainid", n.scope.id, "domain", n.scope.name, "domainpath", n.scope.path())...)
	}
	o = append(o, c.ownerFields(n.owner, "account")...)
	return append(o, c.domainFirst(n.owner)...)
}

func (c *call) networkTail(n *network) object {
	o := object{}
	if c.root() {
		o = append(o, obj("details", object{}, "displaynetwork", true)...)
	}
	if n.acl != nil {
		o = append(o, obj("aclid", n.acl.id, "aclname", n.acl.name)...)
	}
	o = append(o, obj("strechedl2subnet", false, "redundantrouter", false, "supportsvmautoscaling", n.supports("Lb"), "created", stamp(n.created),
		"receivedbytes", 0, "sentbytes", 0)...)
	if n.kind() == kindIsolated && n.vpc == nil {
		o = o.with("egressdefaultpolicy", n.offering.flag("egressdefaultpolicy"))
	}
	return append(o, obj("publicmtu", 1500, "privatemtu", 1500, "hasannotations", false)...)
}

// networkServices are the services of an offering with what their provider can do.
func (s *Server) networkServices(o *offering) []object {
	list, _ := o.attrs.get("service").([]any)
	out := []object{}
	for _, v := range list {
		service, ok := v.(object)
		if !ok {
			continue
		}
		name, provider := service.str("name"), ""
		if ps, ok := service.get("provider").([]any); ok && len(ps) > 0 {
			if p, ok := ps[0].(object); ok {
				provider = p.str("name")
			}
		}
		shown := obj("name", name, "provider", []object{obj("name", provider)})
		byProvider, _ := s.networkCapabilities.get(name).(object)
		capability := byProvider.get(provider)
		if capability == nil {
			capability = []object{}
		}
		out = append(out, shown.with("capability", capability))
	}
	return out
}
