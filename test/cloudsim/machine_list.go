package cloudsim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// machinePresent is the state in a list that stands for all but destroyed machines.
const machinePresent = "Present"

func listVirtualMachines(c *call) (object, error) {
	rows, show, err := c.machineRows()
	if err != nil {
		return nil, err
	}
	return pageOfCounted(c, "virtualmachine", rows, func(m *machine) object { return c.machineParts(m, show) })
}

// listVirtualMachinesMetrics is the same list with a few figures as texts.
func listVirtualMachinesMetrics(c *call) (object, error) {
	rows, show, err := c.machineRows()
	if err != nil {
		return nil, err
	}
	return pageOfCounted(c, "virtualmachine", rows, func(m *machine) object {
		cpus, mhz, mib := m.size()
		o := obj("cputotal", fmt.Sprintf("%.1f Ghz", float64(cpus*mhz)/1000), "memorytotal", fmt.Sprintf("%.2f GiB", float64(mib)/1024))
		if m.measured {
			o = append(o, obj("networkread", "32.00 MiB", "networkwrite", "16.00 MiB", "diskread", "0.00 MiB", "diskwrite", "0.00 MiB", "diskiopstotal", 0)...)
		}
		return append(o, c.machineParts(m, show).without("domainpath")...)
	})
}

// machineRows are the machines that a list is about, and what is to be shown of them.
func (c *call) machineRows() ([]*machine, sections, error) {
	if c.has("id") && len(c.list("ids")) > 0 {
		return nil, nil, invalid("Specify either id or ids but not both parameters")
	}
	show, err := c.machineSectionsAsked()
	if err != nil {
		return nil, nil, err
	}
	tagged, err := c.tagFilter("UserVm")
	if err != nil {
		return nil, nil, err
	}
	if h := c.str("hypervisor"); h != "" && !knownHypervisor(h) {
		return nil, nil, invalid("Invalid HypervisorType %s", h)
	}
	owner, err := c.scopeOf(c.machineScope())
	if err != nil {
		return nil, nil, err
	}
	wanted := c.machineFilter()
	rows := c.machines.all(func(m *machine) bool {
		return owner(m.owner) && tagged(m.id) && c.seesState(m) && wanted(m)
	})
	return rows, show, nil
}

// machineScope is that of most lists, but with listall the projects of the caller come beside what is the caller's own.
func (c *call) machineScope() scopeRule {
	if c.str("projectid") == projectsAll && c.flag("listall") && !c.root() {
		return scopeDomain
	}
	return scopeOwn
}

// knownHypervisor says whether a name is that of a hypervisor.
func knownHypervisor(name string) bool {
	for _, known := range []string{"XenServer", "KVM", "VMware", "Hyperv", "VirtualBox", "Parralels", "BareMetal", "Simulator", "Ovm", "Ovm3", "LXC", "Custom", "External", "Any"} {
		if strings.EqualFold(name, known) {
			return true
		}
	}
	return false
}

// seesState hides destroyed machines from users.
func (c *call) seesState(m *machine) bool {
	if m.state != machineDestroyed && m.state != machineExpunging {
		return true
	}
	return c.root() || c.acct.setting(c.Server, "allow.user.view.destroyed.vm")
}

// machineFilter reads the filters of a list of machines.
func (c *call) machineFilter() func(*machine) bool {
	n, byNetwork := refer(c, c.networks, "networkid")
	wanted, among := refersTo(c, c.machines, "id"), among(c, c.machines, "ids")
	inZone, ofTemplate, onHost := refersTo(c, c.zones, "zoneid"), refersTo(c, c.templates, "templateid"), refersTo(c, c.hosts, "hostid")
	ofOffering, ofUser := refersTo(c, c.serviceOfferings, "serviceofferingid"), refersTo(c, c.users, "userid")
	g, inGroup := refer(c, c.affinityGroups, "affinitygroupid")
	sg, inSecurity := refer(c, c.securityGroups, "securitygroupid")
	ig, inInstances := refer(c, c.instanceGroups, "groupid")
	pair := !c.has("keypair") || c.findKeyPair(c.acct, c.str("keypair")) != nil // the server asks no more than whether there is such a pair
	return func(m *machine) bool {
		return wanted(m) && pair && among(m) && inZone(m.zone) && ofTemplate(m.template) && onHost(m.host) && ofOffering(m.offering) && ofUser(m.user) &&
			allOf(!byNetwork || m.onNetwork(n), c.inVPC(m), !c.has("haenable") || m.available == c.flag("haenable"),
				!inGroup || contains(m.affinity, g), !inSecurity || contains(m.security, sg), !inInstances || m.group == ig,
				!c.has("name") || c.sameName(m.name, c.str("name")), c.inState(m), c.choice("hypervisor", m.template.hypervisor), c.machineKeyword(m))
	}
}

func (c *call) inVPC(m *machine) bool {
	v, named := refer(c, c.vpcs, "vpcid")
	return !named || v != nil && slices.ContainsFunc(m.nics, func(x *nic) bool { return x.network.vpc == v })
}

func (c *call) inState(m *machine) bool {
	if strings.EqualFold(c.str("state"), machinePresent) {
		return m.state != machineDestroyed && m.state != machineExpunging
	}
	return c.text("state", m.state)
}

func (c *call) machineKeyword(m *machine) bool {
	texts := []string{m.name, m.displayName}
	if c.root() {
		texts = append(texts, c.instance(m))
	}
	for _, x := range m.nics {
		if x.address.IsValid() {
			texts = append(texts, x.address.String())
		}
	}
	return c.keyword(texts...) || strings.EqualFold(m.state, c.str("keyword"))
}

// sameName compares names of machines: exactly on 4.22, as a part before.
func (c *call) sameName(name, wanted string) bool {
	if c.knows("4.22") {
		return strings.EqualFold(name, wanted)
	}
	return containsFold(name, wanted)
}

// measureEvery is how often the use that machines make of their hosts is collected.
const measureEvery = 60 * time.Second

// measure notes which machines run: their use of the host is shown from then on.
func (s *Server) measure() {
	for _, m := range s.machines.rows {
		if m.live() {
			m.measured = m.state == machineRunning
		}
	}
	s.after(measureEvery, s.measure)
}
