package cloudsim

import (
	"hash/fnv"
	"net/netip"
	"slices"
	"strings"
)

// maxPortsOfNAT bounds how many ports of an address with static NAT are listened on: a firewall rule may open all.
const maxPortsOfNAT = 64

// landing is a port of a machine behind a listener.
type landing struct {
	machine string
	port    int
}

// wantedListeners are the addresses at which somebody would get through to a machine that runs.
func (s *Server) wantedListeners() map[netip.AddrPort]bool {
	wanted := map[netip.AddrPort]bool{}
	for _, lb := range s.loadBalancers.rows {
		if at, ok := lb.at(lb.start); ok && lb.tcp() && s.opens(&lb.portRule, lb.start) && slices.ContainsFunc(lb.members, func(x lbMember) bool { return x.machine.powered() }) {
			wanted[at] = true
		}
	}
	for _, r := range s.forwardings.rows {
		for p := r.start; p <= min(r.end, r.start+maxPortsOfNAT); p++ {
			if at, ok := r.at(p); ok && r.protocol == "tcp" && r.machine.powered() && s.opens(&r.portRule, p) {
				wanted[at] = true
			}
		}
	}
	s.wantNATted(wanted)
	s.wantShared(wanted)
	return wanted
}

// tcp says whether a load balancer carries TCP, which it does unless something else was asked for.
func (lb *loadBalancer) tcp() bool {
	return lb.carries != "udp"
}

// at is where a rule is reached on one of its ports.
func (r *portRule) at(port int) (netip.AddrPort, bool) {
	if r.ip == nil || port <= 0 || port > maxPort {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(r.ip.address, uint16(port)), true
}

// opens says whether the router of a rule works and its firewall lets somebody through to a port.
func (s *Server) opens(r *portRule, port int) bool {
	n := r.network
	if n == nil || !n.live() {
		return false
	}
	if n.vpc != nil {
		return s.routes(nil, n.vpc)
	}
	return s.routes(n, nil) && slices.ContainsFunc(s.firewallRules.rows, func(fw *firewallRule) bool {
		return !fw.egress && fw.ip == r.ip && fw.inForce() && fw.takes(port)
	})
}

// wantNATted adds the ports that the firewall opens of addresses with static NAT, as far as the machine listens on them.
func (s *Server) wantNATted(wanted map[netip.AddrPort]bool) {
	for m, ip := range s.natted {
		if !m.powered() || ip.network == nil {
			continue
		}
		for _, on := range s.opts.Guests.Serves(m.id) {
			r := portRule{ip: ip, network: ip.network}
			if at, ok := r.at(int(on.Port())); ok && !on.Addr().IsValid() && s.opens(&r, int(on.Port())) {
				wanted[at] = true
			}
		}
	}
}

// wantShared adds what machines on shared networks listen on: nothing stands between them and the world.
func (s *Server) wantShared(wanted map[netip.AddrPort]bool) {
	for _, m := range s.machines.rows {
		if !m.powered() {
			continue
		}
		var on []netip.AddrPort
		for _, x := range m.nics {
			if x.network.kind() != kindShared || !x.address.IsValid() {
				continue
			}
			if on == nil {
				on = s.opts.Guests.Serves(m.id)
			}
			for _, at := range on {
				if !at.Addr().IsValid() {
					wanted[netip.AddrPortFrom(x.address, at.Port())] = true
				} else if s.claimable(x.network, at.Addr(), m) {
					wanted[at] = true
				}
			}
		}
	}
}

// claimable says whether an address of a shared network belongs to no other machine and not to the router.
func (s *Server) claimable(n *network, a netip.Addr, m *machine) bool {
	if !n.cidr.Contains(a) || a == n.gateway {
		return false
	}
	for _, other := range s.machines.rows {
		if other != m && other.live() && other.addressOn(n) == a.String() {
			return false
		}
	}
	return true
}

// targets are the machines that a client of an address is led to, in the order in which they are tried.
func (s *Server) targets(at netip.AddrPort, client netip.Addr, turn int) []landing {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, lb := range s.loadBalancers.rows {
		if on, ok := lb.at(lb.start); ok && on == at && lb.tcp() {
			return s.balanced(lb, client, turn)
		}
	}
	port := int(at.Port())
	for _, r := range s.forwardings.rows {
		if r.ip.address == at.Addr() && r.start <= port && port <= r.end && r.protocol == "tcp" {
			return s.forwarded(r, port, client)
		}
	}
	for m, ip := range s.natted {
		if ip.address == at.Addr() && ip.network != nil && s.admits(&portRule{ip: ip, network: ip.network}, port, client) && s.admitsACL(ip.network, port, client) {
			return []landing{{m.id, port}}
		}
	}
	return s.onShared(at)
}

// balanced are the members of a load balancer, if its firewall and its own sources have the client.
func (s *Server) balanced(lb *loadBalancer, client netip.Addr, turn int) []landing {
	sources := strings.FieldsFunc(lb.sources, func(r rune) bool { return r == ',' || r == ' ' })
	if !s.admits(&lb.portRule, lb.start, client) || (len(sources) > 0 && !inCIDRs(client, sources)) {
		return nil
	}
	return lb.inTurn(client, turn)
}

// admits says whether the firewall of an address lets a client through to a port.
func (s *Server) admits(r *portRule, port int, client netip.Addr) bool {
	if r.network == nil {
		return false
	}
	if r.network.vpc != nil {
		return s.routes(nil, r.network.vpc)
	}
	return s.routes(r.network, nil) && slices.ContainsFunc(s.firewallRules.rows, func(fw *firewallRule) bool {
		return !fw.egress && fw.ip == r.ip && fw.inForce() && fw.takes(port) && inCIDRs(client, fw.cidrs)
	})
}

// admitsACL applies the list of a VPC tier to what its router hands on; load balancers are not subject to it.
func (s *Server) admitsACL(n *network, port int, client netip.Addr) bool {
	return n.vpc == nil || s.aclAllows(n, "Ingress", netip.AddrPortFrom(client, uint16(port)))
}

func (s *Server) forwarded(r *forwarding, port int, client netip.Addr) []landing {
	private := r.private + port - r.start
	if !s.admits(&r.portRule, port, client) || !s.admitsACL(r.network, private, client) || (len(r.restrictedCIDRs) > 0 && !inCIDRs(client, r.restrictedCIDRs)) {
		return nil
	}
	return []landing{{r.machine.id, private}}
}

// inTurn orders the members that run by the algorithm of a load balancer.
func (lb *loadBalancer) inTurn(client netip.Addr, turn int) []landing {
	var out []landing
	for _, x := range lb.members {
		if x.machine.powered() {
			out = append(out, landing{x.machine.id, lb.private})
		}
	}
	if len(out) == 0 {
		return nil
	}
	if lb.algorithm == "source" {
		h := fnv.New32a()
		_, _ = h.Write(client.AsSlice()) // a hash takes everything
		turn = int(h.Sum32() % uint32(len(out)))
	}
	first := turn % len(out)
	return append(out[first:len(out):len(out)], out[:first]...)
}

// onShared is the machine of a shared network that an address belongs to, or that has claimed it.
func (s *Server) onShared(at netip.AddrPort) []landing {
	for _, m := range s.machines.rows {
		if !m.powered() {
			continue
		}
		for _, x := range m.nics {
			if x.network.kind() == kindShared && (x.address == at.Addr() || (s.claims(m, at) && s.claimable(x.network, at.Addr(), m))) {
				return []landing{{m.id, int(at.Port())}}
			}
		}
	}
	return nil
}
