package cloudsim

import (
	"fmt"
	"time"
)

// snapshot is a copy of a disk on secondary storage.
type snapshot struct {
	base
	owner  *account
	name   string
	volume *volume
	state  string
}

func (x *snapshot) printed() string {
	return fmt.Sprintf(`Snapshot {"id":%d,"name":%s,"state":%q,"uuid":%q,"version":"2.2","volumeId":%d}`, x.db, quoteJSON(x.name), x.state, x.id, x.volume.db)
}

func createSnapshot(c *call) (*work, error) {
	v, _ := refer(c, c.volumes, "volumeid")
	switch {
	case v == nil || !v.live():
		return nil, invalid("Unable to find volume by id %s", c.str("volumeid"))
	case c.mayUse(v.owner) != nil:
		return nil, c.mayUse(v.owner)
	case v.state != volumeReady:
		return nil, invalid("Volume: %s is not in Ready state but %s. Cannot take snapshot.", v.printed(), v.state)
	}
	if err := c.checkLimit(v.owner, limitSnapshot, 1, csLimit); err != nil {
		return nil, err
	}
	x := c.snapshots.insert(&snapshot{base: c.newBase(), owner: v.owner, name: c.str("name"), volume: v, state: "Allocated"})
	if x.name == "" {
		x.name = snapshotName(v, c.now())
	}
	return &work{created: x.id, instanceType: "Snapshot", instanceID: x.id, takes: time.Second, run: func() (object, error) {
		x.state = "BackedUp"
		o := c.snapshotObject(x)
		out := object{}
		for _, f := range o { // this reply says a little more than lists do
			if f.name == "volumeid" {
				out = out.with("snapshottype", "MANUAL")
			}
			out = append(out, f)
			if f.name == "ostypeid" && v.template != nil && v.template.os != nil {
				out = out.with("osdisplayname", v.template.os.description)
			}
		}
		return obj("snapshot", out), nil
	}}, nil
}

func snapshotName(v *volume, now time.Time) string {
	name := v.name + "_" + now.UTC().Format("20060102150405")
	if v.machine != nil {
		return v.machine.name + "_" + name
	}
	return "detached_" + name
}

func (c *call) snapshotObject(x *snapshot) object {
	v := x.volume
	o := obj("id", x.id)
	o = append(o, c.ownerFields(x.owner, "account")...)
	o = append(o, c.domainFirst(x.owner)...)
	o = append(o, obj("volumeid", v.id, "volumename", v.name, "volumetype", v.kind, "volumestate", v.state, "created", stamp(x.created), "name", x.name,
		"intervaltype", "MANUAL", "state", x.state, "physicalsize", 0, "zoneid", v.zone.id, "zonename", v.zone.name, "revertable", false)...)
	if v.template != nil && v.template.os != nil {
		o = o.with("ostypeid", v.template.os.id)
	}
	return append(o, obj("virtualsize", v.size, "tags", c.tagObjects("Snapshot", x.id, false), "hasannotations", false)...)
}

func listSnapshots(c *call) (object, error) {
	tagged, err := c.tagFilter("Snapshot")
	if err != nil {
		return nil, err
	}
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	wanted, ofVolume, inZone := refersTo(c, c.snapshots, "id"), refersTo(c, c.volumes, "volumeid"), refersTo(c, c.zones, "zoneid")
	rows := c.snapshots.all(func(x *snapshot) bool {
		return owner(x.owner) && tagged(x.id) && wanted(x) && ofVolume(x.volume) && inZone(x.volume.zone) && allOf(c.text("name", x.name), c.keyword(x.name))
	})
	return pageOf(c, "snapshot", rows, c.snapshotObject)
}

func deleteSnapshot(c *call) (*work, error) {
	x, _ := refer(c, c.snapshots, "id")
	if x == nil {
		return nil, invalid("unable to find a snapshot with id %s", c.str("id"))
	}
	if err := c.mayUse(x.owner); err != nil {
		return nil, err
	}
	return &work{instanceType: "Snapshot", instanceID: x.id, takes: time.Second, run: func() (object, error) {
		if !x.live() {
			return nil, invalid("Snapshot [%s] is already destroyed", x.printed())
		}
		x.state, x.removed = "Destroyed", c.now()
		c.dropTags("Snapshot", x.id)
		return success(), nil
	}}, nil
}
