package cloudsim

import "strings"

// offering is a service, disk, network or VPC offering, seeded and never changed.
type offering struct {
	base
	name  string
	attrs object // as the server was seeded with, in the order of the wire
	disk  string // id of the disk offering behind a service offering
}

func (o *offering) num(name string) int64 {
	n, _ := o.attrs.get(name).(int64)
	return n
}

func (o *offering) flag(name string) bool {
	b, _ := o.attrs.get(name).(bool)
	return b
}

// offeringRows filters offerings by what all their lists have in common.
func (c *call) offeringRows(t *table[*offering], keep func(*offering) bool) []*offering {
	wanted, byID := refer(c, t, "id")
	return t.all(func(o *offering) bool {
		switch {
		case byID && o != wanted:
			return false
		case c.has("name") && !strings.EqualFold(o.name, c.str("name")):
			return false
		case c.str("keyword") != "" && !containsFold(o.name, c.str("keyword")) && !containsFold(o.attrs.str("displaytext"), c.str("keyword")):
			return false
		case c.str("state") != "" && !strings.EqualFold(o.attrs.str("state"), c.str("state")):
			return false
		}
		return keep(o)
	})
}

func listServiceOfferings(c *call) (object, error) {
	if c.flag("issystem") && !c.root() {
		return nil, denied("Only ROOT admins can access system offerings.")
	}
	rows := c.offeringRows(c.serviceOfferings, func(o *offering) bool {
		return !c.flag("issystem") && c.atLeast(o, "cpunumber") && c.atLeast(o, "memory") && c.atLeast(o, "cpuspeed")
	})
	return pageOf(c, "serviceoffering", rows, c.serviceOfferingObject)
}

// atLeast compares a wanted size with an offering; customised ones fit any.
func (c *call) atLeast(o *offering, name string) bool {
	return !c.has(name) || o.attrs.get(name) == nil || o.num(name) >= c.num(name, 0)
}

func (c *call) serviceOfferingObject(o *offering) object {
	out := obj("id", o.id)
	for _, f := range o.attrs {
		switch f.name {
		case "storagetype":
			out = out.with("created", stamp(o.created))
		case "diskofferingname":
			out = out.with("diskofferingid", o.disk)
		case "gpudisplay", "gpucount":
			if !c.knows("4.21") {
				continue
			}
		}
		out = append(out, f)
	}
	return out.with("hasannotations", false)
}

func listDiskOfferings(c *call) (object, error) {
	rows := c.offeringRows(c.diskOfferings, func(*offering) bool { return true })
	return pageOf(c, "diskoffering", rows, func(o *offering) object { return o.object("iscustomized").with("hasannotations", false) })
}

// object shows an offering with its date before the named field.
func (o *offering) object(before string) object {
	out := obj("id", o.id)
	for _, f := range o.attrs {
		if f.name == before {
			out = out.with("created", stamp(o.created))
		}
		out = append(out, f)
	}
	return out
}

func listNetworkOfferings(c *call) (object, error) {
	rows := c.offeringRows(c.networkOfferings, func(o *offering) bool {
		switch {
		case c.str("guestiptype") != "" && !strings.EqualFold(o.attrs.str("guestiptype"), c.str("guestiptype")):
			return false
		case c.str("traffictype") != "" && !strings.EqualFold(o.attrs.str("traffictype"), c.str("traffictype")):
			return false
		case c.has("forvpc") && o.flag("forvpc") != c.flag("forvpc"):
			return false
		case c.has("isdefault") && o.flag("isdefault") != c.flag("isdefault"):
			return false
		case c.has("specifyvlan") && o.flag("specifyvlan") != c.flag("specifyvlan"):
			return false
		case c.str("availability") != "" && !strings.EqualFold(o.attrs.str("availability"), c.str("availability")):
			return false
		}
		return o.supports(c.list("supportedservices")) && (!c.has("zoneid") || o.provided())
	})
	return pageOf(c, "networkoffering", rows, networkOfferingObject)
}

func networkOfferingObject(o *offering) object {
	out := obj("id", o.id)
	for _, f := range o.attrs {
		switch f.name {
		case "traffictype":
			out = out.with("created", stamp(o.created))
		case "service":
			out = out.with("serviceofferingid", o.disk)
		}
		out = append(out, f)
	}
	return out.with("hasannotations", false)
}

// supports says whether a network offering has every one of some services.
func (o *offering) supports(services []string) bool {
	have, _ := o.attrs.get("service").([]any)
	for _, want := range services {
		found := false
		for _, s := range have {
			if so, ok := s.(object); ok && strings.EqualFold(so.str("name"), want) {
				found = true
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func listVPCOfferings(c *call) (object, error) {
	rows := c.offeringRows(c.vpcOfferings, func(o *offering) bool {
		return !c.has("isdefault") || o.flag("isdefault") == c.flag("isdefault")
	})
	return pageOf(c, "vpcoffering", rows, func(o *offering) object { return o.object("isdefault") })
}

// provided says whether a zone has providers for all services of a network offering: virtual routers, and nothing of other makers.
func (o *offering) provided() bool {
	for _, service := range listOf(o.attrs.get("service")) {
		for _, p := range listOf(service.get("provider")) {
			if !contains([]string{"VirtualRouter", "VpcVirtualRouter", "InternalLbVm", "ConfigDrive", "SecurityGroupProvider"}, p.str("name")) {
				return false
			}
		}
	}
	return true
}
