package cloudsim

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// States of a machine.
const (
	machineStopped   = "Stopped"
	machineStarting  = "Starting"
	machineRunning   = "Running"
	machineStopping  = "Stopping"
	machineMigrating = "Migrating"
	machineDestroyed = "Destroyed"
	machineExpunging = "Expunging"
	machineError     = "Error"
)

// Details of a machine that the server itself writes.
const (
	detailDeploy        = "deployvm"
	detailCapacityFreed = "Message.ReservedCapacityFreed.Flag"
	detailKeys          = "SSH.PublicKey"
	detailKeyNames      = "SSH.KeyPairNames"
)

// machine is an instance of a user.
type machine struct {
	base
	owner             *account
	user              *user
	name, displayName string
	zone              *zone
	template          *template
	offering          *offering
	cpus, mhz, mib    int64 // what of a customised offering was asked for
	host              *host
	lastHost          *host
	state             string
	nics              []*nic
	root, data        *volume // data is the data disk that came last
	details           map[string]string
	userData          string
	registered        *registeredData // whose text the user data is
	affinity          []*affinityGroup
	security          []*securityGroup
	group             *instanceGroup
	protected         bool // against being deleted
	available         bool // started anew when its host fails
	updated           time.Time
	everRan           bool
	boots             int       // how often it began to run, reboots too
	measured          bool      // its use of the host has been collected
	writtenAt         int64     // how many calls had come in when its row was written
	expunge           time.Time // when a destroyed one is expunged
}

// nic connects a machine with a network.
type nic struct {
	id      string
	network *network
	address netip.Addr
	mac     string
	wired   bool // it has its part of the network on a host
}

func (m *machine) onNetwork(n *network) bool {
	return slices.ContainsFunc(m.nics, func(x *nic) bool { return x.network == n })
}

// size is what a machine takes of a host: cores, MHz of each and MiB.
func (m *machine) size() (cpus, mhz, mib int64) {
	cpus, mhz, mib = m.offering.num("cpunumber"), m.offering.num("cpuspeed"), m.offering.num("memory")
	if m.cpus > 0 {
		cpus = m.cpus
	}
	if m.mhz > 0 {
		mhz = m.mhz
	}
	if m.mib > 0 {
		mib = m.mib
	}
	return cpus, mhz, mib
}

// instance is the name on the host.
func (s *Server) instance(m *machine) string {
	return fmt.Sprintf("i-%d-%d-%s", m.owner.db, m.db, s.settings["instance.name"])
}

// counts says whether a machine takes from the limits of its owner.
func (m *machine) counts() bool {
	return m.live() && m.state != machineDestroyed && m.state != machineExpunging && m.state != machineError
}

func (s *Server) countMachines(owner owns, n map[limit]int64) {
	for _, m := range s.machines.rows {
		if owner(m.owner) && m.counts() {
			cpus, _, mib := m.size()
			n[limitVM]++
			n[limitCPU] += cpus
			n[limitMemory] += mib
		}
	}
	for _, v := range s.volumes.rows {
		if v.live() && owner(v.owner) && v.state != volumeDestroy {
			n[limitVolume]++
			n[limitPrimary] += v.size
		}
	}
	for _, x := range s.snapshots.rows {
		if x.live() && owner(x.owner) {
			n[limitSnapshot]++
		}
	}
}

// machineStates counts the machines of an account that are stopped and that run.
func (s *Server) machineStates(a *account) (stopped, running int) {
	for _, m := range s.machines.rows {
		if m.owner == a && m.live() {
			switch m.state {
			case machineStopped:
				stopped++
			case machineRunning:
				running++
			}
		}
	}
	return stopped, running
}

// machinesFrom lists, as a refusal prints them, the machines that a template is in use by: all that are not expunged.
func (s *Server) machinesFrom(t *template) []string {
	var out []string
	for _, m := range s.machines.rows {
		if m.live() && m.template == t {
			out = append(out, m.printed(s))
		}
	}
	return out
}

func (m *machine) printed(s *Server) string {
	return fmt.Sprintf(`VM instance {"id":%d,"instanceName":%q,"state":%q,"type":"User","uuid":%q}`, m.db, s.instance(m), m.state, m.id)
}

// printedShort is how errors of the orchestration print a machine.
func (m *machine) printedShort(s *Server) string {
	return fmt.Sprintf(`VM instance {"instanceName":%q,"uuid":%q}.`, s.instance(m), m.id)
}

func (s *Server) machinesOf(a *account) int {
	return len(s.machines.all(func(m *machine) bool {
		return m.owner == a && m.state != machineDestroyed && m.state != machineExpunging
	}))
}

// wipeMachines removes the machines, disks and networks of an account.
func (c *call) wipeMachines(a *account) {
	for _, m := range c.machines.all(func(m *machine) bool { return m.owner == a }) {
		c.expunge(m)
	}
	for _, v := range c.volumes.all(func(v *volume) bool { return v.owner == a }) {
		v.removed = c.now()
	}
	c.wipeNetworks(a)
	for _, k := range c.keyPairs.all(func(k *keyPair) bool { return k.owner == a }) {
		c.keyPairs.drop(k)
	}
	for _, g := range c.affinityGroups.all(func(g *affinityGroup) bool { return g.owner == a }) {
		c.affinityGroups.drop(g)
	}
	for _, g := range c.securityGroups.all(func(g *securityGroup) bool { return g.owner == a }) {
		c.securityGroups.drop(g)
	}
}

// expunge removes a machine for good, its root disk with it; its data disks stay.
func (s *Server) expunge(m *machine) {
	m.state, m.removed, m.host = machineExpunging, s.now(), nil
	m.affinity, m.security = nil, nil
	if m.root != nil && m.root.live() {
		m.root.removed = s.now()
	}
	for _, v := range s.dataDisks(m) {
		v.machine, v.device = nil, 0
	}
	s.dropTags("UserVm", m.id)
	s.forgetMachine(m)
}

// usedOn is what the machines of a host take: MHz and bytes.
func (s *Server) usedOn(h *host) (cpu, memory int64) {
	for _, m := range s.machines.rows {
		if m.live() && m.host == h {
			cpus, mhz, mib := m.size()
			cpu += cpus * mhz
			memory += mib << 20
		}
	}
	return cpu, memory
}

// taggableMachines are the lookups of resources around machines.
func (s *Server) taggableMachines(kind string) []func(string) *account {
	switch kind {
	case "UserVm":
		return ownerBy(s.machines, func(m *machine) *account { return m.owner })
	case "Volume":
		return ownerBy(s.volumes, func(v *volume) *account { return v.owner })
	case "Snapshot":
		return ownerBy(s.snapshots, func(x *snapshot) *account { return x.owner })
	case "SecurityGroup":
		return ownerBy(s.securityGroups, func(g *securityGroup) *account { return g.owner })
	}
	return nil
}

// hasRouterIn says whether the caller's networks have a router in a zone.
func (c *call) hasRouterIn(z *zone) bool {
	for _, n := range c.networks.rows {
		if n.live() && n.owner == c.acct && n.zone == z && n.router {
			return true
		}
	}
	return false
}
