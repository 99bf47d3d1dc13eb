package cloudsim

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// createNetwork makes a network; nothing of it exists in the zone until the first machine starts.
func createNetwork(c *call) (object, error) {
	owner, err := c.ownerTwice()
	if err != nil {
		return nil, err
	}
	n, err := c.newNetwork(owner)
	if err != nil {
		return nil, err
	}
	if n.kind() != kindShared {
		if err := c.checkLimit(owner, limitNetwork, 1, csLimit); err != nil {
			return nil, err
		}
	}
	c.insertNetwork(n)
	if n.offering.flag("ispersistent") {
		_ = c.implement(n) // nobody else can have begun
		c.implemented(n)
	}
	c.record(owner, c.user, "NETWORK.CREATE", "creating network", "Network", n.id, n.name, "Completed")
	return obj("network", c.networkObject(n)), nil
}

func (c *call) newNetwork(owner *account) (*network, error) {
	z, _ := refer(c, c.zones, "zoneid")
	o, _ := refer(c, c.networkOfferings, "networkofferingid")
	if err := c.checkNetworkOffering(z, o); err != nil {
		return nil, err
	}
	n := &network{owner: owner, name: c.str("name"), text: c.str("displaytext"), zone: z, offering: o, state: networkAllocated, domain: c.str("networkdomain")}
	if n.text == "" {
		n.text = n.name
	}
	for _, name := range []string{"dns1", "dns2"} {
		if v := c.str(name); v != "" {
			n.dns = append(n.dns, v)
		}
	}
	if err := checkDomainName(n.domain); err != nil {
		return nil, err
	}
	switch {
	case n.kind() == kindL2:
		return n, nil
	case n.kind() == kindShared:
		return n, c.readShared(n)
	case c.has("vpcid"):
		return n, c.readTier(n)
	}
	return n, c.readAddresses(n)
}

// checkNetworkOffering refuses zones and offerings that the caller cannot make a network of.
func (c *call) checkNetworkOffering(z *zone, o *offering) error {
	switch {
	case z == nil:
		return invalid("Specified zone id was not found")
	case o == nil:
		return invalid("Unable to find network offering by id %s", c.str("networkofferingid"))
	case o.attrs.str("state") != "Enabled" || !o.live():
		return invalid("Can't use specified network offering id=%d as its state is not Enabled", o.db)
	case z.allocation != "Enabled" && !c.root():
		return denied("Cannot perform this operation since specified Zone is currently disabled").about("zoneId", z.id)
	}
	return c.checkKind(z, o)
}

// checkKind refuses kinds of networks that the caller may not make or the zone cannot have.
func (c *call) checkKind(z *zone, o *offering) error {
	kind := o.attrs.str("guestiptype")
	secured, _ := z.attrs.get("securitygroupsenabled").(bool)
	switch {
	case kind == kindShared && o.flag("specifyvlan") && !c.root():
		return invalid("This user can only create an Isolated network, a L2 network or a Shared network with specifyVlan=false.")
	case secured && kind == kindIsolated:
		return invalid("Only shared or L2 guest network can be created in security group enabled zone")
	case kind == kindIsolated && strings.EqualFold(c.str("acltype"), "Domain"):
		return invalid("AclType should be Account for network of type %s", kind)
	case kind == kindL2 && strings.EqualFold(c.str("acltype"), "Domain"):
		return invalid("Only %s networks can have aclType=Domain", kindShared)
	case o.flag("forvpc") && !c.has("vpcid"):
		return invalid("Network offering can be used for VPC networks only")
	case o.flag("specifyvlan") && !c.root():
		return invalid("Only ROOT admin is allowed to specify vlanId or bypass vlan overlap check")
	}
	return nil
}

var domainLabel = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

// checkDomainName refuses what is no name of a network domain; empty is none.
func checkDomainName(name string) error {
	if name == "" {
		return nil
	}
	ok := len(name) <= 190
	for label := range strings.SplitSeq(name, ".") {
		ok = ok && domainLabel.MatchString(label)
	}
	if !ok {
		return invalid("Invalid network domain. Total length shouldn't exceed 190 chars. Each domain label must be between 1 and 63 characters long, can contain ASCII letters " +
			"'a' through 'z', the digits '0' through '9', and the hyphen ('-'); can't start or end with \"-\"")
	}
	return nil
}

// readAddresses takes gateway and netmask, both or neither.
func (c *call) readAddresses(n *network) error {
	n.cidr, n.gateway = n.zone.guests()
	if c.str("gateway") == "" || c.str("netmask") == "" {
		return nil
	}
	p, gw, err := c.readGateway()
	if err != nil {
		return err
	}
	if !gw.IsPrivate() && !carrierGrade().Contains(gw) {
		return invalid("Virtual Guest Cidr %s is not RFC 1918 or 6598 compliant", p)
	}
	n.cidr, n.gateway = p, gw
	return nil
}

func (c *call) readGateway() (netip.Prefix, netip.Addr, error) {
	gw, err := netip.ParseAddr(c.str("gateway"))
	if err != nil || !gw.Is4() {
		return netip.Prefix{}, gw, invalid("Gateway parameter is invalid")
	}
	mask, err := netip.ParseAddr(c.str("netmask"))
	bits, ok := maskBits(mask)
	bad := invalid("Invalid gateway IP provided. Either the IP is broadcast or network IP.")
	if err != nil || !ok {
		return netip.Prefix{}, gw, bad
	}
	p := netip.PrefixFrom(gw, bits).Masked()
	if gw == p.Addr() || gw == lastOf(p) {
		return netip.Prefix{}, gw, bad
	}
	if most := c.settingNumber("network.guest.cidr.limit", 22); !c.root() && int64(bits) < most {
		return netip.Prefix{}, gw, invalid("Cidr size can't be less than %d", most)
	}
	return p, gw, nil
}

// readTier makes a network a tier of a VPC.
func (c *call) readTier(n *network) error {
	v, _ := refer(c, c.vpcs, "vpcid")
	switch {
	case v == nil || !v.live():
		return internal("Unable to find VPC by id %s", c.str("vpcid"))
	case c.mayUse(v.owner) != nil:
		return denied(noPermission)
	case !n.offering.flag("forvpc"):
		return invalid("Network offering can't be used for VPC networks")
	case c.str("gateway") == "" || c.str("netmask") == "":
		return invalid("Gateway/netmask are required when create network for VPC")
	}
	p, gw, err := c.readGateway()
	if err != nil {
		return err
	}
	if p.Bits() < v.cidr.Bits() || !v.cidr.Contains(p.Addr()) {
		return invalid("Network cidr %s is not within vpc %s cidr", p, v.printed())
	}
	for _, other := range c.tiersOf(v) {
		if other.cidr.Overlaps(p) {
			return invalid("Network cidr %s crosses other network cidr %s belonging to the same vpc %s", p, other.printed(), v.printed())
		}
	}
	n.vpc, n.owner, n.cidr, n.gateway = v, v.owner, p, gw
	if l, ok := refer(c, c.aclLists, "aclid"); ok && l != nil {
		if l.vpc != nil && l.vpc != v {
			return invalid("ACL: %s do not belong to the VPC", l.id)
		}
		n.acl = l
	}
	return nil
}

// readShared makes a network that several accounts use: those of a domain, or one account.
func (c *call) readShared(n *network) error {
	var err error
	if n.first, n.last, err = c.readRange(); err != nil {
		return err
	}
	if n.cidr, n.gateway, err = c.readGateway(); err != nil {
		return err
	}
	n.state = networkSetup
	if n.vlan, err = strconv.Atoi(strings.TrimPrefix(c.str("vlan"), "vlan://")); err != nil && n.offering.flag("specifyvlan") {
		return invalid("Vlan id is required when add network %s", n.name)
	}
	for _, other := range c.networks.rows {
		if other.live() && other.zone == n.zone && other.vlan == n.vlan && other.state != networkAllocated {
			return invalid("Network with vlan %s already exists or overlaps with other network vlans in zone %s", c.str("vlan"), n.zone.printed())
		}
	}
	if !n.cidr.Contains(n.first) || !n.cidr.Contains(n.last) || n.last.Less(n.first) {
		return invalid("Please specify a valid range of addresses within %s", n.cidr)
	}
	return c.shareWith(n)
}

// readRange reads the guest addresses of a shared network; without a last one there is a single address.
func (c *call) readRange() (first, last netip.Addr, err error) {
	if c.str("startip") == "" && c.str("endip") == "" {
		return first, last, invalid("Either IPv4 or IPv6 start and end address are mandatory")
	}
	if first, err = netip.ParseAddr(c.str("startip")); err != nil {
		return first, last, invalid("Invalid format for the startIp parameter")
	}
	last = first
	if v := c.str("endip"); v != "" {
		if last, err = netip.ParseAddr(v); err != nil {
			return first, last, invalid("Invalid format for the endIp parameter")
		}
	}
	if c.str("gateway") == "" || c.str("netmask") == "" {
		return first, last, invalid("gateway and netmask should be defined when startIP/endIP are passed in")
	}
	return first, last, nil
}

// shareWith says whose a shared network is: a domain's unless an account is asked for, the whole server's if no domain is named.
func (c *call) shareWith(n *network) error {
	switch {
	case strings.EqualFold(c.str("acltype"), "Account") && c.has("subdomainaccess"):
		return invalid("Parameter subDomainAccess can be specified only with aclType=Domain")
	case strings.EqualFold(c.str("acltype"), "Account"):
		return nil
	}
	n.scope, n.subdomains, n.owner = c.domains.rows[0], true, c.accounts.rows[0]
	if d, ok := refer(c, c.domains, "domainid"); ok && d != nil {
		n.scope, n.subdomains = d, c.flagOr("subdomainaccess", true)
	}
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

// guests are the addresses of a network in a zone for which none were given.
func (z *zone) guests() (netip.Prefix, netip.Addr) {
	p, err := netip.ParsePrefix(z.attrs.str("guestcidraddress"))
	if err != nil {
		p = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, 1, 0}), 24)
	}
	return p, p.Addr().Next()
}

func carrierGrade() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10)
}
