package cloudsim

import "time"

// ownMachine finds the machine of a command.
func (c *call) ownMachine() (*machine, error) {
	m, _ := refer(c, c.machines, "id")
	switch {
	case m == nil:
		return nil, invalid("Unable to find UUID for id [%s] of type [VirtualMachine]", c.str("id"))
	case !m.live():
		return nil, invalid("Unable to find UUID for id [%d] of type [VirtualMachine]", m.db)
	}
	return m, c.mayUse(m.owner)
}

// machineJob makes the job of a command on one machine; jobs of a machine run one after another.
func (c *call) machineJob(kind, doing string, start func(*machine), run func(*machine) error) (*work, error) {
	m, err := c.ownMachine()
	if err != nil {
		return nil, err
	}
	c.record(m.owner, c.user, kind, doing+m.id, "VirtualMachine", m.id, m.name, "Scheduled")
	return &work{instanceType: "VirtualMachine", instanceID: m.id, queue: "vm/" + m.id,
		start: func() {
			if start != nil && m.live() {
				start(m)
			}
		},
		run: func() (object, error) {
			if err := run(m); err != nil {
				return nil, err
			}
			c.record(m.owner, c.user, kind, doing+m.id, "VirtualMachine", m.id, m.name, "Completed")
			return obj("virtualmachine", c.machineAfter(m)), nil
		}}, nil
}

// machineAfter is the machine in a job result; of an expunged one little is left.
func (c *call) machineAfter(m *machine) object {
	if !m.live() {
		return obj("securitygroup", []object{}, "nic", []object{}, "affinitygroup", []object{}, "deleteprotection", false, "tags", []object{})
	}
	return c.machineObject(m)
}

func startVirtualMachine(c *call) (*work, error) {
	return c.machineJob("VM.START", "starting user vm: ", func(m *machine) {
		if m.state == machineStopped {
			c.depart(m)
		}
	}, func(m *machine) error {
		if m.state == machineStarting {
			return c.arrive(m)
		}
		return nil
	})
}

func stopVirtualMachine(c *call) (*work, error) {
	return c.machineJob("VM.STOP", "stopping user vm: ", func(m *machine) {
		if m.state == machineRunning {
			m.state, m.updated = machineStopping, c.now()
		}
	}, func(m *machine) error {
		if m.state == machineStopping {
			c.rest(m, machineStopped)
		}
		return nil
	})
}

// rest takes a machine off its host.
func (s *Server) rest(m *machine, state string) {
	m.state, m.host, m.updated, m.firstRun = state, nil, s.now(), false
	for _, x := range m.nics {
		x.wired = false
		s.quieten(x.network)
	}
}

func destroyVirtualMachine(c *call) (*work, error) {
	return c.machineJob("VM.DESTROY", "destroying user vm: ", func(m *machine) {
		if m.state == machineRunning {
			m.state, m.updated = machineStopping, c.now()
		}
	}, func(m *machine) error {
		may := c.admin() || c.acct.setting(c.Server, "allow.user.expunge.recover.vm")
		switch {
		case c.flag("expunge") && !may:
			m.state = machineStopped
			return wrapped(530, "Account does not have permission for expunging.")
		case c.flag("expunge"):
			c.expunge(m)
			return nil
		}
		c.rest(m, machineDestroyed)
		wait := time.Duration(c.settingNumber("expunge.delay", 86400)+c.settingNumber("expunge.interval", 86400)/2) * time.Second
		due := c.now().Add(wait)
		m.expunge = due
		c.after(wait, func() {
			if m.live() && m.state == machineDestroyed && m.expunge.Equal(due) {
				c.Server.expunge(m)
			}
		})
		return nil
	})
}

func expungeVirtualMachine(c *call) (*work, error) {
	return c.machineJob("VM.EXPUNGE", "Expunging vm: ", nil, func(m *machine) error {
		if m.state != machineDestroyed && m.state != machineExpunging && m.state != machineError {
			return invalid("Failed to expunge vm %s as it is not destroyed", m.id)
		}
		c.expunge(m)
		return nil
	})
}

func recoverVirtualMachine(c *call) (object, error) {
	m, err := c.ownMachine()
	if err != nil {
		return nil, err
	}
	switch {
	case !c.admin() && !c.acct.setting(c.Server, "allow.user.expunge.recover.vm"):
		return nil, denied("Recovering a vm can only be done by an Admin. Or when the allow.user.expunge.recover.vm key is set.")
	case m.state != machineDestroyed:
		return nil, invalid("unable to recover vm with id %d", m.db)
	}
	m.state, m.expunge = machineStopped, time.Time{}
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
			if len(m.nics) > 0 && m.nics[0].wired {
				m.root.state = "Ready"
			}
		case machineStopping:
			s.rest(m, machineStopped)
		}
	}
	for _, n := range s.networks.rows {
		if n.state == networkImplementing {
			s.implemented(n)
		}
	}
}
