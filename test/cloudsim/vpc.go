package cloudsim

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// States of a VPC.
const (
	vpcEnabled  = "Enabled"
	vpcInactive = "Inactive"
)

// vpc is a private cloud of networks, its tiers, behind one router.
type vpc struct {
	base
	owner      *account
	name, text string
	zone       *zone
	offering   *offering
	cidr       netip.Prefix
	domain     string
	state      string
}

func (v *vpc) printed() string {
	return fmt.Sprintf(`VPC {"id":%d,"name":%s,"uuid":%q}`, v.db, quoteJSON(v.name), v.id)
}

func (s *Server) tiersOf(v *vpc) []*network {
	tiers := s.networks.all(func(n *network) bool { return n.vpc == v })
	slices.Reverse(tiers)
	return tiers
}

// createVPC makes a VPC. Unless start is false its router comes up at once, with an address to leave by.
func createVPC(c *call) (*work, error) {
	owner, err := c.ownerOf()
	if err != nil {
		return nil, err
	}
	v, err := c.newVPC(owner)
	if err != nil {
		return nil, err
	}
	if err := c.checkLimit(owner, limitVPC, 1, csLimit); err != nil {
		return nil, err
	}
	v.base = c.newBase()
	c.vpcs.insert(v)
	return &work{created: v.id, instanceType: "None", run: func() (object, error) {
		if c.flagOr("start", true) {
			c.ensureVPCSourceNAT(v)
			c.startRouter(nil, v)
		}
		return obj("vpc", c.vpcObject(v)), nil
	}}, nil
}

func (c *call) newVPC(owner *account) (*vpc, error) {
	z, _ := refer(c, c.zones, "zoneid")
	o, _ := refer(c, c.vpcOfferings, "vpcofferingid")
	cidr, err := netip.ParsePrefix(c.str("cidr"))
	switch {
	case z == nil:
		return nil, invalid("Can't find zone by id specified")
	case o == nil:
		return nil, invalid("Unable to find vpc offering in Enabled state by id %s", c.str("vpcofferingid"))
	case c.str("cidr") == "":
		return nil, invalid("VPC cidr or cidr size must be specified")
	case err != nil:
		return nil, invalid("Invalid CIDR specified %s", c.str("cidr"))
	case !cidr.Addr().IsPrivate():
		return nil, invalid("Guest Cidr %s is not RFC1918 compliant", c.str("cidr"))
	}
	v := &vpc{owner: owner, name: c.str("name"), text: c.str("displaytext"), zone: z, offering: o, cidr: cidr.Masked(), domain: c.str("networkdomain"), state: vpcEnabled}
	if v.text == "" {
		v.text = v.name
	}
	if v.domain == "" {
		v.domain = c.guestDomain(owner)
	}
	return v, checkDomainName(v.domain)
}

// ownVPC finds the VPC of a command that changes it.
func (c *call) ownVPC() (*vpc, error) {
	v, _ := refer(c, c.vpcs, "id")
	if v == nil {
		return nil, invalid("unable to find VPC id=%s", c.str("id"))
	}
	return v, c.mayUse(v.owner)
}

func updateVPC(c *call) (*work, error) {
	v, err := c.ownVPC()
	if err != nil {
		return nil, err
	}
	return &work{run: func() (object, error) {
		if !v.live() {
			return nil, invalid("unable to find VPC id=%d", v.db)
		}
		for param, to := range map[string]*string{"name": &v.name, "displaytext": &v.text} {
			if s := c.str(param); s != "" {
				*to = s
			}
		}
		return obj("vpc", c.vpcObject(v)), nil
	}}, nil
}

func restartVPC(c *call) (*work, error) {
	v, err := c.ownVPC()
	if err != nil {
		return nil, err
	}
	return &work{run: func() (object, error) {
		if !v.live() {
			return nil, invalid("Unable to find Enabled VPC by id specified")
		}
		c.ensureVPCSourceNAT(v)
		c.startRouter(nil, v)
		return success(), nil
	}}, nil
}

// closing is how long after the call a VPC lists as being deleted.
const closing = 200 * time.Millisecond

// deleteVPC removes a VPC without tiers; its addresses and ACL lists go along.
func deleteVPC(c *call) (*work, error) {
	v, err := c.ownVPC()
	if err != nil {
		return nil, err
	}
	pace := func() ([]phase, time.Duration) {
		if !v.live() || len(c.tiersOf(v)) > 0 {
			return nil, takesRemoval
		}
		return []phase{{closing, func() { v.state = vpcInactive }}}, takesRemoval
	}
	return &work{instanceType: "Vpc", instanceID: v.id, pace: pace, run: func() (object, error) {
		switch tiers := c.tiersOf(v); {
		case !v.live():
			return nil, invalid("unable to find VPC id=%d", v.db)
		case len(tiers) > 0:
			v.state = vpcEnabled
			return nil, invalid("Can't delete VPC %s as its used by %d networks", v.printed(), len(tiers))
		}
		c.removeVPC(v)
		return success(), nil
	}}, nil
}

func (s *Server) removeVPC(v *vpc) {
	for _, n := range s.tiersOf(v) {
		s.removeNetwork(n)
	}
	for _, ip := range s.addressesOfVPC(v) {
		s.giveBack(ip)
	}
	for _, l := range s.aclLists.all(func(l *aclList) bool { return l.vpc == v }) {
		s.dropACLList(l)
	}
	s.removeRouter(nil, v)
	v.state, v.removed = vpcInactive, s.now()
	s.dropTags("Vpc", v.id)
}

func listVPCs(c *call) (object, error) {
	tagged, err := c.tagFilter("Vpc")
	if err != nil {
		return nil, err
	}
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	rows := c.vpcs.all(func(v *vpc) bool {
		return allOf(owner(v.owner), tagged(v.id), refersTo(c, c.vpcs, "id")(v), refersTo(c, c.zones, "zoneid")(v.zone), refersTo(c, c.vpcOfferings, "vpcofferingid")(v.offering),
			containsFold(v.name, c.str("name")), containsFold(v.text, c.str("displaytext")), c.choice("state", v.state), c.choice("cidr", v.cidr.String()),
			c.keyword(v.name, v.text), v.offering.supports(c.list("supportedservices")), c.truth("restartrequired", false))
	})
	slices.Reverse(rows)
	return pageOf(c, "vpc", rows, c.vpcObject)
}

func (c *call) vpcObject(v *vpc) object {
	o := obj("id", v.id, "name", v.name, "displaytext", v.text, "state", v.state, "zoneid", v.zone.id, "zonename", v.zone.name, "service", v.offering.attrs.get("service"),
		"cidr", v.cidr.String(), "vpcofferingid", v.offering.id, "vpcofferingname", v.offering.name, "created", stamp(v.created))
	o = append(o, c.ownerFields(v.owner, "account")...)
	o = append(o, c.domainFirst(v.owner)...)
	tiers := []object{}
	for _, n := range c.tiersOf(v) {
		tiers = append(tiers, c.networkObject(n))
	}
	o = append(o, obj("network", tiers, "restartrequired", false, "networkdomain", v.domain, "tags", c.shortTags("Vpc", v.id))...)
	if c.root() {
		o = o.with("fordisplay", true)
	}
	return append(o, obj("distributedvpcrouter", false, "regionlevelvpc", false, "redundantvpcrouter", false, "publicmtu", 1500, "hasannotations", false)...)
}
