package cloudsim

import (
	"slices"
	"strconv"
	"strings"
)

// customBound is a size of a customised offering: how texts call it and which details bound it.
type customBound struct {
	key, text, low, high string
	least                int64
	fixed                string // the field of an offering that has it fixed
}

func customBounds() []customBound {
	return []customBound{
		{"cpuNumber", "cpu cores", "mincpunumber", "maxcpunumber", 1, "cpunumber"},
		{"cpuSpeed", "cpu speed", "", "", 1, "cpuspeed"},
		{"memory", "memory", "minmemory", "maxmemory", 32, "memory"},
	}
}

const maxInt32 = 1<<31 - 1

// readSize takes the sizes of a customised offering, and refuses them on a fixed one.
func (c *call) readSize(d *deployment) error {
	sizes, err := c.customSize(d.m.offering, d.m.details)
	if err != nil {
		return err
	}
	d.m.cpus, d.m.mhz, d.m.mib = sizes["cpuNumber"], sizes["cpuSpeed"], sizes["memory"]
	return nil
}

// customSize checks sizes in details against an offering.
func (c *call) customSize(o *offering, details map[string]string) (map[string]int64, error) {
	given := 0
	for k := range details {
		if slices.ContainsFunc(customBounds(), func(b customBound) bool { return strings.EqualFold(b.key, k) }) {
			given++
		}
	}
	switch {
	case !o.flag("iscustomized") && given > 0:
		return nil, invalid("cpuNumber or cpuSpeed or memory should not be specified for static service offering")
	case !o.flag("iscustomized"):
		return nil, nil
	case given == 0:
		return nil, invalid("Need to specify custom parameter values cpu, cpu speed and memory when using custom offering")
	}
	out := map[string]int64{}
	for _, b := range customBounds() {
		if o.attrs.get(b.fixed) != nil {
			if details[b.key] != "" {
				return nil, invalid("The %s of this offering id:%s is not customizable. This is predefined in the template.", b.text, o.id)
			}
			continue
		}
		low, high := o.bound(b.low, b.least), o.bound(b.high, maxInt32)
		n, err := strconv.ParseInt(details[b.key], 10, 64)
		if err != nil || n < low || n > high {
			return nil, invalid("Invalid %s value, specify a value between %d and %d", b.text, low, high)
		}
		out[b.key] = n
	}
	return out, nil
}

// bound reads a bound of a customised offering.
func (o *offering) bound(name string, def int64) int64 {
	bounds, _ := o.attrs.get("serviceofferingdetails").(object)
	if n, ok := number(bounds.str(name)); ok {
		return n
	}
	return def
}

// readDisks reads the sizes of root and data disk.
func (c *call) readDisks(d *deployment) error {
	if o, ok := refer(c, c.diskOfferings, "diskofferingid"); ok && o != nil {
		size, err := c.dataDiskSize(o)
		if err != nil {
			return err
		}
		d.disk, d.diskSize = o, size
	}
	d.root, _ = refer(c, c.diskOfferings, "overridediskofferingid")
	d.rootSize = c.templateSize(d.m)
	if d.root != nil && d.root.num("disksize") > 0 {
		d.rootSize = max(d.rootSize, d.root.num("disksize")*gib)
	}
	if n := d.m.offering.num("rootdisksize"); n > 0 {
		d.rootSize = n * gib
	}
	n, sent := c.num("rootdisksize", 0), c.str("rootdisksize") != ""
	if v, ok := number(d.m.details["rootdisksize"]); ok && !sent {
		n, sent = v, true
	}
	if !sent {
		return nil
	}
	if n <= 0 {
		return invalid("Root disk size should be a positive number.")
	}
	d.rootSize = n * gib
	return nil
}

// templateSize is the size of the disk in a template.
func (c *call) templateSize(m *machine) int64 {
	if cp := m.template.copyIn(m.zone); cp != nil && cp.size > 0 {
		return cp.size
	}
	return 2 * gib
}

// dataDiskSize is the size of a data disk in bytes; of a fixed offering it is always the offering's.
func (c *call) dataDiskSize(o *offering) (int64, error) {
	if !o.flag("iscustomized") {
		return o.num("disksize") * gib, nil
	}
	most := c.settingNumber("custom.diskoffering.size.max", 1024)
	size := c.num("size", -1)
	switch {
	case !c.has("size"):
		return 0, invalid("This disk offering requires a custom size specified")
	case size < 1 || size > most:
		return 0, invalid("Volume size: %d GB is out of allowed range. Min: 1. Max: %d", size, most)
	}
	return size * gib, nil
}
