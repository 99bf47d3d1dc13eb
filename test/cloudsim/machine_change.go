package cloudsim

import (
	"maps"
	"strings"
	"time"
)

// failed writes the event of a call that was refused.
func (c *call) failed(owner *account, kind, text string, m *machine) {
	c.record(owner, c.user, kind, text, "VirtualMachine", m.id, m.name, "Completed").level = "ERROR"
}

// updateVirtualMachine changes what can be changed at once. Details that are sent replace all there were.
func updateVirtualMachine(c *call) (object, error) {
	m, err := c.ownMachine()
	if err != nil {
		return nil, err
	}
	if err := c.update(m); err != nil {
		c.failed(c.acct, "VM.UPDATE", "Error while updating Vm. Vm Id: "+m.id, m)
		return nil, err
	}
	c.record(m.owner, c.user, "VM.UPDATE", "Successfully completed updating Vm. Vm Id: "+m.id, "VirtualMachine", m.id, m.name, "Completed")
	return obj("virtualmachine", c.machineObject(m)), nil
}

func (c *call) update(m *machine) error {
	if m.state == machineError || m.state == machineExpunging {
		return internal("Failed to update VM, due to: Unable to update Instance %s in state %s", m.id, m.state)
	}
	if c.has("customid") && !c.root() {
		return denied("Please check your permissions, you are not allowed to create/update custom id")
	}
	if err := c.rename(m); err != nil {
		return err
	}
	next := &deployment{m: &machine{}}
	if err := c.readUserData(next); err != nil {
		return err
	}
	if err := c.changeSecurity(m); err != nil {
		return err
	}
	if c.has("userdata") || next.m.registered != nil {
		m.userData = next.m.userData
	}
	if next.m.registered != nil {
		m.registered = next.m.registered
	}
	if c.has("displayname") {
		m.displayName = c.str("displayname")
	}
	if c.str("group") != "" {
		m.group = c.groupNamed(m.owner, c.str("group"))
	}
	if c.has("haenable") {
		m.available = c.flag("haenable")
	}
	if c.has("deleteprotection") {
		m.protected = c.flag("deleteprotection")
	}
	return c.replaceDetails(m)
}

func (c *call) rename(m *machine) error {
	name := c.str("name")
	if name == "" || name == m.name {
		return nil
	}
	for _, x := range m.nics {
		other := &machine{name: name}
		if taken := c.namesake(other, x.network); taken != nil {
			return internal("Failed to update VM, due to: The vm with hostName %s already exists in the network domain: %s; network=%s", name, taken.domain, taken.name)
		}
	}
	m.name = name
	return nil
}

func (c *call) replaceDetails(m *machine) error {
	given := c.mapOf("details")
	for k := range given {
		if strings.HasPrefix(k, "extraconfig") {
			return invalid("detail name should not start with extraconfig")
		}
	}
	if len(given) == 0 && !c.flag("cleanupdetails") {
		return nil
	}
	kept := map[string]string{}
	for _, k := range c.deniedDetails() { // what users cannot see they cannot remove
		if v, ok := m.details[k]; ok && !c.root() {
			kept[k] = v
		}
	}
	if !c.flag("cleanupdetails") {
		maps.Copy(kept, given)
	}
	m.details = kept
	return nil
}

// scaleVirtualMachine gives a stopped machine another size.
func scaleVirtualMachine(c *call) (*work, error) {
	o, _ := refer(c, c.serviceOfferings, "serviceofferingid")
	return c.begin(errand{kind: "VM.UPGRADE", scheduled: "Upgrading vm: ", doing: "upgrading", run: func(m *machine) error {
		switch {
		case o == nil || !o.live():
			return invalid("Unable to find service offering: %s", c.str("serviceofferingid"))
		case m.state == machineRunning:
			return wrapped(530, "Dynamically scaling virtual machines is disabled for this zone, please contact your admin.")
		case m.state != machineStopped:
			return wrapped(530, "Scaling is not supported in current state: %s", m.state)
		}
		return c.scale(m, o)
	}})
}

// changeServiceForVirtualMachine is the older way to give a stopped machine another size.
func changeServiceForVirtualMachine(c *call) (object, error) {
	m, err := c.ownMachine()
	if err != nil {
		return nil, err
	}
	o, _ := refer(c, c.serviceOfferings, "serviceofferingid")
	switch {
	case m.state != machineStopped:
		return nil, invalid("Unable to upgrade virtual machine %s  in state %s; make sure the virtual machine is stopped", m.printed(c.Server), m.state)
	case !o.live():
		return nil, invalid("Unable to upgrade virtual machine %s with an inactive service offering %s", m.id, o.id)
	}
	if err := c.scale(m, o); err != nil {
		return nil, err
	}
	c.record(m.owner, c.user, "VM.UPGRADE", "Successfully completed upgrading Vm. Vm Id: "+m.id, "VirtualMachine", m.id, m.name, "Completed")
	return obj("virtualmachine", c.machineObject(m)), nil
}

func (c *call) scale(m *machine, o *offering) error {
	sizes, err := c.customSize(o, c.mapOf("details"))
	if err != nil {
		return err
	}
	next := machine{offering: o, cpus: sizes["cpuNumber"], mhz: sizes["cpuSpeed"], mib: sizes["memory"]}
	cpus, _, mib := m.size()
	wantCPUs, _, wantMiB := next.size()
	for _, l := range []struct {
		kind limit
		more int64
	}{{limitCPU, wantCPUs - cpus}, {limitMemory, wantMiB - mib}} {
		if l.more <= 0 {
			continue
		}
		if err := c.checkLimit(m.owner, l.kind, l.more, csPlain); err != nil {
			return err
		}
	}
	if o == m.offering && !o.flag("iscustomized") {
		return invalid("Not upgrading vm %s since it already has the requested service offering (%s)", m.printed(c.Server), o.name)
	}
	m.offering, m.cpus, m.mhz, m.mib = next.offering, next.cpus, next.mhz, next.mib
	return nil
}

// migrateVirtualMachine moves a running machine to another host.
func migrateVirtualMachine(c *call) (*work, error) {
	m, err := c.machineNamed("virtualmachineid")
	if err != nil {
		return nil, err
	}
	to, named := refer(c, c.hosts, "hostid")
	if !named {
		to = c.hostBeside(m)
	}
	switch {
	case m.state != machineRunning:
		return nil, invalid("VM is not Running, cannot migrate the vm with specified id")
	case to == nil || to == m.host:
		return nil, invalid("Unable to find suitable destination to migrate VM %s", m.printed(c.Server))
	case to.zone != m.zone:
		return nil, invalid("Cannot migrate VM, destination host is not in correct state, has status: %s, state: %s", to.state, to.resource)
	}
	w := &work{instanceType: "VirtualMachine", instanceID: m.id, queue: "vm/" + m.id}
	w.pace = func() ([]phase, time.Duration) {
		return []phase{{300 * time.Millisecond, func() {
			if m.live() && m.state == machineRunning {
				m.state, m.updated = machineMigrating, c.now()
			}
		}}}, c.spec.takes
	}
	w.run = func() (object, error) {
		if m.state == machineMigrating {
			m.state, m.updated = machineRunning, c.now()
			if c.refused() {
				return nil, wrapped(530, "Unable to migrate %s", m.printed(c.Server))
			}
			m.host, m.lastHost = to, to
		}
		return obj("virtualmachine", c.machineAfter(m)), nil
	}
	return w, nil
}

// hostBeside is another host than its own on which a machine could run, nil for none.
func (s *Server) hostBeside(m *machine) *host {
	for _, h := range s.hosts.rows {
		if _, fits := s.leftOn(h, m); fits && h != m.host && h.zone == m.zone && h.hypervisor == m.template.hypervisor {
			return h
		}
	}
	return nil
}

// getVMPassword finds nothing: templates that set passwords are none of the simulator's.
func getVMPassword(c *call) (object, error) {
	m, _ := refer(c, c.machines, "id")
	switch {
	case m == nil:
		return nil, invalid("No VM found with id [%s].", c.str("id"))
	case !m.live():
		return nil, invalid("No VM found with id [%d].", m.db)
	case c.mayUse(m.owner) != nil:
		return nil, c.mayUse(m.owner)
	}
	return nil, invalid("No password for VM with id [%s] found. When VM's SSH keypair is changed, the current encrypted password is removed due to incosistency in the encyptation, "+
		"as the new SSH keypair is different from which the password was encrypted. To get a new password, it must be reseted.", m.id)
}

// resetPasswordForVirtualMachine finds templates that take no password, and of expunged machines not even that.
func resetPasswordForVirtualMachine(c *call) (*work, error) {
	m, _ := refer(c, c.machines, "id")
	if m != nil && m.live() {
		if err := c.mayUse(m.owner); err != nil {
			return nil, err
		}
	}
	w := &work{instanceType: "VirtualMachine"}
	if m != nil {
		w.instanceID = m.id
	}
	w.run = func() (object, error) {
		if m == nil || !m.live() {
			return nil, wrapped(530, `Cannot invoke "com.cloud.uservm.UserVm.getUuid()" because "vm" is null`)
		}
		return nil, invalid("Fail to reset password for the virtual machine, the template is not password enabled")
	}
	return w, nil
}
