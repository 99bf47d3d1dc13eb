package cloudsim

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// checkDeployLimits refuses what would lift the owner over a limit.
func (c *call) checkDeployLimits(d *deployment) error {
	cpus, _, mib := d.m.size()
	disks, bytes := int64(1), d.rootSize
	if d.disk != nil {
		disks, bytes = 2, bytes+d.diskSize
	}
	for _, l := range []struct {
		kind limit
		more int64
	}{{limitVM, 1}, {limitCPU, cpus}, {limitMemory, mib}, {limitVolume, disks}, {limitPrimary, bytes}} {
		if err := c.checkLimit(d.m.owner, l.kind, l.more, csPlain); err != nil {
			return err
		}
	}
	if len(d.nics) > 0 {
		return nil
	}
	n, err := c.defaultNetwork(d.m)
	if err != nil {
		return err
	}
	d.nics = []wantedNIC{{network: n, address: c.str("ipaddress")}}
	return nil
}

// checkCustomID refuses wanted ids that are none or taken, and those of users.
func (c *call) checkCustomID(d *deployment) error {
	switch {
	case d.id == "":
		return nil
	case !c.root():
		return denied("Please check your permissions, you are not allowed to create/update custom id")
	case !looksLikeID(d.id):
		return invalid("UUID: %s doesn't follow the UUID format", d.id)
	}
	have := c.machines.find(d.id)
	switch {
	case have == nil:
		return nil
	case have.live():
		return invalid("UUID: %s already exists so can't create/update with custom id", d.id)
	}
	e := internal("Entity already exists ")
	e.cs, e.hidden = 0, false
	return e
}

// checkZoneOfNetworks refuses networks of other zones.
func (c *call) checkZoneOfNetworks(d *deployment) error {
	for _, w := range d.nics {
		if w.network.zone != d.m.zone {
			return invalid(`Network %s doesn't belong to zone Zone %s`, w.network.printed(), d.m.zone.printed())
		}
	}
	return nil
}

// checkServices refuses user data and keys on a default network that cannot hand them out.
func (c *call) checkServices(d *deployment) error {
	n := d.nics[0].network
	if n.offering.supports([]string{"UserData"}) {
		return nil
	}
	switch {
	case d.m.userData != "":
		return invalid("Unable to deploy VM as UserData is provided while deploying the VM, but there is no support for UserData service in the default network %s/%s.", n.name, n.id)
	case d.m.details[detailKeys] != "":
		return invalid("Unable to deploy VM as SSH keypair is provided while deploying the VM, but there is no support for UserData service in the default network %s/%s", n.name, n.id)
	}
	return nil
}

// checkHostName refuses a name that another machine on one of the networks has.
func (c *call) checkHostName(d *deployment) error {
	for _, w := range d.nics {
		if other := c.namesake(d.m, w.network); other != nil {
			return nameTaken(d.m.name, other)
		}
	}
	return nil
}

func nameTaken(name string, n *network) error {
	return invalid("The vm with hostName %s already exists in the network domain: %s; network=%s", name, n.domain, n.name)
}

// namesake returns the network on which another machine has a machine's name already: the given one or one that shares its names. A call that
// was under way when the other was written does not see it, for nothing is locked; how many such calls get through is a matter of luck.
func (c *call) namesake(m *machine, n *network) *network {
	if m.name == "" {
		return nil
	}
	unseen := 0
	var found *network
	for _, other := range c.machines.rows {
		if other == m || !other.live() || other.name != m.name {
			continue
		}
		for _, x := range other.nics {
			if !x.network.sameNames(n) {
				continue
			}
			if unseen++; other.after(c) && unseen < sameTimeDeploys {
				continue
			}
			found = x.network
		}
	}
	return found
}

// sameTimeDeploys is how many deploys of one name that are sent at the same time the server accepts at most.
const sameTimeDeploys = 3

// after says whether a machine was written while a call was waiting for its turn.
func (m *machine) after(c *call) bool { return m.writtenAt >= c.arrival }

// checkDisks refuses a root disk smaller than the template.
func (c *call) checkDisks(d *deployment) error {
	if size := c.templateSize(d.m); d.rootSize < size {
		return invalid("Unsupported: rootdisksize override (%d GB) is smaller than template size (%.2f GB) %d", d.rootSize/gib, float64(size)/gib, size)
	}
	return nil
}

// deploy writes the rows and begins the job.
func (c *call) deploy(d *deployment) (*work, error) {
	m := d.m
	if err := c.insertMachine(d); err != nil {
		return nil, err
	}
	start := c.flagOr("startvm", true)
	scheduled := c.record(m.owner, c.user, "VM.CREATE", startText(start)+m.id, "VirtualMachine", m.id, m.name, "Scheduled")
	w := &work{created: m.id, instanceType: "VirtualMachine", instanceID: m.id, queue: "vm/" + m.id}
	w.start = func() {
		c.follow(scheduled, "Deploying Vm. Vm Id: "+m.id, "Started")
	}
	w.run = func() (object, error) {
		if start && m.live() {
			if err := c.arrive(m); err != nil {
				c.follow(scheduled, "Error while deploying Vm. Vm Id: "+m.id, "Completed").level = "ERROR"
				return nil, err
			}
		}
		c.follow(scheduled, "Successfully completed deploying Vm. Vm Id: "+m.id, "Completed")
		return obj("virtualmachine", c.machineAfter(m)), nil
	}
	w.pace = func() ([]phase, time.Duration) { return nil, deployIdle }
	if start {
		w.pace = func() ([]phase, time.Duration) { return c.ascend(m, d.host, deployAscent()) }
	}
	return w, nil
}

func startText(start bool) string {
	if start {
		return "starting Vm. Vm Id: "
	}
	return "creating Vm. Vm Id: "
}

// insertMachine writes the rows of machine, NICs and disks. When an address cannot be had, the row of the machine stays, in Error and without a NIC.
func (c *call) insertMachine(d *deployment) error {
	m := d.m
	m.base = c.newBase()
	if d.id != "" {
		m.id = strings.ToLower(d.id)
	}
	c.machines.insert(m)
	m.writtenAt = c.arrivals.Load()
	if m.name == "" {
		m.name = c.settings["instance.name"] + "-" + m.id
	}
	if !c.has("displayname") {
		m.displayName = m.name
	}
	for _, w := range d.nics {
		if err := c.addNIC(m, w); err != nil {
			m.state, m.updated, m.nics = machineError, c.now(), nil
			return err
		}
	}
	m.group = c.groupNamed(m.owner, c.str("group"))
	m.root = c.volumes.insert(&volume{base: c.newBase(), owner: m.owner, name: fmt.Sprintf("ROOT-%d", m.db), zone: m.zone, machine: m, kind: volumeRoot, offering: d.root, template: m.template,
		size: d.rootSize, state: volumeAllocated})
	if d.disk != nil {
		m.data = c.volumes.insert(&volume{base: c.newBase(), owner: m.owner, name: fmt.Sprintf("DATA-%d", m.db), zone: m.zone, machine: m, kind: volumeData, device: 1, offering: d.disk,
			size: d.diskSize, state: volumeAllocated})
	}
	return nil
}

func (c *call) addNIC(m *machine, w wantedNIC) error {
	n := w.network
	x := &nic{id: c.ids.uuid(), network: n, wired: n.state == networkImplemented || n.state == networkSetup, mac: w.mac}
	if x.mac == "" {
		c.macs++
		x.mac = fmt.Sprintf("02:02:%02x:%02x:%02x:%02x", n.db>>8&0xff, n.db&0xff, c.macs>>8&0xff, c.macs&0xff)
	}
	if n.cidr.IsValid() {
		var ok bool
		if x.address, ok = c.guestAddress(n, w.address); !ok {
			e := internal("Unable to acquire Guest IP address for network %s", n.printed())
			if n.kind() == "Shared" {
				e = internal("Insufficient address capacity")
			}
			e.cs = 0
			return e
		}
	}
	m.nics = append(m.nics, x)
	return nil
}

// guestAddress is the wanted address of a network, or the lowest that no machine holds.
func (s *Server) guestAddress(n *network, wanted string) (netip.Addr, bool) {
	if wanted == "" {
		a := s.freeAddress(n)
		return a, a.IsValid()
	}
	a, err := netip.ParseAddr(wanted)
	first, last := n.guestRange()
	return a, err == nil && first.Compare(a) <= 0 && a.Compare(last) <= 0 && !s.takenAddresses(n)[a]
}

func (s *Server) takenAddresses(n *network) map[netip.Addr]bool {
	taken := map[netip.Addr]bool{n.gateway: true}
	for _, m := range s.machines.rows {
		for _, x := range m.nics {
			if m.live() && x.network == n {
				taken[x.address] = true
			}
		}
	}
	return taken
}

// freeAddress is the lowest address of a network that no machine holds, the zero address when there is none.
func (s *Server) freeAddress(n *network) netip.Addr {
	taken := s.takenAddresses(n)
	first, last := n.guestRange()
	for a := first; a.Compare(last) <= 0; a = a.Next() {
		if !taken[a] {
			return a
		}
	}
	return netip.Addr{}
}
