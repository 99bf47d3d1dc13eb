package cloudsim

import (
	_ "embed"
	"fmt"
	"net/netip"
)

// States of a network.
const (
	networkAllocated    = "Allocated"
	networkImplementing = "Implementing"
	networkImplemented  = "Implemented"
	networkSetup        = "Setup" // of shared networks, for good
)

// Kinds of networks.
const (
	kindIsolated = "Isolated"
	kindShared   = "Shared"
	kindL2       = "L2"
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
	first      netip.Addr // guest addresses of a shared network; zero for all of the CIDR
	last       netip.Addr
	dns        []string
	domain     string // of the guests
	state      string
	vlan       int
	router     bool // a virtual router was made for it
	vpc        *vpc // that it is a tier of; nil for none
	acl        *aclList
	scope      *domain // whose accounts may use a shared network; nil for one account
	subdomains bool    // and those of the domains below
	builtin    bool    // the server came with it
	idle       int     // counts how often it became idle, so that only the last time leads to a shutdown
	closing    int     // what idle is while it waits to be shut down
}

func (n *network) kind() string { return n.offering.attrs.str("guestiptype") }

// supports says whether a network has a service.
func (n *network) supports(service string) bool { return n.offering.supports([]string{service}) }

func (n *network) printed() string {
	return fmt.Sprintf(`Network {"id": %d, "name": %s, "uuid": %q, "networkofferingid": %d}`, n.db, quoteJSON(n.name), n.id, n.offering.db)
}

//go:embed seed/networkservices.json
var networkServicesJSON []byte

func (s *Server) insertNetwork(n *network) {
	n.base = s.newBase()
	s.networks.insert(n)
	switch {
	case n.vpc != nil:
		n.domain = n.vpc.domain
	case n.domain == "":
		n.domain = s.guestDomain(n.owner)
	}
}

// guestDomain is the network domain of an account's guests.
func (s *Server) guestDomain(a *account) string {
	return fmt.Sprintf("cs%x%s", a.db, s.settings["guest.domain.suffix"])
}

// sameNames says whether host names must differ between two networks: all tiers of a VPC count as one.
func (n *network) sameNames(other *network) bool {
	return n == other || (n.vpc != nil && n.vpc == other.vpc)
}

// mayDeployOn refuses a network that the machines of an account may not use.
func (c *call) mayDeployOn(n *network, owner *account) error {
	switch {
	case !n.live():
		return invalid("Unable to find network by id %d", n.db)
	case n.scope != nil && !n.reaches(owner.domain):
		return denied("Shared network id=%s is not available in domain id=%s", n.id, owner.domain.id)
	case n.scope != nil, n.owner == owner, n.owner.project != nil && n.owner.project.member(owner):
		return nil
	}
	return denied("Unable to use network with id= %s, permission denied", n.id)
}

// reaches says whether the accounts of a domain may use a shared network.
func (n *network) reaches(d *domain) bool {
	return n.scope == d || (n.subdomains && n.scope.contains(d))
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

// ownNetwork finds the network of a command that changes it. missing is how the command says that it is gone.
func (c *call) ownNetwork(missing string) (*network, error) {
	n, _ := refer(c, c.networks, "id")
	switch {
	case n == nil:
		return nil, invalid(missing+" doesn't exist", c.str("id"))
	case !n.live():
		return nil, invalid(missing+" doesn't exist", formatInt(n.db))
	case n.kind() == kindShared && n.offering.flag("specifyvlan") && !c.root():
		return nil, denied("Shared network %s with specifyvlan=true can only be operated by root admin", n.printed())
	}
	return n, c.mayUse(n.owner)
}

// wipeNetworks removes the networks, VPCs and addresses of an account.
func (c *call) wipeNetworks(a *account) {
	for _, n := range c.networks.all(func(n *network) bool { return n.owner == a && n.scope == nil }) {
		c.removeNetwork(n)
	}
	for _, v := range c.vpcs.all(func(v *vpc) bool { return v.owner == a }) {
		c.removeVPC(v)
	}
	for _, ip := range c.publicIPs.all(func(ip *publicIP) bool { return ip.owner == a }) {
		c.giveBack(ip)
	}
}

// countNetworks adds what an account holds of networks, addresses and VPCs.
func (s *Server) countNetworks(owner owns, n map[limit]int64) {
	for _, x := range s.networks.rows {
		if x.live() && x.kind() != kindShared && owner(x.owner) {
			n[limitNetwork]++
		}
	}
	for _, x := range s.publicIPs.rows {
		if x.owner != nil && x.state != addressReleasing && owner(x.owner) {
			n[limitIP]++
		}
	}
	for _, x := range s.vpcs.rows {
		if x.live() && owner(x.owner) {
			n[limitVPC]++
		}
	}
}
