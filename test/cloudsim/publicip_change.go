package cloudsim

import "strings"

// target is what an address is taken for: a network, a VPC, or the account's only network of a zone.
type target struct {
	network *network
	vpc     *vpc
	zone    *zone
	owner   *account
}

// addressTarget finds out whom a new address is for.
func (c *call) addressTarget() (target, error) {
	owner := c.acct
	if c.has("projectid") || c.has("account") && c.has("domainid") {
		var err error
		if owner, err = c.finalOwner(); err != nil {
			return target{}, err
		}
	}
	v, byVPC := refer(c, c.vpcs, "vpcid")
	n, byNetwork := refer(c, c.networks, "networkid")
	z, byZone := refer(c, c.zones, "zoneid")
	switch {
	case byVPC:
		if v == nil || !v.live() {
			return target{}, invalid("Unable to find VPC by id specified")
		}
		return target{vpc: v, zone: v.zone, owner: v.owner}, c.mayUse(v.owner)
	case byNetwork:
		if n == nil || !n.live() {
			return target{}, invalid("Unable to find network by network id specified")
		}
		if n.scope != nil && !c.root() {
			return target{}, denied(noPermission)
		}
		return target{network: n, zone: n.zone, owner: n.owner}, c.mayUse(n.owner)
	case byZone && z != nil:
		n, err := c.onlyNetwork(owner, z)
		return target{network: n, zone: z, owner: owner}, err
	}
	return target{}, invalid("Unable to figure out zone to assign IP to. Please specify either zoneId, or networkId, or vpcId in the call")
}

// onlyNetwork is the one isolated network with source NAT that an account has in a zone.
func (c *call) onlyNetwork(owner *account, z *zone) (*network, error) {
	own := c.networks.all(func(n *network) bool {
		return n.owner == owner && n.zone == z && n.kind() == kindIsolated && n.vpc == nil && n.supports("SourceNat")
	})
	switch len(own) {
	case 0:
		return nil, invalid("Account name=%s domain=%s doesn't have virtual networks in zone=%s", owner.name, owner.domain.name, z.name)
	case 1:
		return own[0], nil
	}
	return nil, invalid("Account has more than one isolated network in the zone")
}

// associateIPAddress takes an address. It is the caller's at once and belongs to its network when the job has ended.
func associateIPAddress(c *call) (*work, error) {
	t, err := c.addressTarget()
	if err != nil {
		return nil, err
	}
	if most := c.limitOf(t.owner, limitIP); most != noLimit && c.usage(t.owner)[limitIP] >= most {
		return nil, &apiError{code: 532, cs: csAccountLimit, job: 530, text: "Maximum number of public IP addresses for account: " + t.owner.name + " has been exceeded."}
	}
	ip := c.takeAddress(t.zone, t.owner, c.str("ipaddress"))
	if ip == nil {
		return nil, wrapped(533, "Insufficient address capacity")
	}
	ip.target = t.network
	c.record(t.owner, c.user, "NET.IPASSIGN", "associating ip to "+describeTarget(t), "IpAddress", ip.id, ip.address.String(), "Scheduled")
	return &work{created: ip.id, instanceType: "IpAddress", instanceID: ip.id, run: func() (object, error) {
		return c.associate(ip, t)
	}}, nil
}

func describeTarget(t target) string {
	if t.vpc != nil {
		return "vpc id: " + t.vpc.id
	}
	return "network id: " + t.network.id
}

// associate ends what associateIPAddress began. An address whose network is gone by then stays behind, for good.
func (c *call) associate(ip *publicIP, t target) (object, error) {
	switch {
	case ip.state != addressAllocating || ip.owner != t.owner: // released meanwhile, or its account is gone
		return nil, internal("Failed to assign ip address")
	case t.vpc != nil:
		ip.state, ip.vpc, ip.sourceNAT = addressAllocated, t.vpc, c.sourceNATOfVPC(t.vpc) == nil
		return obj("ipaddress", c.addressObject(ip).without("jobid", "jobstatus")), nil
	case !t.network.live():
		return nil, invalid("Unable to find network by network id specified")
	case t.network.vpc != nil:
		c.giveBack(ip)
		return nil, invalid("Can't assign ip to the network directly when network belongs to VPC.Specify vpcId to associate ip address to VPC")
	}
	n := t.network
	ip.sourceNAT = n.kind() == kindIsolated && n.supports("SourceNat") && c.sourceNATOf(n) == nil
	ip.network = n
	reply := obj("ipaddress", c.addressObject(ip).without("jobid", "jobstatus")) // the result still shows the state before
	ip.state = addressAllocated
	c.record(ip.owner, c.user, "NET.IPASSIGN", "associated ip to "+describeTarget(t), "IpAddress", ip.id, ip.address.String(), "Completed")
	return reply, nil
}

// namedAddress finds the address that a command names by id or by value.
func (c *call) namedAddress() (*publicIP, error) {
	ip, byID := refer(c, c.publicIPs, "id")
	wanted := c.str("ipaddress")
	if !byID && wanted == "" {
		return nil, invalid("Please specify either IP address or IP address ID")
	}
	for _, row := range c.publicIPs.rows {
		if !byID && strings.EqualFold(row.address.String(), wanted) {
			ip = row
		}
	}
	switch {
	case ip == nil:
		return nil, invalid("Unable to find IP address by ID=%s", c.str("id")+wanted)
	case ip.owner == nil:
		return nil, internal("Unable to persist on DB, due to: Data truncation: Out of range value for column 'account_id' at row 1")
	}
	return ip, nil
}

// disassociateIPAddress gives an address back together with its rules.
func disassociateIPAddress(c *call) (*work, error) {
	ip, err := c.namedAddress()
	if err != nil {
		return nil, err
	}
	owner := ip.owner
	return &work{instanceType: "IpAddress", instanceID: ip.id, run: func() (object, error) {
		switch {
		case ip.owner == nil:
			return success(), nil // somebody was quicker
		case c.mayUse(ip.owner) != nil:
			return nil, denied(noPermission)
		case ip.sourceNAT && (ip.vpc != nil || ip.network.state == networkImplemented):
			return nil, internal("ip address is used for source nat purposes and can not be disassociated.")
		case ip.network != nil && !ip.network.live():
			ip.state = addressReleasing
			return nil, internal(`Cannot invoke "com.cloud.network.Network.getId()" because "network" is null`)
		}
		c.giveBack(ip)
		c.dropTags("PublicIpAddress", ip.id)
		c.record(owner, c.user, "NET.IPRELEASE", "disassociated ip address", "IpAddress", ip.id, ip.address.String(), "Completed")
		return success(), nil
	}}, nil
}

// updateIPAddress changes nothing that the simulator knows: custom ids and what is displayed are for root admins.
func updateIPAddress(c *call) (*work, error) {
	ip, err := c.namedAddress()
	if err != nil {
		return nil, err
	}
	if err := c.mayUse(ip.owner); err != nil {
		return nil, err
	}
	return &work{instanceType: "IpAddress", instanceID: ip.id, run: func() (object, error) {
		return obj("ipaddress", c.addressObject(ip).without("jobid", "jobstatus")), nil
	}}, nil
}

// enableStaticNat ties an address to one machine.
func enableStaticNat(c *call) (object, error) {
	ip, _ := refer(c, c.publicIPs, "ipaddressid")
	m, _ := refer(c, c.machines, "virtualmachineid")
	n, named := refer(c, c.networks, "networkid")
	switch {
	case ip == nil || ip.owner == nil:
		return nil, invalid("Unable to find IP address by id %s", c.str("ipaddressid"))
	case m == nil || !m.live():
		return nil, invalid("Can't enable static nat for the address id=%d, invalid virtual machine id specified (%s).", ip.db, c.str("virtualmachineid"))
	case c.mayUse(ip.owner) != nil || c.mayUse(m.owner) != nil:
		return nil, denied(noPermission)
	}
	if !named {
		n = ip.network
	}
	if err := c.checkStaticNat(ip, m, n); err != nil {
		return nil, err
	}
	ip.machine, ip.network, c.natted[m] = m, n, ip
	c.record(ip.owner, c.user, "STATICNAT.ENABLE", "enabling static nat", "IpAddress", ip.id, ip.address.String(), "Completed")
	return success(), nil
}

func (c *call) checkStaticNat(ip *publicIP, m *machine, n *network) error {
	switch {
	case n == nil:
		return invalid("Unable to figure out network to enable static nat for")
	case !m.onNetwork(n):
		return invalid("Vm doesn't belong to the network with specified id")
	case ip.sourceNAT && ip.vpc == nil:
		return invalid("Can't enable static, ip address %s is a sourceNat ip address", ip.printed())
	case ip.machine != nil && ip.machine != m:
		return wrapped(537, "Failed to enable static for the ip address %s and vm id=%d as it's already assigned to antoher vm", ip.printed(), m.db)
	}
	for _, purpose := range []string{purposeForwarding, purposeBalancing} {
		for _, r := range c.rulesOn(ip) {
			if r.purpose == purpose {
				return wrapped(537, "Failed to enable static nat for the ip address %s as it already has %s rules assigned", ip.printed(), purpose)
			}
		}
	}
	if other := c.natted[m]; other != nil {
		return invalid("Failed to enable static nat on the  ip %s with Id %s as the vm %s with Id %s is already associated with another public ip %s with id %s",
			ip.address, ip.id, c.instance(m), m.id, other.address, other.id)
	}
	return nil
}

func disableStaticNat(c *call) (*work, error) {
	ip, _ := refer(c, c.publicIPs, "ipaddressid")
	if ip == nil {
		return nil, invalid("Unable to find IP address by id %s", c.str("ipaddressid"))
	}
	return &work{run: func() (object, error) {
		switch {
		case ip.owner != nil && c.mayUse(ip.owner) != nil:
			return nil, denied(noPermission)
		case ip.machine == nil:
			return nil, invalid("Specified IP address id is not associated with any vm Id")
		}
		c.endStaticNat(ip)
		for _, r := range c.rulesOn(ip) {
			c.dropRule(r)
		}
		return success(), nil
	}}, nil
}

// endStaticNat unties an address; one of a VPC goes back to the VPC.
func (s *Server) endStaticNat(ip *publicIP) {
	delete(s.natted, ip.machine)
	ip.machine = nil
	if ip.vpc != nil {
		ip.network = nil
	}
}
