package cloudsim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// Uplink is the way from one machine to its neighbours and, through the router of its default network, to the world.
type Uplink struct {
	server  *Server
	machine *machine
	name    string // of the machine when it started
}

// errTimeout is what a client sees of packets that nobody answers. The wait for it is left out.
type errTimeout string

// Error implements error.
func (e errTimeout) Error() string { return "i/o timeout: " + string(e) }

// Timeout implements net.Error.
func (e errTimeout) Timeout() bool { return true }

// Temporary implements net.Error.
func (e errTimeout) Temporary() bool { return true }

var _ net.Error = errTimeout("")

// route is how packets to an address leave a machine.
type route struct {
	neighbour *machine   // on a network of the machine's; nil for the world
	source    netip.Addr // as the world sees it
}

// Dial connects to host:port over TCP, for which a host that is no address is looked up as this host does. What egress rules keep in fails
// with a net.Error that is a timeout.
func (u *Uplink) Dial(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dialling from %s: %w", u.name, err)
	}
	to, err := u.lookup(ctx, host, port)
	if err != nil {
		return nil, fmt.Errorf("dialling %s from %s: %w", address, u.name, err)
	}
	c, err := u.dial(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("dialling %s from %s: %w", address, u.name, err)
	}
	return c, nil
}

func (u *Uplink) lookup(ctx context.Context, host, port string) (netip.AddrPort, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("port %q: %w", port, err)
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return netip.AddrPortFrom(a.Unmap(), uint16(n)), nil
	}
	if to, ok := u.server.opts.Resolve[host]; ok {
		if p, err := netip.ParseAddrPort(to); err == nil {
			return p, nil
		}
		if a, err := netip.ParseAddr(to); err == nil {
			return netip.AddrPortFrom(a, uint16(n)), nil
		}
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return netip.AddrPortFrom(all[0].Unmap(), uint16(n)), nil
}

func (u *Uplink) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	r, err := u.route(to)
	switch {
	case err != nil:
		return nil, err
	case r.neighbour != nil:
		return u.server.opts.Guests.Dial(ctx, r.neighbour.id, int(to.Port()))
	}
	var d net.Dialer
	if r.source.IsValid() && r.source.IsLoopback() && to.Addr().IsLoopback() {
		d.LocalAddr = &net.TCPAddr{IP: r.source.AsSlice()}
	}
	return d.DialContext(ctx, "tcp", to.String())
}

// Reaches says whether a TCP packet to an address leaves the machine's network; nil when it does.
func (u *Uplink) Reaches(to netip.AddrPort) error {
	_, err := u.route(to)
	return err
}

// route finds the way to an address. It fails when the machine has no power, or a rule keeps the packet in.
func (u *Uplink) route(to netip.AddrPort) (route, error) {
	s, m := u.server, u.machine
	s.mu.Lock()
	defer s.mu.Unlock()
	if !m.powered() {
		return route{}, errors.New("the machine has no power")
	}
	if other := s.neighbour(m, to); other != nil {
		return route{neighbour: other}, nil
	}
	if len(m.nics) == 0 {
		return route{}, errors.New("network is unreachable: the machine has no NIC")
	}
	x := m.nics[0]
	source, err := s.leaves(x.network, x.address, to)
	if err != nil {
		return route{}, fmt.Errorf("%w (network %q)", err, x.network.name)
	}
	return route{source: source}, nil
}

// neighbour is the machine that has an address, or has claimed it, on a network that it shares with m; nil for none.
func (s *Server) neighbour(m *machine, to netip.AddrPort) *machine {
	for _, x := range m.nics {
		if !x.network.cidr.Contains(to.Addr()) {
			continue
		}
		for _, other := range s.machines.rows {
			if other.powered() && (other.addressOn(x.network) == to.Addr().String() || (other.onNetwork(x.network) && s.claims(other, to))) {
				return other
			}
		}
	}
	return nil
}

// claims says whether a machine serves at an address that it was not given.
func (s *Server) claims(m *machine, to netip.AddrPort) bool {
	for _, at := range s.opts.Guests.Serves(m.id) {
		if at == to {
			return true
		}
	}
	return false
}

// leaves says as what a packet of a guest gets out of its network.
func (s *Server) leaves(n *network, from netip.Addr, to netip.AddrPort) (netip.Addr, error) {
	switch {
	case n.kind() == kindL2:
		return netip.Addr{}, errTimeout("a layer 2 network has no router")
	case n.kind() == kindShared:
		return from, nil
	case n.vpc != nil:
		if !s.aclAllows(n, "Egress", to) {
			return netip.Addr{}, errTimeout("the network ACL keeps the packet in")
		}
		if ip := s.sourceNATOfVPC(n.vpc); ip != nil && s.routes(nil, n.vpc) {
			return ip.address, nil
		}
	case !s.egressAllows(n, from, to):
		return netip.Addr{}, errTimeout("no egress rule lets the packet out")
	default:
		if ip := s.sourceNATOf(n); ip != nil && s.routes(n, nil) {
			return ip.address, nil
		}
	}
	return netip.Addr{}, errTimeout("the network has no router that runs")
}

// routes says whether the router of a network or a VPC runs.
func (s *Server) routes(n *network, v *vpc) bool {
	r := s.routerOf(n, v)
	return r != nil && r.state == routerRunning
}

// egressAllows applies the egress rules of a network to a TCP packet: they are exceptions from the default of its offering.
func (s *Server) egressAllows(n *network, from netip.Addr, to netip.AddrPort) bool {
	byDefault := n.offering.flag("egressdefaultpolicy")
	for _, r := range s.firewallRules.rows {
		if r.egress && r.network == n && r.inForce() && r.takes(int(to.Port())) && inCIDRs(from, r.cidrs) && (len(r.dests) == 0 || inCIDRs(to.Addr(), r.dests)) {
			return !byDefault
		}
	}
	return byDefault
}

// inForce says whether the router applies a rule.
func (r *firewallRule) inForce() bool { return r.state == ruleActive || r.stuck }

// takes says whether a firewall rule is about TCP packets to a port.
func (r *firewallRule) takes(port int) bool {
	return (r.protocol == "tcp" || r.protocol == "all") && (r.portless() || (r.start <= port && port <= r.end))
}

// inCIDRs says whether one of the blocks has an address.
func inCIDRs(a netip.Addr, blocks []string) bool {
	for _, b := range blocks {
		if p, err := netip.ParsePrefix(b); err == nil && p.Masked().Contains(a.Unmap()) {
			return true
		}
	}
	return false
}
