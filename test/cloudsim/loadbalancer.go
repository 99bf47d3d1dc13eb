package cloudsim

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// loadBalancer spreads what arrives on a port of an address over machines. The port counts as taken for tcp whatever its own protocol is.
type loadBalancer struct {
	portRule
	name, text string
	algorithm  string
	carries    string // the protocol that was asked for, empty when none was
	private    int
	sources    string // CIDRs as they are listed
	members    []lbMember
}

// lbMember is a machine behind a load balancer, with the address that it is reached by.
type lbMember struct {
	machine *machine
	address netip.Addr
}

func (lb *loadBalancer) has(m *machine) bool {
	return slices.ContainsFunc(lb.members, func(x lbMember) bool { return x.machine == m })
}

// settle gives a load balancer the state that it has when nobody works on it.
func (lb *loadBalancer) settle() {
	lb.state = ruleActive
	if len(lb.members) == 0 {
		lb.state = ruleAdd
	}
}

// unsettle is its state while members come or go.
func (lb *loadBalancer) unsettle() { lb.state = ruleAdd }

func (lb *loadBalancer) describe() string {
	return fmt.Sprintf(`LoadBalancer {"name":%s,"id":%d,"purpose":%q,"state":%q,"uuid":%q}`, quoteJSON(lb.name), lb.db, lb.purpose, lb.state, lb.id)
}

// createLoadBalancerRule makes a rule on a port of an address.
func createLoadBalancerRule(c *call) (*work, error) {
	ip, err := c.ownAddress("publicipid")
	switch {
	case err != nil:
		return nil, err
	case !c.has("publicipid"):
		return nil, invalid("Can't define IP owner. Either specify account/domainId or publicIpId")
	case ip == nil || ip.owner == nil || ip.state == addressAllocating:
		return nil, invalid("Unable to create load balancer rule, invalid IP address ID %s", dbOf(ip, c.str("publicipid")))
	}
	lb, err := c.readLoadBalancer(ip)
	if err != nil {
		return nil, err
	}
	n, err := c.balancedNetwork(ip)
	if err != nil {
		return nil, err
	}
	lb.owner, lb.network, lb.ip = ip.owner, n, ip
	for _, other := range c.rulesOn(ip) {
		if other.purpose != purposeFirewall && other.protocol == lb.protocol && lb.overlaps(other) {
			return nil, lb.conflict(other, csPlain)
		}
	}
	c.insertLoadBalancer(lb)
	return &work{created: lb.id, instanceType: "FirewallRule", instanceID: lb.id, run: func() (object, error) { return c.bringUp(lb) }}, nil
}

// bringUp ends the creation of a load balancer: the router is only told of the firewall rule, members it has none.
func (c *call) bringUp(lb *loadBalancer) (object, error) {
	fw := c.opened(&lb.portRule)
	if fw != nil && c.refused() {
		c.dropRule(&lb.portRule)
		return nil, wrapped(530, "Failed to create load balancer rule")
	}
	if fw != nil {
		fw.state = ruleActive
	}
	return obj("loadbalancer", c.loadBalancerObject(lb)), nil
}

// readLoadBalancer reads what does not depend on the network.
func (c *call) readLoadBalancer(ip *publicIP) (*loadBalancer, error) {
	lb := &loadBalancer{portRule: portRule{purpose: purposeBalancing, protocol: "tcp", start: c.port("publicport"), end: c.port("publicport"), state: ruleAdd},
		name: c.str("name"), text: c.str("description"), algorithm: c.str("algorithm"), carries: strings.ToLower(c.str("protocol")), private: c.port("privateport")}
	for _, v := range c.list("cidrlist") {
		if !isCIDR(v) {
			return nil, badParam("CIDR [%s] is invalid.", v)
		}
	}
	lb.sources = strings.Join(c.list("cidrlist"), " ")
	switch {
	case lb.start < 0 || lb.start > maxPort:
		return nil, badParam("publicPort is an invalid value: %d", lb.start)
	case lb.private < 0 || lb.private > maxPort:
		return nil, badParam("privatePort is an invalid value: %d", lb.private)
	case !slices.Contains([]string{"roundrobin", "leastconn", "source"}, lb.algorithm):
		return nil, badParam("Invalid algorithm: %s", lb.algorithm)
	case ip.vpc != nil && c.flag("openfirewall"):
		return nil, badParam("Can't have openFirewall=true when IP address belongs to VPC")
	case ip.machine != nil:
		return nil, wrapped(537, "Can't do load balance on ip address: %s", ip.address)
	}
	return lb, nil
}

// balancedNetwork is the network of the members: that of the address, or the tier that is named for an address of a VPC.
func (c *call) balancedNetwork(ip *publicIP) (*network, error) {
	n := ip.network
	tier, named := refer(c, c.networks, "networkid")
	if ip.vpc != nil && n == nil && named {
		if tier == nil || !tier.live() || tier.vpc != ip.vpc {
			return nil, badParam("IP address ID=%d is not associated with any network", ip.db)
		}
		n = tier
	}
	switch {
	case n == nil:
		return nil, badParam("IP address ID=%d is not associated with any network", ip.db)
	case !n.supports("Lb"):
		return nil, badParam("LB service is not supported in specified network id")
	}
	return n, nil
}

// insertLoadBalancer stores a rule. An address of a VPC belongs to the tier from then on, and is no longer what the VPC leaves by.
func (c *call) insertLoadBalancer(lb *loadBalancer) {
	lb.base = c.newRuleBase()
	c.loadBalancers.insert(lb)
	if ip := lb.ip; ip.vpc != nil {
		ip.network = lb.network
		if ip.sourceNAT {
			ip.sourceNAT = false
			c.ensureVPCSourceNAT(ip.vpc)
		}
		return
	}
	if c.flagOr("openfirewall", true) {
		c.openFirewall(&lb.portRule)
	}
}

// ownLoadBalancer finds the rule of a command; it exists, or the parameter layer had refused its id.
func (c *call) ownLoadBalancer() *loadBalancer {
	lb, _ := refer(c, c.loadBalancers, "id")
	return lb
}

// updateLoadBalancerRule stores whatever is sent. Of a rule without a protocol it then fails, and what was sent is stored all the same.
func updateLoadBalancerRule(c *call) (*work, error) {
	lb := c.ownLoadBalancer()
	if lb == nil {
		return nil, invalid("Unable to find load balancer rule %s", c.str("id"))
	}
	if err := c.mayUse(lb.owner); err != nil {
		return nil, err
	}
	return &work{run: func() (object, error) {
		before := *lb
		changed, err := c.changeLoadBalancer(lb)
		switch {
		case err != nil:
			return nil, err
		case lb.carries == "":
			return nil, internal(`Cannot invoke "String.equals(Object)" because the return value of "com.cloud.network.dao.LoadBalancerVO.getLbProtocol()" is null`)
		case !changed || c.refused():
			lb.name, lb.text, lb.algorithm, lb.carries, lb.sources = before.name, before.text, before.algorithm, before.carries, before.sources
			lb.settle()
			return nil, internal("Failed to update load balancer rule: %s", lb.describe())
		}
		lb.state = ruleAdd // as the reply still shows it
		reply := obj("loadbalancer", c.loadBalancerObject(lb))
		lb.settle()
		return reply, nil
	}}, nil
}

// changeLoadBalancer stores what is sent; nothing of it is checked but the CIDRs.
func (c *call) changeLoadBalancer(lb *loadBalancer) (changed bool, err error) {
	for _, v := range c.list("cidrlist") {
		if !isCIDR(v) {
			return false, invalid("Invalid CIDR list: %s", c.str("cidrlist"))
		}
	}
	for param, to := range map[string]*string{"name": &lb.name, "description": &lb.text, "algorithm": &lb.algorithm, "protocol": &lb.carries} {
		if v := c.str(param); v != "" {
			*to, changed = v, true
		}
	}
	if c.has("cidrlist") {
		lb.sources, changed = strings.Join(c.list("cidrlist"), ","), true
	}
	return changed, nil
}

// deleteLoadBalancerRule removes a rule with its members.
func deleteLoadBalancerRule(c *call) (*work, error) {
	lb := c.ownLoadBalancer()
	if lb == nil {
		return nil, invalid("Unable to find load balancer rule %s", c.str("id"))
	}
	return &work{run: func() (object, error) {
		switch {
		case c.mayUse(lb.owner) != nil:
			return nil, denied(noPermission)
		case c.refused():
			return nil, internal("Unable to remove load balancer rule %s", lb.describe())
		}
		c.dropRule(&lb.portRule)
		return success(), nil
	}}, nil
}

func listLoadBalancerRules(c *call) (object, error) {
	tagged, err := c.tagFilter("LoadBalancer")
	if err != nil {
		return nil, err
	}
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	m, byMember := refer(c, c.machines, "virtualmachineid")
	rows := c.loadBalancers.all(func(lb *loadBalancer) bool {
		return allOf(owner(lb.owner), tagged(lb.id), refersTo(c, c.loadBalancers, "id")(lb), refersTo(c, c.publicIPs, "publicipid")(lb.ip), refersTo(c, c.networks, "networkid")(lb.network),
			refersTo(c, c.zones, "zoneid")(lb.network.zone), c.text("name", lb.name), c.keyword(lb.name), !byMember || lb.has(m))
	})
	return pageOf(c, "loadbalancerrule", rows, c.loadBalancerObject)
}

func (c *call) loadBalancerObject(lb *loadBalancer) object {
	z := lb.network.zone
	o := obj("id", lb.id, "name", lb.name).text("description", lb.text)
	o = append(o, obj("publicipid", lb.ip.id, "publicip", lb.ip.address.String(), "publicport", portText(lb.start), "privateport", portText(lb.private),
		"algorithm", lb.algorithm, "networkid", lb.network.id)...)
	o = o.text("cidrlist", lb.sources)
	o = append(o, c.ownerFields(lb.owner, "account")...)
	o = append(o, c.domainFirst(lb.owner)...)
	o = append(o, obj("state", lb.state, "zoneid", z.id, "zonename", z.name)...).text("protocol", lb.carries)
	o = o.with("tags", c.shortTags("LoadBalancer", lb.id))
	if c.root() {
		o = o.with("fordisplay", true)
	}
	return o
}
