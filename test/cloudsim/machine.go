package cloudsim

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// States of a machine.
const (
	machineStopped   = "Stopped"
	machineStarting  = "Starting"
	machineRunning   = "Running"
	machineStopping  = "Stopping"
	machineDestroyed = "Destroyed"
	machineExpunging = "Expunging"
	machineError     = "Error"
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
	host              *host
	state             string
	nics              []*nic
	root              *volume
	details           map[string]string
	updated           time.Time
	everRan           bool
	firstRun          bool      // it has run since its deployment without a stop
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
			n[limitVM]++
			n[limitCPU] += m.offering.num("cpunumber")
			n[limitMemory] += m.offering.num("memory")
		}
	}
	for _, v := range s.volumes.rows {
		if v.live() && owner(v.owner) && v.state != "Destroy" {
			n[limitVolume]++
			n[limitPrimary] += v.size
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
}

// expunge removes a machine for good.
func (s *Server) expunge(m *machine) {
	m.state, m.removed, m.host = machineExpunging, s.now(), nil
	if m.root != nil && m.root.live() {
		m.root.removed = s.now()
	}
	s.dropTags("UserVm", m.id)
	s.forgetMachine(m)
}

// usedOn is what the machines of a host take: MHz and bytes.
func (s *Server) usedOn(h *host) (cpu, memory int64) {
	for _, m := range s.machines.rows {
		if m.live() && m.host == h {
			cpu += m.offering.num("cpunumber") * m.offering.num("cpuspeed")
			memory += m.offering.num("memory") << 20
		}
	}
	return cpu, memory
}

// taggableMachines are the lookups of resources around machines.
func (s *Server) taggableMachines(kind string) []func(string) *account {
	switch kind {
	case "UserVm":
		return []func(string) *account{func(id string) *account {
			if m := resolveRow(s.machines, id); m != nil && m.live() {
				return m.owner
			}
			return nil
		}}
	case "Volume":
		return []func(string) *account{func(id string) *account {
			if v := resolveRow(s.volumes, id); v != nil && v.live() {
				return v.owner
			}
			return nil
		}}
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

func (c *call) machineObject(m *machine) object {
	o := obj("id", m.id, "name", m.name, "displayname", m.displayName)
	o = append(o, c.ownerFields(m.owner, "account")...)
	o = append(o, obj("userid", m.user.id, "username", m.user.username)...)
	o = append(o, c.domainFirst(m.owner)...)
	o = append(o, obj("created", stamp(m.created))...)
	if !m.updated.IsZero() {
		o = o.with("lastupdated", stamp(m.updated))
	}
	o = append(o, obj("state", m.state, "haenable", false, "zoneid", m.zone.id, "zonename", m.zone.name)...)
	if m.host != nil {
		if c.root() {
			o = append(o, obj("hostid", m.host.id, "hostname", m.host.name)...)
		}
		o = o.with("hostcontrolstate", "Enabled")
	}
	if t := m.template; t != nil {
		o = append(o, obj("templateid", t.id, "templatename", t.name, "templatetype", t.kind, "templateformat", t.format, "templatedisplaytext", t.text, "passwordenabled", t.password)...)
	}
	a := m.offering.attrs
	o = append(o, obj("serviceofferingid", m.offering.id, "serviceofferingname", m.offering.name, "cpunumber", a.get("cpunumber"), "cpuspeed", a.get("cpuspeed"), "memory", a.get("memory"))...)
	if m.template != nil && m.template.os != nil {
		o = o.with("guestosid", m.template.os.id)
	}
	o = append(o, obj("rootdeviceid", 0, "rootdevicetype", "ROOT", "securitygroup", []object{}, "nic", c.nicObjects(m), "hypervisor", m.template.hypervisor)...)
	if len(m.nics) > 0 && m.nics[0].address.IsValid() {
		o = o.with("ipaddress", m.nics[0].address.String())
		o = append(o, c.publicFields(m, m.nics[0].network)...)
	}
	if c.root() {
		o = o.with("instancename", c.instance(m))
	}
	o = o.with("details", detailsObject(m.details))
	if !c.root() {
		o = o.with("readonlydetails", "dataDiskController, rootDiskController")
	}
	return append(o, c.machineTail(m)...)
}

func (c *call) machineTail(m *machine) object {
	o := obj("affinitygroup", []object{})
	if c.root() {
		o = o.with("displayvm", true)
	}
	o = append(o, obj("isdynamicallyscalable", false, "deleteprotection", false)...)
	if m.template.os != nil {
		o = append(o, obj("ostypeid", m.template.os.id, "osdisplayname", m.template.os.description)...)
	}
	if m.state == machineRunning && m.firstRun {
		o = append(o, obj("bootmode", "legacy", "boottype", "Bios")...)
	}
	if m.root != nil && m.root.state == "Ready" {
		o = o.with("pooltype", "NetworkFilesystem")
	}
	o = append(o, obj("receivedbytes", 0, "sentbytes", 0)...)
	if c.root() && c.knows("4.20") {
		o = o.with("arch", m.template.arch)
	}
	o = append(o, obj("tags", c.tagObjects("UserVm", m.id, false), "hasannotations", false)...)
	for _, j := range c.jobs.rows {
		if j.status == jobPending && j.instanceID == m.id {
			return append(o, obj("jobid", j.id, "jobstatus", 0)...)
		}
	}
	return o
}

func (s *Server) nicObjects(m *machine) []object {
	out := []object{}
	for i, x := range m.nics {
		o := obj("id", x.id, "networkid", x.network.id, "networkname", x.network.name)
		if x.address.IsValid() {
			o = append(o, obj("netmask", netmaskOf(x.network.cidr), "gateway", x.network.gateway.String(), "ipaddress", x.address.String())...)
		}
		if x.wired {
			uri := fmt.Sprintf("vlan://%d", x.network.vlan)
			o = append(o, obj("isolationuri", uri, "broadcasturi", uri)...)
		}
		o = append(o, obj("traffictype", "Guest", "type", x.network.kind(), "isdefault", i == 0, "macaddress", x.mac,
			"secondaryip", []object{}, "extradhcpoption", []object{}, "deviceid", fmt.Sprint(i))...)
		o = append(o, s.publicFields(m, x.network)...)
		out = append(out, append(o, x.network.vpcFields()...))
	}
	return out
}

func listVirtualMachines(c *call) (object, error) {
	if c.has("id") && len(c.list("ids")) > 0 {
		return nil, invalid("Specify either id or ids but not both parameters")
	}
	tagged, err := c.tagFilter("UserVm")
	if err != nil {
		return nil, err
	}
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	rows := c.machines.all(func(m *machine) bool {
		return owner(m.owner) && tagged(m.id) && c.seesState(m) && c.matchesMachine(m)
	})
	return pageOfCounted(c, "virtualmachine", rows, c.machineObject)
}

// seesState hides destroyed machines from users.
func (c *call) seesState(m *machine) bool {
	if m.state != machineDestroyed && m.state != machineExpunging {
		return true
	}
	return c.root() || c.acct.setting(c.Server, "allow.user.view.destroyed.vm")
}

func (c *call) matchesMachine(m *machine) bool {
	n, byNetwork := refer(c, c.networks, "networkid")
	return allOf(refersTo(c, c.machines, "id")(m), among(c, c.machines, "ids")(m), refersTo(c, c.zones, "zoneid")(m.zone), refersTo(c, c.templates, "templateid")(m.template),
		refersTo(c, c.hosts, "hostid")(m.host), !byNetwork || m.onNetwork(n), !c.has("name") || c.sameName(m.name, c.str("name")), c.text("state", m.state),
		c.keyword(m.name, m.displayName, c.instance(m)) || strings.EqualFold(m.state, c.str("keyword")))
}

// sameName compares names of machines: exactly on 4.22, as a part before.
func (c *call) sameName(name, wanted string) bool {
	if c.knows("4.22") {
		return strings.EqualFold(name, wanted)
	}
	return containsFold(name, wanted)
}
