package cloudsim

import (
	"net/netip"
	"time"
)

// What machines do to their networks. The code of machines calls these and nothing else of the network side:
// implement and implemented around a start, quieten when a machine no longer runs, forgetMachine when it is expunged.

// firstVLAN is the lowest one that guest networks get.
const firstVLAN = 100

// implement begins to build a network because a machine is about to start on it. It returns false when the machine has to wait for
// another one that has it built already.
func (s *Server) implement(n *network) bool {
	n.idle++
	switch n.state {
	case networkImplementing:
		return false
	case networkAllocated:
		n.state = networkImplementing
		n.vlan = s.freeVLAN(n.zone)
		s.ensureSourceNAT(n)
	case networkImplemented, networkSetup:
		s.routeFor(n)
	}
	return true
}

// implemented says that a network is there.
func (s *Server) implemented(n *network) {
	if n.state == networkSetup {
		return
	}
	n.state, n.router = networkImplemented, true
	s.routeFor(n)
}

// abandoned says that a network was not built after all.
func (s *Server) abandoned(n *network) {
	if n.state == networkImplementing {
		n.state = networkAllocated
	}
}

// routeFor brings up the router of a network that has one.
func (s *Server) routeFor(n *network) {
	switch {
	case n.kind() != kindIsolated || !n.supports("Dhcp"):
	case n.vpc != nil:
		s.startRouter(nil, n.vpc)
	default:
		s.startRouter(n, nil)
	}
}

// freeVLAN is the lowest one that no network of a zone has.
func (s *Server) freeVLAN(z *zone) int {
	taken := map[int]bool{}
	for _, n := range s.networks.rows {
		if n.live() && n.zone == z && n.state != networkAllocated {
			taken[n.vlan] = true
		}
	}
	v := firstVLAN
	for taken[v] {
		v++
	}
	return v
}

// quieten shuts a network down a while after the last machine on it stopped or left, unless one comes back.
func (s *Server) quieten(n *network) {
	if !n.live() || n.state != networkImplemented || n.offering.flag("ispersistent") || s.busy(n) || (n.closing > 0 && n.closing == n.idle) {
		return
	}
	n.idle++
	n.closing = n.idle
	since := n.idle
	wait := time.Duration(s.settingNumber("network.gc.wait", 600)+s.settingNumber("network.gc.interval", 600)) * time.Second
	s.after(wait, func() {
		if n.live() && n.state == networkImplemented && n.idle == since && !s.busy(n) {
			n.state, n.router = networkAllocated, false
			if n.vpc == nil {
				s.removeRouter(n, nil)
			}
		}
	})
}

// busy says whether a machine on a network runs or is on its way.
func (s *Server) busy(n *network) bool {
	for _, m := range s.machines.rows {
		if !m.live() || !m.onNetwork(n) {
			continue
		}
		switch m.state {
		case machineStarting, machineRunning, machineStopping, machineMigrating:
			return true
		}
	}
	return false
}

// forgetMachine drops everything that points to a machine that is expunged.
func (s *Server) forgetMachine(m *machine) {
	for _, lb := range s.loadBalancers.rows {
		if lb.has(m) {
			lb.dropMember(m)
			lb.settle()
		}
	}
	for _, r := range s.forwardings.all(func(r *forwarding) bool { return r.machine == m }) {
		s.dropRule(&r.portRule)
	}
	if ip := s.natted[m]; ip != nil {
		s.endStaticNat(ip)
	}
	for _, x := range m.nics {
		s.quieten(x.network)
	}
}

// guestRange are the addresses of a network that machines can get.
func (n *network) guestRange() (first, last netip.Addr) {
	if n.first.IsValid() {
		return n.first, n.last
	}
	return n.cidr.Addr().Next(), lastOf(n.cidr).Prev()
}

// holds says whether an address is one of a NIC.
func (x *nic) holds(a netip.Addr) bool { return a.IsValid() && x.address == a }

// addressOn is the address of a machine on a network, "" for none.
func (m *machine) addressOn(n *network) string {
	for _, x := range m.nics {
		if x.network == n && x.address.IsValid() {
			return x.address.String()
		}
	}
	return ""
}

// publicFields shows, in a NIC or a machine, the address that reaches a machine by static NAT over one of its networks.
func (s *Server) publicFields(m *machine, n *network) object {
	if ip := s.natted[m]; ip != nil && ip.network == n {
		return obj("publicipid", ip.id, "publicip", ip.address.String())
	}
	return nil
}

// vpcFields names the VPC that the network of a NIC is a tier of.
func (n *network) vpcFields() object {
	if n.vpc == nil {
		return nil
	}
	return obj("vpcid", n.vpc.id, "vpcname", n.vpc.name)
}

// taggableNetworks are the lookups of resources around networks.
func (s *Server) taggableNetworks(kind string) []func(string) *account {
	switch kind {
	case "Network":
		return ownerBy(s.networks, func(n *network) *account { return n.owner })
	case "PublicIpAddress":
		return ownerBy(s.publicIPs, func(ip *publicIP) *account { return ip.owner })
	case "FirewallRule":
		return ownerBy(s.firewallRules, func(r *firewallRule) *account { return r.owner })
	case "LoadBalancer":
		return ownerBy(s.loadBalancers, func(r *loadBalancer) *account { return r.owner })
	case "PortForwardingRule":
		return ownerBy(s.forwardings, func(r *forwarding) *account { return r.owner })
	case "Vpc":
		return ownerBy(s.vpcs, func(v *vpc) *account { return v.owner })
	case "NetworkACLList":
		return ownerBy(s.aclLists, (*aclList).owner)
	case "NetworkACL":
		return ownerBy(s.aclItems, func(i *aclItem) *account { return i.list.owner() })
	}
	return nil
}

func (l *aclList) owner() *account {
	if l.vpc == nil {
		return nil
	}
	return l.vpc.owner
}

// ownerBy looks up the owner of a live row.
func ownerBy[T entity](t *table[T], owner func(T) *account) []func(string) *account {
	var zero T
	return []func(string) *account{func(id string) *account {
		if r := resolveRow(t, id); r != zero && r.live() {
			return owner(r)
		}
		return nil
	}}
}
