package cloudsim

import (
	"fmt"
)

// volume is a disk.
type volume struct {
	base
	owner   *account
	name    string
	zone    *zone
	machine *machine
	size    int64
	state   string
}

func listVolumes(c *call) (object, error) {
	tagged, err := c.tagFilter("Volume")
	if err != nil {
		return nil, err
	}
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	wanted := refersTo(c, c.volumes, "id")
	ofMachine, inZone := refersTo(c, c.machines, "virtualmachineid"), refersTo(c, c.zones, "zoneid")
	rows := c.volumes.all(func(v *volume) bool {
		return owner(v.owner) && tagged(v.id) && wanted(v) && ofMachine(v.machine) && inZone(v.zone) &&
			allOf(c.text("name", v.name), c.text("state", v.state), c.keyword(v.name), containsFold("ROOT", c.str("type")))
	})
	return pageOf(c, "volume", rows, c.volumeObject)
}

func (c *call) volumeObject(v *volume) object {
	o := obj("id", v.id, "name", v.name, "zoneid", v.zone.id, "zonename", v.zone.name, "type", "ROOT", "deviceid", 0)
	if m := v.machine; m != nil {
		o = append(o, obj("virtualmachineid", m.id, "templateid", m.template.id, "templatename", m.template.name, "templatedisplaytext", m.template.text,
			"vmname", m.name, "vmdisplayname", m.displayName, "vmstate", m.state, "vmtype", "User")...)
	}
	o = append(o, obj("provisioningtype", "thin", "size", v.size, "created", stamp(v.created), "state", v.state)...)
	o = append(o, c.ownerFields(v.owner, "account")...)
	o = append(o, c.domainFirst(v.owner)...)
	o = append(o, obj("diskkbsread", 0, "diskkbswrite", 0, "diskioread", 0, "diskiowrite", 0, "destroyed", v.state == "Destroy")...)
	if m := v.machine; m != nil {
		o = append(o, obj("serviceofferingid", fmt.Sprint(m.offering.db), "serviceofferingname", m.offering.name, "serviceofferingdisplaytext", m.offering.attrs.str("displaytext"))...)
	}
	return append(o, obj("isextractable", false, "quiescevm", false, "supportsstoragesnapshot", false, "deleteprotection", false,
		"tags", c.tagObjects("Volume", v.id, false), "hasannotations", false)...)
}
