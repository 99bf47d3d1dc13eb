package cloudsim

import (
	"fmt"
	"time"
)

// How long jobs on disks take.
const (
	attachTime = 1500 * time.Millisecond
	resizeTime = 1300 * time.Millisecond
)

// attachedElsewhere is the refusal of a disk that a machine has.
const attachedElsewhere = "Please specify a volume that is not attached to any VM."

// ownVolume finds the disk of a command.
func (c *call) ownVolume() (*volume, error) {
	v, _ := refer(c, c.volumes, "id")
	switch {
	case v == nil:
		return nil, invalid("Unable to find UUID for id [%s] of type [Volume]", c.str("id"))
	case !v.live():
		return nil, invalid("Unable to find UUID for id [%d] of type [Volume]", v.db)
	}
	return v, c.mayUse(v.owner)
}

// volumeJob is a job on one disk.
func (c *call) volumeJob(v *volume, takes time.Duration, run func() error) *work {
	return &work{instanceType: "Volume", instanceID: v.id, takes: takes, run: func() (object, error) {
		if err := run(); err != nil {
			return nil, err
		}
		return obj("volume", c.volumeObject(v)), nil
	}}
}

func createVolume(c *call) (*work, error) {
	owner, err := c.ownerOf()
	if err != nil {
		return nil, err
	}
	v := &volume{owner: owner, name: c.str("name"), kind: volumeData, state: volumeAllocated}
	if x, ok := refer(c, c.snapshots, "snapshotid"); ok && x != nil {
		err = c.volumeFromSnapshot(v, x)
	} else {
		err = c.volumeFromOffering(v)
	}
	if err != nil {
		return nil, err
	}
	for _, l := range []struct {
		kind limit
		more int64
	}{{limitVolume, 1}, {limitPrimary, v.size}} {
		if err := c.checkLimit(owner, l.kind, l.more, csLimit); err != nil {
			return nil, err
		}
	}
	v.base = c.newBase()
	c.volumes.insert(v)
	if v.name == "" {
		v.name = c.ids.uuid()
	}
	v.path = v.name
	w := c.volumeJob(v, 50*time.Millisecond, func() error {
		if v.snapshot != nil {
			v.state = volumeReady
			if m, ok := refer(c, c.machines, "virtualmachineid"); ok && m != nil && m.live() {
				v.machine, v.device, v.attached = m, c.freeDevice(m), c.now()
			}
		}
		return nil
	})
	w.created = v.id
	return w, nil
}

func (c *call) volumeFromOffering(v *volume) error {
	o, ok := refer(c, c.diskOfferings, "diskofferingid")
	if !ok || o == nil {
		return invalid("At least one of disk Offering ID or snapshot ID must be passed whilst creating volume")
	}
	z, _ := refer(c, c.zones, "zoneid")
	switch {
	case z == nil:
		return invalid("Unable to find zone by id null")
	case !o.flag("iscustomized") && c.num("size", 0) > 0:
		return invalid("This disk offering does not allow custom size")
	case o.flag("iscustomized") && c.has("size") && c.num("size", 0) <= 0:
		return invalid("Disk size must be larger than 0")
	case z.allocation != "Enabled" && !c.root():
		return denied("Cannot perform this operation, Zone is currently disabled: Zone %s", z.printed())
	}
	size, err := c.dataDiskSize(o)
	v.zone, v.offering, v.size = z, o, size
	return err
}

func (c *call) volumeFromSnapshot(v *volume, x *snapshot) error {
	if !x.live() {
		return invalid("unable to find a snapshot with id %d", x.db)
	}
	if err := c.mayUse(x.owner); err != nil {
		return err
	}
	of := x.volume
	v.zone, v.snapshot, v.size, v.template, v.compute, v.offering = of.zone, x, max(of.size, c.num("size", 0)*gib), of.template, of.computeOffering(), of.offering
	return nil
}

// freeDevice is the lowest device number of a machine that no disk has; 0 is the root disk, 3 the drive for images.
func (s *Server) freeDevice(m *machine) int {
	taken := map[int]bool{3: true}
	for _, v := range s.dataDisks(m) {
		taken[v.device] = true
	}
	n := 1
	for taken[n] {
		n++
	}
	return n
}

func attachVolume(c *call) (*work, error) {
	v, err := c.ownVolume()
	if err != nil {
		return nil, err
	}
	m, err := c.machineNamed("virtualmachineid")
	if err != nil {
		return nil, err
	}
	if err := c.mayAttach(v, m); err != nil {
		return &work{instanceType: "Volume", instanceID: v.id, atOnce: true, run: func() (object, error) { return nil, err }}, nil
	}
	return c.volumeJob(v, attachTime, func() error { return c.attach(v, m) }), nil
}

// mayAttach refuses what can be seen before the job begins.
func (c *call) mayAttach(v *volume, m *machine) error {
	switch {
	case v.machine != nil || v.kind == volumeRoot:
		return invalid(attachedElsewhere)
	case m.state != machineRunning && m.state != machineStopped:
		return invalid("Please specify a VM that is either running or stopped.")
	case c.has("deviceid") && c.num("deviceid", -1) == 0:
		return invalid("Root volume detach can happen only when vm is in states: Stopped or Destroyed")
	case v.zone != m.zone:
		return invalid("Please specify a VM that is in the same zone as the volume.")
	case v.state != volumeReady && v.state != volumeAllocated:
		return invalid("Volume state must be in Allocated, Ready or in Uploaded state")
	}
	return nil
}

func (c *call) attach(v *volume, m *machine) error {
	if v.machine != nil {
		return wrapped(530, "volume: %s is already attached to a VM: %s", v.name, c.instance(v.machine))
	}
	if !m.live() {
		return wrapped(530, "Unable to find VM by ID %d", m.db)
	}
	device := c.freeDevice(m)
	if c.has("deviceid") {
		device = int(c.num("deviceid", 0))
	}
	for _, other := range c.dataDisks(m) {
		if other.device == device {
			return wrapped(530, "deviceId %d is used by vol %s on vm %s", device, other.printed(), m.printed(c.Server))
		}
	}
	v.machine, v.device, v.attached = m, device, c.now()
	m.data = v
	if m.everRan {
		v.state = volumeReady
	}
	return nil
}

func detachVolume(c *call) (*work, error) {
	if !c.has("id") {
		return c.detachByDevice()
	}
	v, err := c.ownVolume()
	if err != nil {
		return nil, err
	}
	return c.volumeJob(v, attachTime, func() error {
		switch {
		case v.machine == nil:
			return invalid("The specified volume is not attached to a VM.")
		case v.kind == volumeRoot && v.machine.state != machineStopped && v.machine.state != machineDestroyed:
			return invalid("Root volume detach can happen only when vm is in states: Stopped or Destroyed")
		}
		v.machine, v.device, v.attached = nil, 0, time.Time{}
		return nil
	}), nil
}

// detachByDevice is where the server loses its way: it finds the disk and then asks for its id.
func (c *call) detachByDevice() (*work, error) {
	m, haveMachine := refer(c, c.machines, "virtualmachineid")
	w := &work{takes: 500 * time.Millisecond}
	w.run = func() (object, error) {
		if !haveMachine || m == nil || !c.has("deviceid") {
			return nil, invalid("Please provide either a volume id, or a tuple(device id, instance id)")
		}
		for _, v := range c.volumes.all(func(v *volume) bool { return v.machine == m }) {
			if int64(v.device) == c.num("deviceid", -1) {
				return nil, wrapped(530, `Cannot invoke "java.lang.Long.longValue()" because "volumeId" is null`)
			}
		}
		return nil, wrapped(530, "Index 0 out of bounds for length 0")
	}
	return w, nil
}

func updateVolume(c *call) (*work, error) {
	v, err := c.ownVolume()
	if err != nil {
		return nil, err
	}
	return c.volumeJob(v, 300*time.Millisecond, func() error {
		if c.str("name") != "" {
			v.name = c.str("name")
		}
		if c.has("deleteprotection") {
			v.guarded = c.flag("deleteprotection")
		}
		return nil
	}), nil
}

func resizeVolume(c *call) (*work, error) {
	v, _ := refer(c, c.volumes, "id")
	switch {
	case v == nil:
		return nil, invalid("Unable to find volume by id=%s", c.str("id"))
	case !v.live():
		return nil, invalid("Unable to find volume by id=%d", v.db)
	}
	if err := c.mayUse(v.owner); err != nil {
		return nil, err
	}
	return c.volumeJob(v, resizeTime, func() error { return c.resize(v) }), nil
}

func (c *call) resize(v *volume) error {
	size := v.size
	if o, ok := refer(c, c.diskOfferings, "diskofferingid"); ok && o != nil {
		v.offering = o
		if !o.flag("iscustomized") {
			size = o.num("disksize") * gib
		}
	}
	if c.has("size") {
		size = c.num("size", 0) * gib
	}
	switch {
	case size < v.size && !c.flag("shrinkok"):
		return &apiError{code: 432, cs: csPlain, text: fmt.Sprintf("Going from existing size of %d to size of %d would shrink the volume.Need to sign off by supplying the shrinkok parameter with value of true.", v.size, size)}
	case size < v.size && v.state == volumeReady, c.refused():
		return wrapped(530, "Failed to resize volume operation of volume UUID: [%s] due to - Failed to resize", v.id)
	case size > v.size:
		if err := c.checkLimit(v.owner, limitPrimary, size-v.size, csPlain); err != nil {
			return err
		}
	}
	v.size = size
	return nil
}
