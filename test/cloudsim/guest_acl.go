package cloudsim

import (
	"cmp"
	"net/netip"
	"slices"
)

// aclAllows applies the list of a VPC tier to a TCP packet: the first item that fits decides. far is the other end of ingress, and where
// egress goes. What no item is about comes in never, and goes out unless the list lets other things out.
func (s *Server) aclAllows(n *network, traffic string, far netip.AddrPort) bool {
	if n.acl == nil {
		return traffic == "Egress"
	}
	items := s.itemsOf(n.acl)
	slices.SortStableFunc(items, func(a, b *aclItem) int { return cmp.Compare(a.number, b.number) })
	listed := false
	for _, i := range items {
		if i.traffic != traffic {
			continue
		}
		listed = true
		if i.fits(far) {
			return i.action == "Allow"
		}
	}
	return traffic == "Egress" && !listed
}

// fits says whether an item is about TCP packets to a port from or to an address.
func (i *aclItem) fits(far netip.AddrPort) bool {
	if i.protocol != "tcp" && i.protocol != "all" {
		return false
	}
	port := int(far.Port())
	return (i.protocol == "all" || i.start == noPort || (i.start <= port && port <= i.end)) && inCIDRs(far.Addr(), i.cidrs)
}
