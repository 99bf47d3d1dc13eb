package cloudsim

import (
	"fmt"
	"net/netip"
)

// sharedNetwork is a network that the accounts of a domain and of those below it use.
type sharedNetwork struct {
	Name     string `json:"name"`
	Text     string `json:"displaytext"`
	Zone     string `json:"zone"`
	Domain   string `json:"domain"`
	Offering string `json:"offering"`
	CIDR     string `json:"cidr"`
	First    string `json:"first"`
	Last     string `json:"last"`
	VLAN     int    `json:"vlan"`
}

func (s *Server) seedShared(n sharedNetwork) {
	row := &network{owner: s.accounts.rows[0], name: n.Name, text: n.Text, state: networkSetup, vlan: n.VLAN, scope: s.domainByPath(n.Domain), subdomains: true, builtin: true}
	for _, z := range s.zones.rows {
		if z.name == n.Zone {
			row.zone = z
		}
	}
	for _, o := range s.networkOfferings.rows {
		if o.name == n.Offering {
			row.offering = o
		}
	}
	var errs [3]error
	row.cidr, errs[0] = netip.ParsePrefix(n.CIDR)
	row.first, errs[1] = netip.ParseAddr(n.First)
	row.last, errs[2] = netip.ParseAddr(n.Last)
	if row.zone == nil || row.offering == nil || row.scope == nil || errs != [3]error{} {
		return // a preset without that zone or domain
	}
	row.gateway = row.cidr.Addr().Next()
	s.insertNetwork(row)
}

// seedRanges gives every zone, in their order, a range of public addresses, some of which have ids that are known.
func (s *Server) seedRanges(ranges []object, ids map[string]string) {
	for i, z := range s.zones.rows {
		if i < len(ranges) {
			s.seedAddresses(z, ranges[i], ids)
		}
	}
}

func demoRanges(like object, zones int) []object {
	var out []object
	for i := range zones {
		net := fmt.Sprintf("192.168.%d.", i+2)
		out = append(out, like.replace("startip", net+"2").replace("endip", net+"200").replace("gateway", net+"1").replace("vlan", fmt.Sprintf("vlan://%d", 50+i)))
	}
	return out
}

// seedUsedAddresses takes addresses away that something unseen holds.
func (s *Server) seedUsedAddresses(h *history) {
	for _, z := range s.zones.rows {
		for _, a := range h.Addresses[z.name] {
			if ip := s.takeAddress(z, s.accounts.rows[0], a); ip != nil {
				ip.state, ip.builtin = addressAllocated, true
			}
		}
	}
}
