package cloudsim

import "maps"

// inventoryOfMachines lists machines and what belongs to them.
func (s *Server) inventoryOfMachines(in *Inventory) {
	in.Snapshots, in.KeyPairs, in.Affinity, in.Security, in.Clusters = []InventoryItem{}, []InventoryItem{}, []InventoryItem{}, []InventoryItem{}, []InventoryItem{}
	for _, m := range s.machines.all(everything) {
		in.Machines = append(in.Machines, InventoryItem{m.id, m.name, m.owner.name, m.zone.name, m.state, false, maps.Clone(m.details)})
	}
	for _, v := range s.volumes.all(everything) {
		in.Volumes = append(in.Volumes, InventoryItem{v.id, v.name, v.owner.name, v.zone.name, v.state, false, nil})
	}
	for _, x := range s.snapshots.all(everything) {
		in.Snapshots = append(in.Snapshots, InventoryItem{x.id, x.name, x.owner.name, x.volume.zone.name, x.state, false, nil})
	}
	for _, k := range s.keyPairs.all(everything) {
		in.KeyPairs = append(in.KeyPairs, InventoryItem{ID: k.id, Name: k.name, Account: k.owner.name})
	}
	for _, g := range s.affinityGroups.all(everything) {
		in.Affinity = append(in.Affinity, InventoryItem{ID: g.id, Name: g.name, Account: g.owner.name})
	}
	for _, g := range s.securityGroups.all(func(g *securityGroup) bool { return g.name != defaultGroup }) {
		in.Security = append(in.Security, InventoryItem{ID: g.id, Name: g.name, Account: g.owner.name})
	}
	for _, k := range s.kubernetesClusters.all(everything) {
		in.Clusters = append(in.Clusters, InventoryItem{k.id, k.name, k.owner.name, k.zone.name, "Running", false, nil})
	}
}
