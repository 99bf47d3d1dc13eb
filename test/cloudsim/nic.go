package cloudsim

import (
	"slices"
	"strings"
	"time"
)

// nicLookup resolves ids of NICs.
type nicLookup struct{ machines *table[*machine] }

func (l nicLookup) name() string { return "nic" }

func (l nicLookup) lookup(id string) (int64, bool) {
	for _, m := range l.machines.rows {
		for i, x := range m.nics {
			if strings.EqualFold(x.id, id) {
				return m.db<<8 + int64(i), true
			}
		}
	}
	return 0, false
}

func listNics(c *call) (object, error) {
	m, _ := refer(c, c.machines, "virtualmachineid")
	if m == nil || !m.live() {
		return nil, wrapped(530, "Virtual machine id does not exist")
	}
	if err := c.mayUse(m.owner); err != nil {
		return nil, err
	}
	n, byNetwork := refer(c, c.networks, "networkid")
	var rows []int
	for i, x := range m.nics {
		if (!byNetwork || x.network == n) && (!c.has("nicid") || strings.EqualFold(x.id, c.str("nicid"))) {
			rows = append(rows, i)
		}
	}
	return pageOf(c, "nic", rows, func(i int) object { return c.nicObject(m, i).without("secondaryip").with("virtualmachineid", m.id) })
}

// updateDefaultNicForVirtualMachine makes another NIC the first of a machine.
func updateDefaultNicForVirtualMachine(c *call) (*work, error) {
	m, err := c.machineNamed("virtualmachineid")
	if err != nil {
		return nil, err
	}
	return &work{instanceType: "None", instanceID: m.id, takes: time.Second, run: func() (object, error) {
		i := slices.IndexFunc(m.nics, func(x *nic) bool { return strings.EqualFold(x.id, c.str("nicid")) })
		switch {
		case i < 0:
			return nil, invalid("unable to find the NIC %s of the virtual machine", c.str("nicid"))
		case i == 0:
			return nil, invalid("Unable to set default nic as the specified NIC is already the default nic for the virtual machine")
		}
		m.nics[0], m.nics[i] = m.nics[i], m.nics[0]
		return obj("virtualmachine", c.machineParts(m, sections{"nics": true})), nil
	}}, nil
}
