package cloudsim

import (
	_ "embed"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// States of a network.
const (
	networkAllocated    = "Allocated"
	networkImplementing = "Implementing"
	networkImplemented  = "Implemented"
)

// network is a guest network.
type network struct {
	base
	owner      *account
	name, text string
	zone       *zone
	offering   *offering
	cidr       netip.Prefix // zero for layer 2
	gateway    netip.Addr
	domain     string // of the guests
	state      string
	vlan       int
	router     bool // a virtual router was made for it
}

func (n *network) kind() string { return n.offering.attrs.str("guestiptype") }

//go:embed seed/networkservices.json
var networkServicesJSON []byte

// createNetwork makes a network; nothing of it exists in the zone until the first machine starts.
func createNetwork(c *call) (object, error) {
	owner, err := c.networkOwner()
	if err != nil {
		return nil, err
	}
	n, err := c.newNetwork(owner)
	if err != nil {
		return nil, err
	}
	if err := c.checkLimit(owner, limitNetwork, 1, csLimit); err != nil {
		return nil, err
	}
	c.insertNetwork(n)
	return obj("network", c.networkObject(n)), nil
}

// networkOwner is ownerOf in the words of the network service.
func (c *call) networkOwner() (*account, error) {
	owner, err := c.ownerOf()
	if d, _ := refer(c, c.domains, "domainid"); err != nil && d != nil && c.str("account") != "" && c.findAccount(c.str("account"), d) != nil && asAPIError(err).code == 531 {
		return nil, denied("Can't create/list resources for account %s in domain %d, permission denied", c.str("account"), d.db)
	}
	return owner, err
}

func (c *call) newNetwork(owner *account) (*network, error) {
	z, _ := refer(c, c.zones, "zoneid")
	o, _ := refer(c, c.networkOfferings, "networkofferingid")
	switch {
	case z == nil:
		return nil, invalid("Specified zone id was not found")
	case o == nil:
		return nil, invalid("Unable to find network offering by id %s", c.str("networkofferingid"))
	case z.allocation != "Enabled" && !c.root():
		return nil, denied("Cannot perform this operation since specified Zone is currently disabled").about("zoneId", z.id)
	case o.flag("forvpc") && !c.has("vpcid"):
		return nil, invalid("Network offering can be used for VPC networks only")
	case o.flag("specifyvlan") && !c.root():
		return nil, invalid("Only ROOT admin is allowed to specify vlanId or bypass vlan overlap check")
	}
	n := &network{owner: owner, name: c.str("name"), text: c.str("displaytext"), zone: z, offering: o, state: networkAllocated}
	if n.text == "" {
		n.text = n.name
	}
	if n.kind() != "L2" {
		if err := c.readAddresses(n); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// readAddresses takes gateway and netmask, both or neither.
func (c *call) readAddresses(n *network) error {
	n.cidr, n.gateway = defaultGuests()
	if c.str("gateway") == "" || c.str("netmask") == "" {
		return nil
	}
	gw, err := netip.ParseAddr(c.str("gateway"))
	if err != nil || !gw.Is4() {
		return invalid("Gateway parameter is invalid")
	}
	mask, err := netip.ParseAddr(c.str("netmask"))
	bits, ok := maskBits(mask)
	if err != nil || !ok {
		return invalid("Invalid gateway IP provided. Either the IP is broadcast or network IP.")
	}
	p := netip.PrefixFrom(gw, bits).Masked()
	switch {
	case gw == p.Addr() || gw == lastOf(p):
		return invalid("Invalid gateway IP provided. Either the IP is broadcast or network IP.")
	case !gw.IsPrivate() && !carrierGrade().Contains(gw):
		return invalid("Virtual Guest Cidr %s is not RFC 1918 or 6598 compliant", p)
	}
	n.cidr, n.gateway = p, gw
	return nil
}

func maskBits(mask netip.Addr) (int, bool) {
	if !mask.Is4() {
		return 0, false
	}
	var v uint32
	for _, b := range mask.As4() {
		v = v<<8 | uint32(b)
	}
	bits := 0
	for ; v&0x80000000 != 0; v <<= 1 {
		bits++
	}
	return bits, v == 0 && bits > 0
}

func lastOf(p netip.Prefix) netip.Addr {
	a := p.Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		a[i/8] |= 1 << (7 - i%8)
	}
	return netip.AddrFrom4(a)
}

func netmaskOf(p netip.Prefix) string {
	var a [4]byte
	for i := range p.Bits() {
		a[i/8] |= 1 << (7 - i%8)
	}
	return netip.AddrFrom4(a).String()
}

func (s *Server) insertNetwork(n *network) {
	n.base = s.newBase()
	s.networks.insert(n)
	n.domain = fmt.Sprintf("cs%x%s", n.owner.db, s.settings["guest.domain.suffix"])
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
	if c.root() && n.state == networkImplemented {
		o = o.with("broadcasturi", fmt.Sprintf("vlan://%d", n.vlan))
	}
	o = o.with("dns1", n.zone.attrs.get("dns1")).with("type", n.kind())
	if c.root() && n.state == networkImplemented {
		o = o.with("vlan", fmt.Sprint(n.vlan))
	}
	o = o.with("acltype", "Account")
	o = append(o, c.ownerFields(n.owner, "account")...)
	o = append(o, c.domainFirst(n.owner)...)
	o = o.with("service", c.networkServices(n.offering))
	if n.cidr.IsValid() {
		o = o.with("networkdomain", n.domain)
	}
	o = append(o, obj("physicalnetworkid", c.physicalNetworkOf(n.zone), "restartrequired", false, "specifyvlan", a.get("specifyvlan"), "specifyipranges", a.get("specifyipranges"),
		"canusefordeploy", true, "ispersistent", a.get("ispersistent"), "tags", c.shortTags("Network", n.id))...)
	if c.root() {
		o = append(o, obj("details", object{}, "displaynetwork", true)...)
	}
	o = append(o, obj("strechedl2subnet", false, "redundantrouter", false, "supportsvmautoscaling", n.offering.supports([]string{"Lb"}), "created", stamp(n.created),
		"receivedbytes", 0, "sentbytes", 0)...)
	if n.kind() == "Isolated" {
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
	rows := c.networks.all(func(n *network) bool { return owner(n.owner) && tagged(n.id) && c.matchesNetwork(n) })
	slices.Reverse(rows)
	return pageOf(c, "network", rows, c.networkObject)
}

func (c *call) matchesNetwork(n *network) bool {
	wanted, byID := refer(c, c.networks, "id")
	z, byZone := refer(c, c.zones, "zoneid")
	o, byOffering := refer(c, c.networkOfferings, "networkofferingid")
	switch {
	case byID && n != wanted, byZone && n.zone != z, byOffering && n.offering != o:
		return false
	case c.has("name") && c.knows("4.22") && !strings.EqualFold(n.name, c.str("name")):
		return false
	case c.str("type") != "" && !strings.EqualFold(c.str("type"), "all") && !strings.EqualFold(n.kind(), c.str("type")):
		return false
	case c.has("traffictype") && !strings.EqualFold("Guest", c.str("traffictype")):
		return false
	case c.has("vpcid"), c.flag("issystem"):
		return false
	}
	return containsFold(n.name, c.str("keyword")) && n.offering.supports(c.list("supportedservices"))
}

// ownNetwork finds the network of a command that changes it.
func (c *call) ownNetwork() (*network, error) {
	n, _ := refer(c, c.networks, "id")
	switch {
	case n == nil:
		return nil, invalid("Network ID=%s doesn't exist", c.str("id"))
	case !n.live():
		return nil, invalid("Network ID=%d doesn't exist", n.db)
	}
	return n, c.mayUse(n.owner)
}

func deleteNetwork(c *call) (*work, error) {
	n, err := c.ownNetwork()
	if err != nil {
		return nil, err
	}
	return &work{instanceType: "Network", instanceID: n.id, run: func() (object, error) {
		switch {
		case c.flag("forced") && !c.admin():
			return nil, invalid("Delete network with 'forced' option can only be called by root admins")
		case !n.live():
			return success(), nil
		case c.held(n):
			return nil, wrapped(530, "Failed to delete network")
		}
		n.removed = c.now()
		c.dropTags("Network", n.id)
		return success(), nil
	}}, nil
}

// held says whether a machine that is not expunged yet has a NIC on a network.
func (s *Server) held(n *network) bool {
	for _, m := range s.machines.rows {
		if m.live() && m.onNetwork(n) {
			return true
		}
	}
	return false
}

// defaultGuests are the addresses of a network for which none were given.
func defaultGuests() (netip.Prefix, netip.Addr) {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, 1, 0}), 24), netip.AddrFrom4([4]byte{10, 1, 1, 1})
}

func carrierGrade() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10)
}
