package cloudsim

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// Where the addresses of PresetLoopback lie in its /16: the third byte of the first zone's public and shared addresses.
const (
	loopbackPublic = 10
	loopbackShared = 20
	loopbackBlocks = 250
)

// loopbackMark is listened on for as long as a server has a block, so that no other takes it.
const loopbackMark = "255.253:6443"

// takeLoopback finds the block of addresses for PresetLoopback and keeps others from taking it.
func (s *Server) takeLoopback() error {
	if s.opts.Preset != PresetLoopback {
		return nil
	}
	if s.opts.Loopback.IsValid() {
		return s.markLoopback(s.opts.Loopback)
	}
	var last error
	for i := range loopbackBlocks {
		if last = s.markLoopback(netip.PrefixFrom(netip.AddrFrom4([4]byte{127, byte(i), 0, 0}), 16)); last == nil {
			return nil
		}
	}
	return fmt.Errorf("no block of loopback addresses is free; the last: %w", last)
}

func (s *Server) markLoopback(block netip.Prefix) error {
	if block.Bits() != 16 || !block.Addr().Is4() || !block.Addr().IsLoopback() || block != block.Masked() {
		return fmt.Errorf("%s is not a /16 of 127.0.0.0/8", block)
	}
	b := block.Addr().As4()
	l, err := net.Listen("tcp", fmt.Sprintf("%d.%d.%s", b[0], b[1], loopbackMark))
	if err != nil {
		return fmt.Errorf("taking the loopback addresses %s: %w", block, err)
	}
	s.mark, s.opts.Loopback = l, block
	return nil
}

// seedLoopback gives each zone a /24 of public and one of shared addresses. Of the latter the machines get those up to .200; the rest is
// for addresses that machines claim themselves.
func (s *Server) seedLoopback(like object) {
	b := s.opts.Loopback.Addr().As4()
	var ranges []object
	for i := range s.zones.rows {
		prefix := fmt.Sprintf("%d.%d.%d.", b[0], b[1], loopbackPublic+i)
		ranges = append(ranges, like.replace("startip", prefix+"2").replace("endip", prefix+"200").replace("gateway", prefix+"1").replace("vlan", fmt.Sprintf("vlan://%d", 50+i)))
	}
	s.seedRanges(ranges, nil)
	for i, z := range s.zones.rows {
		prefix := fmt.Sprintf("%d.%d.%d.", b[0], b[1], loopbackShared+i)
		s.seedShared(sharedNetwork{Name: "shared", Text: "shared by all accounts", Zone: z.name, Domain: "ROOT", Offering: "DefaultSharedNetworkOffering",
			CIDR: prefix + "0/24", First: prefix + "10", Last: prefix + "200", VLAN: 550 + i})
	}
	for name, value := range map[string]string{"user.vms": "100", "templates": "100", "public.ips": "100", "networks": "100", "cpus": "400", "memory": "409600"} {
		s.settings["max.account."+name] = value
	}
}

// releaseLoopback lets other servers take the block.
func (s *Server) releaseLoopback() error {
	if s.mark == nil {
		return nil
	}
	if err := s.mark.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("giving the loopback addresses back: %w", err)
	}
	return nil
}
