package cloudsim

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// States of a public address.
const (
	addressFree       = "Free"
	addressAllocating = "Allocating"
	addressAllocated  = "Allocated"
	addressReleasing  = "Releasing"
)

// publicRange is a range of public addresses of a zone.
type publicRange struct {
	base
	zone    *zone
	network string // id of the public network
	vlan    string
	gateway string
	netmask string
}

// publicIP is an address of a public range. Its row and id stay whoever holds the address.
type publicIP struct {
	base
	ranges    *publicRange
	address   netip.Addr
	state     string
	owner     *account // nil while it is free
	allocated time.Time
	network   *network
	target    *network // that it was taken for
	vpc       *vpc
	sourceNAT bool
	machine   *machine // with static NAT
	builtin   bool     // the server itself holds it
}

func (ip *publicIP) zone() *zone { return ip.ranges.zone }

func (ip *publicIP) printed() string {
	return fmt.Sprintf(`IPAddress {"address":%q,"dataCenterId":%d,"id":%d,"uuid":%q}`, ip.address, ip.zone().db, ip.db, ip.id)
}

// seedAddresses gives a zone a range of public addresses.
func (s *Server) seedAddresses(z *zone, o object, ids map[string]string) {
	first, err := netip.ParseAddr(o.str("startip"))
	last, err2 := netip.ParseAddr(o.str("endip"))
	public, _ := o.get("forvirtualnetwork").(bool)
	if err != nil || err2 != nil || !public {
		return
	}
	r := s.publicRanges.insert(&publicRange{base: s.newBase(), zone: z, network: s.ids.uuid(), vlan: o.str("vlan"), gateway: o.str("gateway"), netmask: o.str("netmask")})
	for a := first; a.Compare(last) <= 0; a = a.Next() {
		b := s.newBase()
		if id, ok := ids[a.String()]; ok {
			b.id = id
		}
		s.publicIPs.insert(&publicIP{base: b, ranges: r, address: a, state: addressFree})
	}
}

// takeAddress reserves the lowest free address of a zone, or the wanted one. It returns nil when there is none.
func (s *Server) takeAddress(z *zone, owner *account, wanted string) *publicIP {
	for _, ip := range s.publicIPs.rows {
		if ip.zone() == z && ip.state == addressFree && (wanted == "" || ip.address.String() == wanted) {
			ip.state, ip.owner, ip.allocated = addressAllocating, owner, s.now()
			return ip
		}
	}
	return nil
}

// giveBack takes an address away from its holder, with the rules that hang on it. Its tags stay unless the command was to give it back:
// those of an address that goes with its network are found by the next holder.
func (s *Server) giveBack(ip *publicIP) {
	for _, r := range s.rulesOn(ip) {
		s.dropRule(r)
	}
	delete(s.natted, ip.machine)
	*ip = publicIP{base: ip.base, ranges: ip.ranges, address: ip.address, state: addressFree}
}

// addressesOf are the addresses of a network, the lowest first.
func (s *Server) addressesOf(n *network) []*publicIP {
	return s.publicIPs.all(func(ip *publicIP) bool { return ip.network == n })
}

// sourceNATOf is the address that the guests of a network leave by, nil when it has none.
func (s *Server) sourceNATOf(n *network) *publicIP {
	for _, ip := range s.publicIPs.rows {
		if ip.sourceNAT && ip.network == n && ip.vpc == nil {
			return ip
		}
	}
	return nil
}

// addressesOfVPC are the addresses of a VPC and its tiers.
func (s *Server) addressesOfVPC(v *vpc) []*publicIP {
	return s.publicIPs.all(func(ip *publicIP) bool { return ip.vpc == v })
}

func (s *Server) sourceNATOfVPC(v *vpc) *publicIP {
	for _, ip := range s.addressesOfVPC(v) {
		if ip.sourceNAT {
			return ip
		}
	}
	return nil
}

// ensureSourceNAT gives a network, or the VPC it is a tier of, an address to leave by.
func (s *Server) ensureSourceNAT(n *network) {
	switch {
	case n.vpc != nil:
		s.ensureVPCSourceNAT(n.vpc)
	case n.kind() == kindIsolated && n.supports("SourceNat") && s.sourceNATOf(n) == nil:
		if ip := s.takeAddress(n.zone, n.owner, ""); ip != nil {
			ip.state, ip.network, ip.sourceNAT = addressAllocated, n, true
		}
	}
}

func (s *Server) ensureVPCSourceNAT(v *vpc) {
	if s.sourceNATOfVPC(v) != nil {
		return
	}
	if ip := s.takeAddress(v.zone, v.owner, ""); ip != nil {
		ip.state, ip.vpc, ip.sourceNAT = addressAllocated, v, true
	}
}

func listPublicIPAddresses(c *call) (object, error) {
	tagged, err := c.tagFilter("PublicIpAddress")
	if err != nil {
		return nil, err
	}
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	rows := c.publicIPs.all(func(ip *publicIP) bool {
		if ip.owner == nil {
			return c.wantsFree() && c.matchesFree(ip)
		}
		return owner(ip.owner) && c.matchesAddress(ip) && tagged(ip.id)
	})
	if n, ok := refer(c, c.networks, "associatednetworkid"); ok && n != nil && !n.live() && len(c.addressesOf(n)) > 0 && len(rows) > 0 {
		return nil, &apiError{code: 530, cs: csPlain, text: fmt.Sprintf("Unable to find network by id %d", n.db), hidden: true}
	}
	return pageOf(c, "publicipaddress", rows, c.addressObject)
}

// wantsFree says whether a list shows addresses that nobody holds.
func (c *call) wantsFree() bool {
	switch {
	case c.flag("forloadbalancing"), c.flag("issourcenat"), c.flag("isstaticnat"), c.has("vpcid"), len(c.maps["tags"]) > 0, !c.flagOr("forvirtualnetwork", true):
		return false
	case c.has("state"):
		return strings.EqualFold(c.str("state"), addressFree)
	}
	return !c.flagOr("allocatedonly", true)
}

// matchesFree filters free addresses; of the network that is asked for only its zone counts.
func (c *call) matchesFree(ip *publicIP) bool {
	n, byNetwork := refer(c, c.networks, "associatednetworkid")
	if byNetwork && (n == nil || (n.live() && n.zone != ip.zone()) || !n.live()) {
		return false
	}
	return c.matchesAnyAddress(ip)
}

// matchesAddress filters the addresses that somebody holds.
func (c *call) matchesAddress(ip *publicIP) bool {
	hidden := ip.state != addressAllocated && c.flagOr("allocatedonly", true)
	return allOf(!hidden, c.choice("state", ip.state), refersTo(c, c.networks, "associatednetworkid")(ip.network), refersTo(c, c.vpcs, "vpcid")(ip.vpc),
		c.truth("issourcenat", ip.sourceNAT), c.truth("isstaticnat", ip.machine != nil), !c.flag("forloadbalancing") || c.balances(ip), c.flagOr("forvirtualnetwork", true),
		c.matchesAnyAddress(ip))
}

func (c *call) matchesAnyAddress(ip *publicIP) bool {
	return allOf(refersTo(c, c.publicIPs, "id")(ip), refersTo(c, c.zones, "zoneid")(ip.zone()), refersTo(c, c.publicRanges, "vlanid")(ip.ranges),
		c.text("ipaddress", ip.address.String()), c.keyword(ip.address.String()))
}

// balances says whether an address carries load-balancer rules.
func (s *Server) balances(ip *publicIP) bool {
	for _, lb := range s.loadBalancers.rows {
		if lb.ip == ip {
			return true
		}
	}
	return false
}

func (c *call) addressObject(ip *publicIP) object {
	z := ip.zone()
	o := obj("id", ip.id, "ipaddress", ip.address.String())
	if ip.owner != nil {
		o = o.with("allocated", stamp(ip.allocated))
	}
	o = append(o, obj("zoneid", z.id, "zonename", z.name, "issourcenat", ip.sourceNAT)...)
	if ip.owner != nil {
		o = append(o, c.ownerFields(ip.owner, "account")...)
		o = append(o, c.domainFirst(ip.owner)...)
	}
	o = o.with("forvirtualnetwork", true)
	if c.root() {
		o = append(o, obj("vlanid", ip.ranges.id, "vlanname", ip.ranges.vlan)...)
	}
	o = append(o, obj("isstaticnat", ip.machine != nil, "issystem", false)...)
	if m := ip.machine; m != nil {
		o = append(o, obj("virtualmachineid", m.id, "virtualmachinetype", "User", "vmipaddress", m.addressOn(ip.network), "virtualmachinename", m.name, "virtualmachinedisplayname", m.displayName)...)
	}
	if ip.network != nil {
		o = append(o, obj("associatednetworkid", ip.network.id, "associatednetworkname", ip.network.name)...)
	}
	o = append(o, obj("networkid", ip.ranges.network, "state", ip.state, "physicalnetworkid", c.physicalNetworkOf(z))...)
	if ip.vpc != nil {
		o = append(o, obj("vpcid", ip.vpc.id, "vpcname", ip.vpc.name)...)
	}
	o = append(o, obj("tags", c.shortTags("PublicIpAddress", ip.id), "isportable", false)...)
	if c.root() {
		o = o.with("fordisplay", true)
	}
	o = o.with("hasrules", len(c.rulesOn(ip)) > 0)
	if c.knows("4.20") {
		o = o.with("forsystemvms", false)
	}
	if c.knows("4.21") {
		o = o.with("forprovider", false)
	}
	o = o.with("hasannotations", false)
	if ip.owner == nil {
		return o
	}
	return c.withJob(o, ip.id)
}

// withJob adds the open job that is about a row.
func (c *call) withJob(o object, id string) object {
	if j := c.openJob(id); j != nil {
		return append(o, obj("jobid", j.id, "jobstatus", 0)...)
	}
	return o
}
