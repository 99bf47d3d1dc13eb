package cloudsim

import "strings"

// zone is a data centre.
type zone struct {
	base
	name       string
	token      string
	allocation string // Enabled or Disabled
	attrs      object // as the server was seeded with
}

func listZones(c *call) (object, error) {
	z, byID := refer(c, c.zones, "id")
	ids, byIDs := referAll(c, c.zones, "ids")
	rows := c.zones.all(func(row *zone) bool {
		return (!byID || row == z) && (!byIDs || contains(ids, row)) && c.wantsZone(row, byID || byIDs)
	})
	return pageOf(c, "zone", rows, c.zoneObject)
}

func (c *call) wantsZone(z *zone, named bool) bool {
	if c.has("name") && !strings.EqualFold(z.name, c.str("name")) {
		return false
	}
	if k := c.str("keyword"); k != "" && !containsFold(z.name, k) {
		return false
	}
	if t := c.str("networktype"); t != "" && !strings.EqualFold(t, z.attrs.str("networktype")) {
		return false
	}
	if c.has("available") && !c.flag("available") && !c.hasRouterIn(z) {
		return false
	}
	return named || z.allocation == "Enabled" || c.root()
}

// zoneObject shows a zone; addresses of the infrastructure only to root admins.
func (c *call) zoneObject(z *zone) object {
	o := obj("id", z.id, "name", z.name)
	for _, f := range z.attrs {
		switch f.name {
		case "name":
			continue
		case "dns1", "dns2", "internaldns1", "internaldns2", "guestcidraddress":
			if !c.root() {
				continue
			}
		case "allocationstate":
			f.value = z.allocation
		case "dhcpprovider":
			o = o.with("zonetoken", z.token)
		case "type", "isnsxenabled", "ismultiarch", "asnrange", "routedmodeenabled", "gputotal", "gpuused":
			if !c.knows(zoneFieldSince(f.name)) {
				continue
			}
		}
		o = append(o, f)
	}
	return o.with("hasannotations", false)
}

// zoneFieldSince is the release that first showed a field of a zone.
func zoneFieldSince(name string) string {
	return map[string]string{"isnsxenabled": "4.20", "ismultiarch": "4.20", "asnrange": "4.20", "routedmodeenabled": "4.20", "gputotal": "4.21", "gpuused": "4.21"}[name]
}
