package cloudsim

import (
	"slices"
	"time"
)

const machineMigrating = "Migrating"

// How a move to another host goes on.
const (
	beginsToMove = 300 * time.Millisecond
	hasMoved     = time.Second
)

// migrateVirtualMachine moves a running machine to another host, to the one that is named or to any that has room.
func migrateVirtualMachine(c *call) (*work, error) {
	m, err := c.machineNamed("virtualmachineid")
	if err != nil {
		return nil, err
	}
	want, named := refer(c, c.hosts, "hostid")
	var to *host
	for _, h := range c.hosts.rows {
		if h != m.host && to == nil && (!named || h == want) {
			to = c.hostFor(m, h)
		}
	}
	switch {
	case m.state != machineRunning:
		return nil, invalid("VM is not Running, unable to migrate the vm %s", m.id)
	case named && (want == nil || want == m.host):
		return nil, invalid("Cannot migrate VM, VM is already present on this host, please specify valid destination host to migrate the VM")
	}
	first := c.record(m.owner, c.user, "VM.MIGRATE", "Attempting to migrate VM Id: "+m.id, "VirtualMachine", m.id, m.name, "Scheduled")
	pace := func() ([]phase, time.Duration) {
		return []phase{{beginsToMove, func() {
			if m.live() && m.state == machineRunning && to != nil {
				m.state, m.updated = machineMigrating, c.now()
			}
		}}}, hasMoved
	}
	return &work{instanceType: "VirtualMachine", instanceID: m.id, queue: "vm/" + m.id, pace: pace, run: func() (object, error) {
		if slices.Contains([]string{machineMigrating, machineRunning}, m.state) {
			m.state, m.updated = machineRunning, c.now()
		}
		if to == nil || c.refused() || m.state != machineRunning {
			return nil, internal("Unable to migrate %s", m.printed(c.Server))
		}
		m.host, m.lastHost = to, to
		c.follow(first, "Successfully completed migrating VM. Vm Id: "+m.id, "Completed")
		return obj("virtualmachine", c.machineObject(m)), nil
	}}, nil
}
