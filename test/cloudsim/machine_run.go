package cloudsim

import (
	"slices"
	"time"
)

// ascent is how a start goes on: when the machine leaves Stopped, and when it runs.
type ascent struct{ departs, arrives time.Duration }

// deployIdle is how long the job of a deploy takes that starts nothing.
const deployIdle = 700 * time.Millisecond

func deployAscent() ascent { return ascent{600 * time.Millisecond, 1900 * time.Millisecond} }

func startAscent() ascent { return ascent{500 * time.Millisecond, 1050 * time.Millisecond} }

// retryStart is how long after a refused start the next host is tried.
const retryStart = 1500 * time.Millisecond

// ascend plans the start of a machine, on a wanted host if there is one.
func (c *call) ascend(m *machine, want *host, a ascent) ([]phase, time.Duration) {
	if m.state != machineStopped {
		return nil, 2 * a.arrives
	}
	if c.noRoom() || c.hostFor(m, want) == nil {
		return nil, a.departs
	}
	depart := func() {
		if m.live() && m.state == machineStopped {
			c.depart(m, c.hostFor(m, want))
		}
	}
	phases := []phase{{a.departs, depart}}
	if !c.refused() {
		return phases, a.arrives
	}
	phases = append(phases, phase{a.arrives + retryStart, func() { c.fallBack(m) }}, phase{a.arrives + 2*retryStart, depart})
	return phases, a.arrives + 3*retryStart
}

// depart begins a start.
func (s *Server) depart(m *machine, h *host) {
	m.host = h
	if h == nil {
		return
	}
	m.state, m.updated = machineStarting, s.now()
	for _, x := range m.nics {
		first := x.network.state == networkAllocated
		s.implement(x.network)
		x.wired = x.wired || first
	}
}

// fallBack ends a start that failed.
func (s *Server) fallBack(m *machine) {
	m.state, m.updated, m.host = machineStopped, s.now(), nil
	for _, x := range m.nics {
		s.abandoned(x.network)
	}
}

// arrive ends a start: the machine runs, or is in Error when it never ran and no host can take it.
func (c *call) arrive(m *machine) error {
	switch {
	case m.state == machineStarting && m.host != nil && !c.refused():
		c.up(m)
		return nil
	case m.state == machineStarting:
		return c.refusedByHosts(m)
	case m.state == machineError && m.root != nil && c.hostFor(m, nil) != nil && !c.noRoom():
		return wrapped(530, "Unable to create deployment, no usable volumes found for the VM: %s", m.id)
	case m.state == machineStopped && m.everRan:
		return c.noDeployment(m)
	case m.state == machineStopped || m.state == machineError:
		return c.noDestination(m)
	}
	return wrapped(530, "Unable to orchestrate the start of %s", m.printedShort(c.Server))
}

// up ends a start well.
func (s *Server) up(m *machine) {
	m.state, m.updated, m.everRan, m.lastHost, m.root.state = machineRunning, s.now(), true, m.host, volumeReady
	m.boots++
	for _, v := range s.dataDisks(m) {
		v.state = volumeReady
	}
	if cp := m.template.copyIn(m.zone); cp != nil && len(cp.primary) == 0 { // the first machine brings the template to primary storage
		cp.primary = []string{m.zone.name + "-ps0", s.ids.uuid()}
	}
	delete(m.details, detailDeploy)
	for _, x := range m.nics {
		s.implemented(x.network)
		x.wired = true
	}
}

// refusedByHosts ends a start that every host refused.
func (c *call) refusedByHosts(m *machine) error {
	if m.everRan {
		c.fallBack(m)
		return c.noDeployment(m)
	}
	c.fallBack(m)
	c.breakDown(m)
	return wrapped(530, "Unable to orchestrate the start of %s", m.printedShort(c.Server))
}

// noDeployment is the refusal of a later start; it prints the machine as it was on its way.
func (c *call) noDeployment(m *machine) error {
	starting := *m
	starting.state = machineStarting
	return wrapped(530, "Unable to start a VM [%s] due to [Unable to create a deployment for %s].", m.id, starting.printed(c.Server))
}

// noDestination ends a start for which no host has room.
func (c *call) noDestination(m *machine) error {
	e := wrapped(533, "No destination found for a deployment for %s", m.printed(c.Server))
	if len(m.affinity) > 0 {
		e.text += ", Please check the affinity groups provided, there may not be sufficient capacity to follow them"
	}
	if c.name == "deployVirtualMachine" {
		c.breakDown(m)
		m.root.machine = nil
		m.root.removed = c.now()
	}
	return e
}

// breakDown puts a machine into Error: its disk is given up, its groups forget it, its addresses stay.
func (s *Server) breakDown(m *machine) {
	m.state, m.updated, m.host = machineError, s.now(), nil
	m.root.state, m.root.machine = volumeDestroy, nil
	m.affinity = nil
	for _, v := range s.dataDisks(m) {
		s.giveUp(v)
	}
}

// noRoom says whether a fault has it that no host has room.
func (c *call) noRoom() bool { return c.fault != nil && c.fault.Kind == FaultCapacity }

// hostFor picks the emptiest host of a zone that runs a machine's hypervisor, has room and suits its affinity groups; nil when there is none.
func (s *Server) hostFor(m *machine, want *host) *host {
	if m.zone.allocation != "Enabled" {
		return nil
	}
	allowed := s.affineHosts(m)
	var best *host
	var most int64
	for _, h := range s.hosts.rows {
		left, fits := s.leftOn(h, m)
		if !fits || h.zone != m.zone || h.hypervisor != m.template.hypervisor || (want != nil && h != want) || !allowed(h, true) {
			continue
		}
		if !allowed(h, false) { // a wish that is not strict: only when no other host has room
			left -= h.num("memorytotal")
		}
		if best == nil || left > most {
			best, most = h, left
		}
	}
	return best
}

// leftOn is how many bytes of memory a host would have left with a machine, and whether it has room for it.
func (s *Server) leftOn(h *host, m *machine) (left int64, fits bool) {
	if !h.live() || h.resource != "Enabled" || h.state != "Up" {
		return 0, false
	}
	cpus, mhz, mib := m.size()
	cpu, memory := s.usedOn(h)
	left = h.num("memorytotal") - memory - mib<<20
	return left, left >= 0 && h.num("cpunumber")*h.num("cpuspeed") >= cpu+cpus*mhz && cpus <= h.num("cpunumber") && mhz <= h.num("cpuspeed")
}

// affineHosts says which hosts the affinity groups of a machine allow, strictly or as a wish.
func (s *Server) affineHosts(m *machine) func(h *host, strict bool) bool {
	type rule struct {
		hosts   []*host
		against bool
		strict  bool
	}
	var rules []rule
	for _, g := range m.affinity {
		r := rule{against: g.kind == "host anti-affinity" || g.kind == "non-strict host anti-affinity", strict: g.kind == "host anti-affinity" || g.kind == "host affinity"}
		for _, other := range s.machines.rows {
			if other == m || !other.live() || !contains(other.affinity, g) {
				continue
			}
			switch {
			case other.host != nil:
				r.hosts = append(r.hosts, other.host)
			case other.state == machineStopped && other.lastHost != nil:
				r.hosts = append(r.hosts, other.lastHost)
			}
		}
		if len(r.hosts) > 0 {
			rules = append(rules, r)
		}
	}
	return func(h *host, strict bool) bool {
		return !slices.ContainsFunc(rules, func(r rule) bool { return (r.strict || !strict) && contains(r.hosts, h) == r.against })
	}
}
