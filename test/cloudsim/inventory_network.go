package cloudsim

import "fmt"

// inventoryOfNetworks lists what exists between machines and the world, without what the server came with.
func (s *Server) inventoryOfNetworks(in *Inventory) {
	for _, n := range s.networks.all(func(n *network) bool { return !n.builtin }) {
		in.Networks = append(in.Networks, InventoryItem{n.id, n.name, n.owner.name, n.zone.name, n.state, false, nil})
	}
	for _, v := range s.vpcs.all(everything) {
		in.VPCs = append(in.VPCs, InventoryItem{v.id, v.name, v.owner.name, v.zone.name, v.state, false, nil})
	}
	for _, l := range s.aclLists.all(func(l *aclList) bool { return l.vpc != nil }) {
		in.ACLLists = append(in.ACLLists, InventoryItem{l.id, l.name, l.vpc.owner.name, l.vpc.zone.name, "", false, nil})
	}
	for _, ip := range s.publicIPs.all(func(ip *publicIP) bool { return ip.owner != nil && !ip.builtin }) {
		in.Addresses = append(in.Addresses, InventoryItem{ip.id, ip.address.String(), ip.owner.name, ip.zone().name, ip.state, false, nil})
	}
	for _, r := range s.rulesWhere(func(*portRule) bool { return true }) {
		in.Rules = append(in.Rules, s.inventoryRule(r))
	}
}

func (s *Server) inventoryRule(r *portRule) InventoryRule {
	out := InventoryRule{ID: r.id, Kind: r.purpose, Account: r.owner.name, Network: r.network.id, Protocol: r.protocol, CIDRs: r.cidrs, State: r.state}
	if r.start != noPort || r.end != noPort {
		out.Ports = fmt.Sprintf("%d-%d", r.start, r.end)
	}
	if r.ip != nil {
		out.Address = r.ip.address.String()
	} else {
		out.Kind = "Egress"
	}
	if lb, ok := s.loadBalancers.index[r.id]; ok {
		out.Name = lb.name
		for _, x := range lb.members {
			out.Members = append(out.Members, x.machine.id)
		}
	}
	return out
}
