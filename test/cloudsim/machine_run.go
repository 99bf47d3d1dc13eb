package cloudsim

import (
	"fmt"
	"net/netip"
	"regexp"
	"time"
)

// gib is 2^30 bytes.
const gib = 1 << 30

// deployVirtualMachine writes the row of a machine, and starts it in a job. It knows what template protection, tenancy and tags need:
// one or more networks, no disks besides the root disk, no user data.
func deployVirtualMachine(c *call) (*work, error) {
	m, err := c.newMachine()
	if err != nil {
		return nil, err
	}
	networks, err := c.deployNetworks(m)
	if err != nil {
		return nil, err
	}
	if err := c.machineLimits(m); err != nil {
		return nil, err
	}
	if err := c.checkPlace(m, networks); err != nil {
		return nil, err
	}
	c.insertMachine(m, networks)
	start := c.flagOr("startvm", true)
	c.record(m.owner, c.user, "VM.CREATE", "Deploying Vm. Vm Id: "+m.id, "VirtualMachine", m.id, m.name, "Started")
	w := &work{created: m.id, instanceType: "VirtualMachine", instanceID: m.id, queue: "vm/" + m.id, run: func() (object, error) {
		if start {
			if err := c.arrive(m); err != nil {
				return nil, err
			}
			m.firstRun = true
		}
		c.record(m.owner, c.user, "VM.CREATE", "Successfully completed deploying Vm. Vm Id: "+m.id, "VirtualMachine", m.id, m.name, "Completed")
		return obj("virtualmachine", c.machineObject(m)), nil
	}}
	if start {
		w.start = func() { c.depart(m) }
	} else {
		w.takes = time.Second
	}
	return w, nil
}

func (c *call) newMachine() (*machine, error) {
	if n := c.str("name"); c.has("name") && !regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`).MatchString(n) {
		return nil, badParam("Unable to execute API command %s due to invalid value. Invalid value provided for API arg: name - it can contain ASCII letters 'a' through 'z', "+
			"the digits '0' through '9', and the hyphen ('-'), must be between 1 and 63 characters long, and can't start or end with \"-\" and can't start with digit", c.wireName())
	}
	t, haveTemplate := refer(c, c.templates, "templateid")
	o, _ := refer(c, c.serviceOfferings, "serviceofferingid")
	z, _ := refer(c, c.zones, "zoneid")
	switch {
	case z == nil:
		return nil, invalid("Unable to find zone by id=%s", c.str("zoneid"))
	case o == nil:
		return nil, invalid("Unable to find service offering: %s", c.str("serviceofferingid"))
	case !haveTemplate:
		return nil, internal("Please provide only one of the following parameters - template ID, volume ID or snapshot ID")
	case t == nil || !t.live():
		return nil, invalid("Unable to use template %s", dbOr(t, c.str("templateid")))
	}
	owner, err := c.ownerOf()
	if err != nil {
		return nil, err
	}
	if err := c.mayDeploy(t, z); err != nil {
		return nil, err
	}
	m := &machine{owner: owner, user: c.user, name: c.str("name"), displayName: c.str("displayname"), zone: z, template: t, offering: o, state: machineStopped,
		details: c.mapOf("details")}
	if m.details == nil {
		m.details = map[string]string{}
	}
	m.details["deployvm"] = "true"
	return m, c.checkCustom(m)
}

// mayDeploy refuses zones that are disabled and templates that are not there, not ready or not the caller's.
func (c *call) mayDeploy(t *template, z *zone) error {
	if z.allocation != "Enabled" && !c.root() {
		return denied("Cannot perform this operation, Zone is currently disabled: Zone %s", z.printed())
	}
	if err := c.mayLaunch(t); err != nil {
		return err
	}
	cp := t.copyIn(z)
	switch {
	case cp == nil:
		return invalid("The template %d is not available for use", t.db)
	case t.upload && !cp.ready:
		e := internal("template is not ready")
		e.cs = 0
		return e
	case !cp.ready && t.format != "OVA":
		return invalid("Template %s is not ready to be used", t.name)
	}
	return nil
}

func dbOr(t *template, sent string) string {
	if t == nil {
		return sent
	}
	return formatInt(t.db)
}

// checkCustom refuses sizes on fixed offerings and their absence on customised ones.
func (c *call) checkCustom(m *machine) error {
	given := 0
	for _, k := range []string{"cpuNumber", "cpuSpeed", "memory"} {
		if m.details[k] != "" {
			given++
		}
	}
	switch custom := m.offering.flag("iscustomized"); {
	case custom && given == 0:
		return invalid("Need to specify custom parameter values cpu, cpu speed and memory when using custom offering")
	case !custom && given > 0:
		return invalid("cpuNumber or cpuSpeed or memory should not be specified for static service offering")
	}
	return nil
}

// deployNetworks finds the networks of a new machine; without any, the account's only isolated one is taken or made.
func (c *call) deployNetworks(m *machine) ([]*network, error) {
	networks, named := referAll(c, c.networks, "networkids")
	if named {
		for _, n := range networks {
			if err := c.mayDeployOn(n, m.owner); err != nil {
				return nil, err
			}
		}
		return networks, nil
	}
	own := c.networks.all(func(n *network) bool { return n.owner == m.owner && n.zone == m.zone && n.kind() == "Isolated" })
	switch len(own) {
	case 0:
		return c.defaultNetwork(m)
	case 1:
		return own, nil
	}
	return nil, invalid("More than 1 default Isolated networks are found for account %s; please specify networkIds", c.accountText())
}

func (c *call) defaultNetwork(m *machine) ([]*network, error) {
	if err := c.checkLimit(m.owner, limitNetwork, 1, csPlain); err != nil {
		return nil, err
	}
	o := c.defaultNetworkOffering()
	if o == nil {
		return nil, internal("Unable to find network offering with availability=Required")
	}
	n := &network{owner: m.owner, name: m.owner.name + "-network", text: m.owner.name + "-network", zone: m.zone, offering: o, state: networkAllocated}
	n.cidr, n.gateway = m.zone.guests()
	c.insertNetwork(n)
	return []*network{n}, nil
}

// defaultNetworkOffering is the one that networks are made of which nobody asked for.
func (s *Server) defaultNetworkOffering() *offering {
	for _, o := range s.networkOfferings.rows {
		if o.attrs.str("availability") == "Required" && o.attrs.str("guestiptype") == "Isolated" && !o.flag("forvpc") && o.supports([]string{"SourceNat"}) {
			return o
		}
	}
	return nil
}

func (c *call) machineLimits(m *machine) error {
	size := c.rootSize(m)
	for _, l := range []struct {
		kind limit
		more int64
	}{{limitVM, 1}, {limitCPU, m.offering.num("cpunumber")}, {limitMemory, m.offering.num("memory")}, {limitVolume, 1}, {limitPrimary, size}} {
		if err := c.checkLimit(m.owner, l.kind, l.more, csPlain); err != nil {
			return err
		}
	}
	return nil
}

// rootSize is the size of the root disk: that of the template or the one asked for.
func (c *call) rootSize(m *machine) int64 {
	size := int64(2 * gib)
	if cp := m.template.copyIn(m.zone); cp != nil && cp.size > 0 {
		size = cp.size
	}
	if n := c.num("rootdisksize", 0); n > 0 {
		size = n * gib
	}
	return size
}

// checkPlace refuses networks of other zones, taken names, and root disks smaller than the template.
func (c *call) checkPlace(m *machine, networks []*network) error {
	for _, n := range networks {
		if n.zone != m.zone {
			return invalid("Network %s doesn't belong to zone Zone %s", n.printed(), m.zone.printed())
		}
	}
	for _, n := range networks {
		for _, other := range c.machines.rows {
			if taken := other.besides(n); m.name != "" && other.live() && other.name == m.name && taken != nil {
				return invalid("The vm with hostName %s already exists in the network domain: %s; network=%s", m.name, taken.domain, taken.name)
			}
		}
	}
	cp := m.template.copyIn(m.zone)
	if n := c.num("rootdisksize", 0); n > 0 && cp != nil && n*gib < cp.size {
		return invalid("Unsupported: rootdisksize override (%d GB) is smaller than template size (%.2f GB) %d", n, float64(cp.size)/gib, cp.size)
	}
	return nil
}

func (c *call) insertMachine(m *machine, networks []*network) {
	m.base = c.newBase()
	c.machines.insert(m)
	if m.name == "" {
		m.name = c.settings["instance.name"] + "-" + m.id
	}
	if !c.has("displayname") {
		m.displayName = m.name
	}
	for _, n := range networks {
		x := &nic{id: c.ids.uuid(), network: n, wired: n.state == networkImplemented, mac: fmt.Sprintf("02:02:02:%02x:%02x:%02x", n.db&0xff, m.db>>8&0xff, m.db&0xff)}
		if n.cidr.IsValid() {
			x.address = c.freeAddress(n)
		}
		m.nics = append(m.nics, x)
	}
	m.root = c.volumes.insert(&volume{base: c.newBase(), owner: m.owner, name: fmt.Sprintf("ROOT-%d", m.db), zone: m.zone, machine: m, size: c.rootSize(m), state: "Allocated"})
}

// freeAddress is the lowest address of a network that no machine holds.
func (s *Server) freeAddress(n *network) netip.Addr {
	taken := map[netip.Addr]bool{n.gateway: true}
	for _, m := range s.machines.rows {
		for _, x := range m.nics {
			if m.live() && x.network == n {
				taken[x.address] = true
			}
		}
	}
	first, last := n.guestRange()
	for a := first; a.Compare(last) <= 0; a = a.Next() {
		if !taken[a] {
			return a
		}
	}
	return netip.Addr{}
}

// depart begins a start.
func (s *Server) depart(m *machine) {
	m.state, m.updated = machineStarting, s.now()
	m.host = s.hostFor(m)
	if m.host == nil {
		return
	}
	for _, x := range m.nics {
		x.wired = s.implement(x.network) || x.wired
	}
}

// arrive ends a start: the machine runs, or is in Error when no host can take it.
func (s *Server) arrive(m *machine) error {
	m.updated = s.now()
	if m.host == nil {
		text := m.printed(s)
		if m.everRan {
			m.state = machineStopped
			return wrapped(530, "Unable to start a VM [%s] due to [Unable to create a deployment for %s].", m.id, text)
		}
		m.state = machineStopped // as the text prints it
		text = m.printed(s)
		m.state, m.root.state = machineError, "Destroy"
		return wrapped(533, "No destination found for a deployment for %s", text)
	}
	m.state, m.everRan, m.root.state = machineRunning, true, "Ready"
	if cp := m.template.copyIn(m.zone); cp != nil && len(cp.primary) == 0 { // the first machine brings the template to primary storage
		cp.primary = []string{m.zone.name + "-ps0", s.ids.uuid()}
	}
	delete(m.details, "deployvm")
	for _, x := range m.nics {
		s.implemented(x.network)
		x.wired = true
	}
	return nil
}

// hostFor picks the emptiest host of a zone that runs a machine's hypervisor and has room; nil when there is none.
func (s *Server) hostFor(m *machine) *host {
	if m.zone.allocation != "Enabled" {
		return nil
	}
	var best *host
	var most int64
	for _, h := range s.hosts.rows {
		_, used := s.usedOn(h)
		left := h.num("memorytotal") - used - m.offering.num("memory")<<20
		if h.live() && h.zone == m.zone && h.hypervisor == m.template.hypervisor && h.resource == "Enabled" && left >= 0 && (best == nil || left > most) {
			best, most = h, left
		}
	}
	return best
}
