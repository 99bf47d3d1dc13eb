package cloudsim

import (
	"context"
	"encoding/base64"
	"net"
	"net/netip"
	"time"
)

// Guests is what runs inside the machines. The server tells it what becomes of them and asks it for connections. All methods are
// safe for concurrent use. Start, Stop and Discard are called with the server locked, in the order of what happened: they must not
// block and must not call the server.
type Guests interface {
	// Start tells that a machine runs: for the first time, after a stop, or anew after a reboot, which has no Stop before it.
	Start(g Guest)
	// Stop tells that a machine runs no more. Its disk stays.
	Stop(id string)
	// Discard tells that a machine is destroyed and, once expunged is true, that its disk is gone too.
	Discard(id string, expunged bool)
	// Dial connects to a TCP port of a machine as its router or a neighbour does.
	Dial(ctx context.Context, id string, port int) (net.Conn, error)
	// Serves lists what a machine listens on: ports of its own at the zero address, and addresses of its network that it has claimed.
	Serves(id string) []netip.AddrPort
	// Console is what a machine has written to its console, the oldest first. ok is false for a machine that never ran.
	Console(id string) (text string, ok bool)
}

// Guest is a machine as it sees itself when it starts.
type Guest struct {
	ID          string
	HostName    string
	DisplayName string
	Account     string
	Zone        string
	// UserData is decoded from base64, and as it was sent otherwise.
	UserData []byte
	Template GuestTemplate
	// NICs of the machine, the default one first.
	NICs []GuestNIC
	// Uplink is the machine's way to its neighbours and to the world.
	Uplink *Uplink
}

// GuestTemplate is what a machine was made from.
type GuestTemplate struct {
	ID   string
	Name string
	// Kubernetes is the version that the image holds, as v1.34.2; empty for an image without Kubernetes.
	Kubernetes string
}

// GuestNIC connects a machine with a network.
type GuestNIC struct {
	NetworkID string
	Network   string
	// Kind is Isolated, Shared or L2.
	Kind string
	CIDR netip.Prefix
	// Address is zero on a network without addresses.
	Address netip.Addr
}

// guest shows a machine to what runs in it.
func (s *Server) guest(m *machine) Guest {
	g := Guest{ID: m.id, HostName: m.name, DisplayName: m.displayName, Account: m.owner.name, Zone: m.zone.name,
		Template: GuestTemplate{ID: m.template.id, Name: m.template.name, Kubernetes: s.kubernetesIn(m.template, m.zone)},
		Uplink:   &Uplink{server: s, machine: m, name: m.name}}
	g.UserData, _ = base64.StdEncoding.DecodeString(m.userData) // the deploy call took it
	for _, x := range m.nics {
		g.NICs = append(g.NICs, GuestNIC{NetworkID: x.network.id, Network: x.network.name, Kind: x.network.kind(), CIDR: x.network.cidr, Address: x.address})
	}
	return g
}

// powered says whether a machine has power: one that is asked to stop has it until it has stopped.
func (m *machine) powered() bool {
	return m.live() && (m.state == machineRunning || m.state == machineStopping || m.state == machineMigrating)
}

// discarded says whether a machine is destroyed, or expunged already.
func (m *machine) discarded() bool {
	return !m.live() || m.state == machineDestroyed || m.state == machineExpunging
}

// guestRow is what the guests were last told of a machine.
type guestRow struct {
	boots    int // of the start that they were told of; 0 while it has no power
	expunged bool
	gone     bool
}

// tellGuests compares the machines with what the guests know, and tells them what is new.
func (s *Server) tellGuests() {
	if s.opts.Guests == nil {
		return
	}
	for _, m := range s.machines.rows {
		s.tellGuest(m)
	}
}

func (s *Server) tellGuest(m *machine) {
	was, known := s.told[m]
	now := guestRow{gone: m.discarded(), expunged: !m.live()}
	if m.powered() {
		now.boots = m.boots
	}
	if now == was || (!known && now.boots == 0) {
		return
	}
	s.told[m] = now
	switch {
	case now.boots > 0 && now.boots != was.boots:
		s.opts.Guests.Start(s.guest(m))
	case now.boots == 0 && was.boots > 0:
		s.opts.Guests.Stop(m.id)
	}
	if now.gone && now != (guestRow{gone: was.gone, expunged: was.expunged}) {
		s.opts.Guests.Discard(m.id, now.expunged)
	}
}

// guestPeriod is how often the server looks what has become due when nobody calls it.
const guestPeriod = 100 * time.Millisecond

// hostGuests makes the server move on by itself, for guests do not wait until somebody asks for their machines. A clock that is stepped
// moves by Advance alone.
func (s *Server) hostGuests() {
	if s.opts.Guests == nil {
		return
	}
	s.front = newFront(s)
	if _, stepped := s.opts.Clock.(steppable); stepped {
		return
	}
	s.going.Go(func() {
		tick := time.NewTicker(guestPeriod)
		defer tick.Stop()
		for {
			select {
			case <-s.ended:
				return
			case <-tick.C:
			}
			s.mu.Lock()
			s.catchUp()
			s.settleGuests()
			s.mu.Unlock()
		}
	})
}

// settleGuests brings guests and listeners up to what the server has become.
func (s *Server) settleGuests() {
	if s.opts.Guests == nil {
		return
	}
	s.tellGuests()
	s.front.adjust(s.wantedListeners())
}
