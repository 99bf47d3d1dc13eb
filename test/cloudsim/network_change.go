package cloudsim

// updateNetwork renames a network.
func updateNetwork(c *call) (*work, error) {
	n, err := c.ownNetwork("Networkd ID=%s") // sic
	if err != nil {
		return nil, err
	}
	if err := checkDomainName(c.str("networkdomain")); err != nil {
		return nil, err
	}
	return &work{instanceType: "Network", instanceID: n.id, run: func() (object, error) {
		if !n.live() {
			return nil, invalid("Networkd ID=%d doesn't exist", n.db)
		}
		for param, to := range map[string]*string{"name": &n.name, "displaytext": &n.text, "networkdomain": &n.domain} {
			if v := c.str(param); v != "" {
				*to = v
			}
		}
		return obj("network", c.networkObject(n)), nil
	}}, nil
}

// restartNetwork brings rules to the router of a network once more, to a new router with cleanup.
func restartNetwork(c *call) (*work, error) {
	n, err := c.ownNetwork("Networkd ID=%s") // sic
	if err != nil {
		return nil, err
	}
	w := &work{instanceType: "Network", instanceID: n.id, run: func() (object, error) {
		switch {
		case !n.live() || (n.state != networkImplemented && n.state != networkSetup):
			return nil, invalid("Network is not in the right state to be restarted. Correct states are: Implemented, Setup")
		case c.refused():
			return nil, wrapped(530, "Failed to restart network")
		}
		c.restartRouters(n)
		return success(), nil
	}}
	if n.state == networkImplemented && c.flag("cleanup") {
		w.takes = takesOldRouter
	}
	return w, nil
}

func (c *call) restartRouters(n *network) {
	if n.state != networkImplemented || !n.router {
		return
	}
	if c.flag("cleanup") && n.vpc == nil {
		c.removeRouter(n, nil)
	}
	c.routeFor(n)
}

// deleteNetwork removes a network that no machine is on, with its addresses and rules.
func deleteNetwork(c *call) (*work, error) {
	n, err := c.ownNetwork("Network ID=%s")
	if err != nil {
		return nil, err
	}
	taking := c.openAssociations(n)
	w := &work{instanceType: "Network", instanceID: n.id, run: func() (object, error) {
		switch {
		case c.flag("forced") && !c.admin():
			return nil, invalid("Delete network with 'forced' option can only be called by root admins")
		case !n.live():
			return nil, invalid("Unable to find a network with the specified ID.")
		case c.held(n), c.refused():
			return nil, wrapped(530, "Failed to delete network")
		}
		missed := c.missed(taking)
		c.removeNetwork(n, missed...)
		c.record(n.owner, c.user, "NETWORK.DELETE", "deleting network", "Network", n.id, n.name, "Completed")
		return success(), nil
	}}
	if n.state == networkImplemented && !c.held(n) {
		w.takes = takesShutdown
	}
	return w, nil
}

// openAssociations are the addresses that are just being taken for a network.
func (s *Server) openAssociations(n *network) []*publicIP {
	return s.publicIPs.all(func(ip *publicIP) bool { return ip.state == addressAllocating && ip.target == n })
}

// oneIn is how rarely a delete misses an address that is taken while it begins: a real server did so in one of eighteen tries.
const oneIn = 18

// missed decides which of the addresses that were being taken when a delete began the delete does not see: they stay, on a network that is gone.
func (c *call) missed(taking []*publicIP) []*publicIP {
	if len(taking) == 0 {
		return nil
	}
	c.overlaps++
	if c.overlaps%oneIn == 0 || (c.fault != nil && c.fault.Kind == FaultRace) {
		return taking
	}
	return nil
}

// removeNetwork forgets a network with all that hangs on it; the addresses of a tier go back to their VPC.
func (s *Server) removeNetwork(n *network, missed ...*publicIP) {
	for _, r := range s.rulesOf(n) {
		s.dropRule(r)
	}
	for _, ip := range s.addressesOf(n) {
		switch {
		case contains(missed, ip):
		case ip.vpc != nil:
			s.endStaticNat(ip)
		default:
			s.giveBack(ip)
		}
	}
	if n.vpc == nil {
		s.removeRouter(n, nil)
	}
	n.removed, n.router = s.now(), false
	s.dropTags("Network", n.id)
}
