package cloudsim

import (
	"fmt"
	"time"
)

// States of a volume.
const (
	volumeAllocated = "Allocated"
	volumeReady     = "Ready"
	volumeDestroy   = "Destroy"
)

// Types of volumes.
const (
	volumeRoot = "ROOT"
	volumeData = "DATADISK"
)

// volume is a disk.
type volume struct {
	base
	owner    *account
	name     string
	zone     *zone
	machine  *machine
	kind     string
	device   int
	offering *offering // nil for a root disk of a service offering
	compute  *offering // whose service offering made a disk that came from a root disk
	template *template
	snapshot *snapshot
	size     int64
	state    string
	attached time.Time
	guarded  bool // against being deleted
	path     string
}

// printed is how texts print a volume.
func (v *volume) printed() string {
	on := "null"
	if v.machine != nil {
		on = formatInt(v.machine.db)
	}
	return fmt.Sprintf(`Volume {"id":%d,"instanceId":%s,"name":%s,"uuid":%q,"volumeType":%q}`, v.db, on, quoteJSON(v.name), v.id, v.kind)
}

// dataDisks are the disks of a machine beside its root disk.
func (s *Server) dataDisks(m *machine) []*volume {
	return s.volumes.all(func(v *volume) bool { return v.machine == m && v.kind == volumeData })
}

// diskOffering is the disk offering that a machine shows: of its data disk, or the one that its root disk was given.
func (m *machine) diskOffering() *offering {
	if m.data != nil && m.data.machine == m {
		return m.data.offering
	}
	if m.root != nil {
		return m.root.offering
	}
	return nil
}

func listVolumes(c *call) (object, error) {
	if c.has("id") && len(c.list("ids")) > 0 {
		return nil, invalid("Specify either id or ids but not both parameters")
	}
	tagged, err := c.tagFilter("Volume")
	if err != nil {
		return nil, err
	}
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	wanted, among := refersTo(c, c.volumes, "id"), among(c, c.volumes, "ids")
	ofMachine, inZone, ofOffering := refersTo(c, c.machines, "virtualmachineid"), refersTo(c, c.zones, "zoneid"), refersTo(c, c.diskOfferings, "diskofferingid")
	rows := c.volumes.all(func(v *volume) bool {
		return owner(v.owner) && tagged(v.id) && wanted(v) && among(v) && ofMachine(v.machine) && inZone(v.zone) && ofOffering(v.offering) &&
			allOf(c.text("name", v.name), c.text("state", v.state), c.keyword(v.name), containsFold(v.kind, c.str("type")))
	})
	return pageOf(c, "volume", rows, c.volumeObject)
}

func (c *call) volumeObject(v *volume) object {
	o := obj("id", v.id, "name", v.name, "zoneid", v.zone.id, "zonename", v.zone.name, "type", v.kind)
	if v.machine != nil || v.kind == volumeRoot {
		o = o.with("deviceid", v.device)
	}
	if v.machine != nil {
		o = o.with("virtualmachineid", v.machine.id)
	}
	if t := v.template; t != nil {
		o = append(o, obj("templateid", t.id, "templatename", t.name, "templatedisplaytext", t.text)...)
	}
	if m := v.machine; m != nil {
		o = append(o, obj("vmname", m.name, "vmdisplayname", m.displayName, "vmstate", m.state, "vmtype", "User")...)
	}
	o = append(o, obj("provisioningtype", "thin", "size", v.size, "created", stamp(v.created), "state", v.state)...)
	o = append(o, c.ownerFields(v.owner, "account")...)
	o = append(o, c.domainFirst(v.owner)...)
	if c.root() {
		o = o.with("storagetype", "shared")
	}
	if v.machine != nil && (v.state == volumeReady || !v.attached.IsZero()) {
		o = append(o, obj("diskkbsread", 0, "diskkbswrite", 0, "diskioread", 0, "diskiowrite", 0)...)
	}
	if v.snapshot != nil && v.snapshot.live() {
		o = o.with("snapshotid", v.snapshot.id)
	}
	return append(append(o, c.volumePlace(v)...), c.volumeTail(v)...)
}

// volumePlace is what a disk was made by and, for root admins, where it is.
func (c *call) volumePlace(v *volume) object {
	o := object{}
	placed := v.state == volumeReady
	if c.root() {
		kind := "None"
		if placed || v.kind == volumeRoot {
			kind = c.hypervisorIn(v.zone)
		}
		o = o.with("hypervisor", kind)
	}
	if d := v.offering; d != nil {
		o = append(o, obj("diskofferingid", d.id, "diskofferingname", d.name, "diskofferingdisplaytext", d.attrs.str("displaytext"))...)
	}
	if c.root() && placed {
		o = o.with("storage", v.zone.name+"-ps0")
	}
	if !v.attached.IsZero() && v.machine != nil {
		o = o.with("attached", stamp(v.attached))
	}
	o = o.with("destroyed", v.state == volumeDestroy)
	if d := v.computeOffering(); d != nil {
		o = append(o, obj("serviceofferingid", formatInt(d.db), "serviceofferingname", d.name, "serviceofferingdisplaytext", d.attrs.str("displaytext"))...)
	}
	return o
}

// computeOffering is the service offering that a disk has its size and speed from, nil for one with a disk offering.
func (v *volume) computeOffering() *offering {
	switch {
	case v.compute != nil:
		return v.compute
	case v.kind == volumeRoot && v.machine != nil && v.offering == nil:
		return v.machine.offering
	}
	return nil
}

// hypervisorIn is the hypervisor of a zone's hosts.
func (s *Server) hypervisorIn(z *zone) string {
	for _, h := range s.hosts.rows {
		if h.zone == z {
			return h.hypervisor
		}
	}
	return "None"
}

func (c *call) volumeTail(v *volume) object {
	o := obj("isextractable", v.kind == volumeData)
	placed := v.state == volumeReady
	if c.root() {
		o = o.with("displayvolume", true)
		if placed {
			o = append(o, obj("path", v.path, "storageid", c.poolOf(v.zone))...)
		}
	}
	o = append(o, obj("quiescevm", false, "supportsstoragesnapshot", false, "deleteprotection", v.guarded)...)
	if k := c.clusterOf(v.zone); c.root() && placed && k != nil {
		o = append(o, obj("clusterid", k.id, "clustername", k.name, "podid", k.pod.id, "podname", k.pod.name)...)
	}
	o = append(o, obj("tags", c.tagObjects("Volume", v.id, false), "hasannotations", false)...)
	if j := c.openJob(v.id); j != nil {
		o = append(o, obj("jobid", j.id, "jobstatus", 0)...)
	}
	return o
}

// poolOf is the id of the primary storage of a zone: that of its image store, for pools are no rows of the simulator.
func (s *Server) poolOf(z *zone) string {
	if st := s.storeOf(z); st != nil {
		return st.id
	}
	return ""
}

func (s *Server) clusterOf(z *zone) *cluster {
	for _, k := range s.clusters.rows {
		if k.zone == z {
			return k
		}
	}
	return nil
}
