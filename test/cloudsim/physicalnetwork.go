package cloudsim

import "strings"

func (s *Server) physicalNetworkOf(z *zone) string {
	for _, p := range s.physicalNetworks.rows {
		if p.zone == z {
			return p.id
		}
	}
	return ""
}

// physicalNetwork carries the guest networks of a zone.
type physicalNetwork struct {
	base
	name string
	zone *zone
}

func listPhysicalNetworks(c *call) (object, error) {
	wanted, byID := refer(c, c.physicalNetworks, "id")
	z, byZone := refer(c, c.zones, "zoneid")
	rows := c.physicalNetworks.all(func(p *physicalNetwork) bool {
		return (!byID || p == wanted) && (!byZone || p.zone == z) && (!c.has("name") || strings.EqualFold(p.name, c.str("name")))
	})
	return pageOf(c, "physicalnetwork", rows, func(p *physicalNetwork) object {
		return obj("id", p.id, "name", p.name, "broadcastdomainrange", "ZONE", "zoneid", p.zone.id, "zonename", p.zone.name, "state", "Enabled", "vlan", "100-200", "isolationmethods", "VLAN")
	})
}
