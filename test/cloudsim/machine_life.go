package cloudsim

import "time"

// machineNamed finds the machine that a parameter names.
func (c *call) machineNamed(param string) (*machine, error) {
	m, _ := refer(c, c.machines, param)
	switch {
	case m == nil:
		return nil, invalid("Unable to find UUID for id [%s] of type [VirtualMachine]", c.str(param))
	case !m.live():
		return nil, invalid("Unable to find UUID for id [%d] of type [VirtualMachine]", m.db)
	}
	return m, c.mayUse(m.owner)
}

// ownMachine finds the machine of a command.
func (c *call) ownMachine() (*machine, error) { return c.machineNamed("id") }

// errand is the job of a command on one machine.
type errand struct {
	kind      string // of its events
	scheduled string // text of the first of them
	doing     string // what it does: "starting"
	check     func(*machine) error
	silent    bool // a check that fails leaves no more than the first event
	pace      func(*machine) ([]phase, time.Duration)
	run       func(*machine) error
}

// begin makes the job of an errand. What can be refused is refused at once; the rest waits for its turn: jobs of a machine run one after another.
func (c *call) begin(e errand) (*work, error) {
	m, err := c.ownMachine()
	if err != nil {
		return nil, err
	}
	scheduled := c.record(m.owner, c.user, e.kind, e.scheduled+m.id, "VirtualMachine", m.id, m.name, "Scheduled")
	w := &work{instanceType: "VirtualMachine", instanceID: m.id}
	if e.check != nil {
		if err := e.check(m); err != nil {
			if !e.silent {
				c.follow(scheduled, capital(e.doing)+" Vm. Vm Id: "+m.id, "Started")
				c.follow(scheduled, "Error while "+e.doing+" Vm. Vm Id: "+m.id, "Completed").level = "ERROR"
			}
			w.atOnce, w.run = true, func() (object, error) { return nil, err }
			return w, nil
		}
	}
	w.queue = "vm/" + m.id
	w.start = func() { c.follow(scheduled, capital(e.doing)+" Vm. Vm Id: "+m.id, "Started") }
	w.pace = func() ([]phase, time.Duration) {
		if e.pace == nil {
			return nil, c.spec.takes
		}
		return e.pace(m)
	}
	w.run = func() (object, error) {
		if err := e.run(m); err != nil {
			c.follow(scheduled, "Error while "+e.doing+" Vm. Vm Id: "+m.id, "Completed").level = "ERROR"
			return nil, err
		}
		c.follow(scheduled, "Successfully completed "+e.doing+" Vm. Vm Id: "+m.id, "Completed")
		return obj("virtualmachine", c.machineAfter(m)), nil
	}
	return w, nil
}

// machineAfter is the machine in a job result; of an expunged one little is left.
func (c *call) machineAfter(m *machine) object {
	if !m.live() {
		return obj("securitygroup", []object{}, "nic", []object{}, "affinitygroup", []object{}, "deleteprotection", false, "tags", []object{})
	}
	return c.machineObject(m)
}

func startVirtualMachine(c *call) (*work, error) {
	if c.has("hostid") && !c.root() {
		return nil, denied("Parameter hostid can only be specified by a Root Admin, permission denied")
	}
	want, _ := refer(c, c.hosts, "hostid")
	return c.begin(errand{kind: "VM.START", scheduled: "starting user vm: ", doing: "starting",
		check: func(m *machine) error {
			if m.state == machineRunning {
				return invalid("The virtual machine %s (%s) is already running", m.id, m.displayName)
			}
			return nil
		},
		pace: func(m *machine) ([]phase, time.Duration) { return c.ascend(m, want, startAscent()) },
		run: func(m *machine) error {
			if m.state == machineRunning {
				return nil
			}
			return c.arrive(m)
		}})
}

// How long a machine takes to go down, and to be destroyed after that.
const (
	beginsToStop = 400 * time.Millisecond
	hasStopped   = 1100 * time.Millisecond
	isDestroyed  = 4 * time.Second
)

// descent plans a stop; it takes as long when there is nothing to stop.
func (c *call) descent(m *machine) ([]phase, time.Duration) {
	if m.state != machineRunning {
		return nil, hasStopped
	}
	return []phase{{beginsToStop, func() {
		if m.live() && m.state == machineRunning {
			m.state, m.updated = machineStopping, c.now()
		}
	}}}, hasStopped
}

// land ends a stop, unless the host refuses.
func (c *call) land(m *machine, forced bool) error {
	if m.state != machineStopping && m.state != machineRunning {
		return nil
	}
	switch {
	case c.refused() && forced:
		return wrapped(530, "Unable to stop the virtual machine due to Simulated failure")
	case c.refused():
		m.state, m.updated = machineRunning, c.now()
		return wrapped(530, "Unable to stop %s", m.printed(c.Server))
	}
	c.rest(m, machineStopped)
	m.details[detailCapacityFreed] = "false"
	return nil
}

func stopVirtualMachine(c *call) (*work, error) {
	return c.begin(errand{kind: "VM.STOP", scheduled: "stopping user vm: ", doing: "stopping", pace: c.descent,
		run: func(m *machine) error { return c.land(m, c.flag("forced")) }})
}

func rebootVirtualMachine(c *call) (*work, error) {
	return c.begin(errand{kind: "VM.REBOOT", scheduled: "rebooting user vm: ", doing: "rebooting",
		check: func(m *machine) error {
			if m.state != machineRunning {
				return invalid("The VM %s (%s) is not running, unable to reboot it", m.id, m.displayName)
			}
			return nil
		},
		run: func(m *machine) error {
			if c.refused() {
				return wrapped(530, "Unable to get answer that is of class com.cloud.agent.api.RebootAnswer")
			}
			m.boots++
			return nil
		}})
}

// rest takes a machine off its host.
func (s *Server) rest(m *machine, state string) {
	m.state, m.host, m.updated = state, nil, s.now()
	for _, x := range m.nics {
		x.wired = x.network.state == networkSetup
		s.quieten(x.network)
	}
}

// mayExpunge says whether the caller may have machines expunged.
func (c *call) mayExpunge() bool {
	return c.admin() || c.acct.setting(c.Server, "allow.user.expunge.recover.vm")
}

func destroyVirtualMachine(c *call) (*work, error) {
	disks, _ := referAll(c, c.volumes, "volumeids")
	return c.begin(errand{kind: "VM.DESTROY", scheduled: "destroying vm: ", doing: "destroying",
		check: func(m *machine) error { return c.checkDestroy(m, disks) },
		pace: func(m *machine) ([]phase, time.Duration) {
			if m.state == machineDestroyed {
				return nil, time.Second
			}
			phases, down := c.descent(m)
			if c.refused() {
				return phases, down
			}
			phases = append(phases, phase{down, func() {
				if m.live() && m.state == machineStopping {
					_ = c.land(m, false) // nothing refuses here
					m.measured = false
				}
			}})
			return phases, down + isDestroyed
		},
		run: func(m *machine) error {
			if err := c.land(m, false); err != nil {
				return err
			}
			c.destroy(m, disks)
			return nil
		}})
}

func (c *call) checkDestroy(m *machine, disks []*volume) error {
	if c.flag("expunge") && !c.mayExpunge() {
		return wrapped(530, "Account does not have permission for expunging.")
	}
	if m.protected {
		return invalid("Instance [id = %s, name = %s] has delete protection enabled and cannot be deleted.", m.id, c.instance(m))
	}
	text := ""
	for _, v := range disks {
		if v.machine != m || v.kind != volumeData {
			text += v.printed() + "; "
		}
	}
	if text != "" {
		return invalid("The following supplied volumes are not DATADISK attached to the VM: %s", text)
	}
	return nil
}

// destroy ends a machine: for good when that was asked for or it never worked, else it waits to be expunged. Its data disks are let go.
func (c *call) destroy(m *machine, disks []*volume) {
	if !m.live() || (m.state == machineDestroyed && !c.flag("expunge")) {
		return
	}
	for _, v := range c.dataDisks(m) {
		v.machine, v.device = nil, 0
		if contains(disks, v) {
			c.giveUp(v)
		}
	}
	if c.flag("expunge") {
		c.expunge(m)
		return
	}
	m.state, m.updated, m.host, m.measured = stateDestroying(m.state), c.now(), nil, false
	due := c.now().Add(c.expungeDelay())
	m.expunge = due
	c.expungeLater(func() {
		if m.live() && (m.state == machineDestroyed || m.state == machineExpunging) && m.expunge.Equal(due) {
			c.Server.expunge(m)
		}
	})
}

// stateDestroying is what a machine becomes that is destroyed.
func stateDestroying(state string) string {
	if state == machineError {
		return machineExpunging
	}
	return machineDestroyed
}

// expungeDelay is how long destroyed things stay: the delay, and a part of the interval at which the server looks.
func (s *Server) expungeDelay() time.Duration {
	return time.Duration(s.settingNumber("expunge.delay", 86400))*time.Second + time.Duration(s.settingNumber("expunge.interval", 86400))*time.Second/10
}

// giveUp puts a disk away until the server cleans up.
func (s *Server) giveUp(v *volume) {
	v.state = volumeDestroy
	s.expungeLater(func() {
		if v.live() && v.state == volumeDestroy {
			v.removed = s.now()
		}
	})
}

func (s *Server) expungeLater(do func()) { s.after(s.expungeDelay(), do) }

func expungeVirtualMachine(c *call) (*work, error) {
	return c.begin(errand{kind: "VM.EXPUNGE", scheduled: "Expunging vm: ", doing: "expunging", silent: true,
		check: func(m *machine) error {
			if m.state != machineDestroyed && m.state != machineExpunging && m.state != machineError {
				return wrapped(530, "Please destroy vm with specified vmId before expunge")
			}
			return nil
		},
		run: func(m *machine) error {
			if !c.mayExpunge() {
				return wrapped(530, "Expunging a vm can only be done by an Admin. Or when the allow.user.expunge.recover.vm key is set.")
			}
			c.expunge(m)
			return nil
		}})
}

func recoverVirtualMachine(c *call) (object, error) {
	m, _ := refer(c, c.machines, "id")
	switch {
	case m == nil:
		return nil, invalid("unable to find a virtual machine with id %s", c.str("id"))
	case m.live() && c.mayUse(m.owner) != nil:
		return nil, c.mayUse(m.owner)
	case !m.live():
		c.failed(c.acct, "VM.RECOVER", "Error while Recovering VM", m)
		return nil, invalid("unable to find a virtual machine with id %d", m.db)
	case !c.mayExpunge():
		c.failed(c.acct, "VM.RECOVER", "Error while Recovering VM", m)
		return nil, denied("Recovering a vm can only be done by an Admin. Or when the allow.user.expunge.recover.vm key is set.")
	case m.state != machineDestroyed:
		c.failed(c.acct, "VM.RECOVER", "Error while Recovering VM", m)
		return nil, invalid("Vm with id %s is not in the right state", m.id)
	}
	m.state, m.expunge, m.updated = machineStopped, time.Time{}, c.now()
	c.record(m.owner, c.user, "VM.RECOVER", "Successfully completed Recovering VM", "VirtualMachine", m.id, m.name, "Completed")
	o := c.machineObject(m)
	if !c.root() { // this reply shows to users what else only root admins see
		o = o.with("instancename", c.instance(m))
		if c.knows("4.20") {
			o = o.with("arch", m.template.arch)
		}
	}
	return obj("virtualmachine", o), nil
}

// settleMachines brings machines that were on their way to rest, as a restart of the server does.
func (s *Server) settleMachines() {
	for _, m := range s.machines.rows {
		switch m.state {
		case machineStarting: // the host stays noted, and so does what was ready of disk and network
			m.state, m.updated, m.everRan = machineStopped, s.now(), true
			m.details[detailCapacityFreed] = "true"
			if len(m.nics) > 0 && m.nics[0].wired && m.root != nil {
				m.root.state = volumeReady
			}
		case machineStopping:
			s.rest(m, machineStopped)
		case machineMigrating:
			m.state, m.updated = machineRunning, s.now()
		}
	}
	for _, n := range s.networks.rows {
		if n.state == networkImplementing {
			s.implemented(n)
		}
	}
}
