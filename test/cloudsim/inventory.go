package cloudsim

import "time"

// Inventory is what exists on the server that its users made, for a check that nothing is lost, doubled or left behind.
type Inventory struct {
	Now       time.Time          `json:"now"`
	Templates []InventoryItem    `json:"templates"`
	Machines  []InventoryItem    `json:"virtualmachines"`
	Volumes   []InventoryItem    `json:"volumes"`
	Networks  []InventoryItem    `json:"networks"`
	VPCs      []InventoryItem    `json:"vpcs"`
	ACLLists  []InventoryItem    `json:"networkacllists"`
	Addresses []InventoryItem    `json:"publicipaddresses"` // that somebody holds; the name is the address
	Rules     []InventoryRule    `json:"rules"`
	Snapshots []InventoryItem    `json:"snapshots"`
	KeyPairs  []InventoryItem    `json:"sshkeypairs"`
	Affinity  []InventoryItem    `json:"affinitygroups"`
	Security  []InventoryItem    `json:"securitygroups"` // without those that every account has
	Clusters  []InventoryItem    `json:"kubernetesclusters"`
	Projects  []InventoryItem    `json:"projects"`
	Tags      []InventoryTag     `json:"tags"`
	Jobs      []InventoryItem    `json:"jobs"` // that have not ended
	Accounts  []InventoryAccount `json:"accounts"`
}

// InventoryItem is one thing; a template appears once for each zone that has it.
type InventoryItem struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Account string            `json:"account"`
	Zone    string            `json:"zone,omitempty"`
	State   string            `json:"state,omitempty"`
	Ready   bool              `json:"ready,omitempty"`
	Details map[string]string `json:"details,omitempty"`
}

// InventoryRule is a load-balancer, firewall, egress or forwarding rule.
type InventoryRule struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"` // LoadBalancing, Firewall, Egress or PortForwarding
	Name     string   `json:"name,omitempty"`
	Account  string   `json:"account"`
	Network  string   `json:"network"`           // by id
	Address  string   `json:"address,omitempty"` // empty for egress
	Protocol string   `json:"protocol"`
	Ports    string   `json:"ports,omitempty"`
	CIDRs    []string `json:"cidrs,omitempty"`
	State    string   `json:"state"`
	Members  []string `json:"members,omitempty"` // ids of machines
}

// InventoryTag is one tag.
type InventoryTag struct {
	ResourceType string `json:"resourcetype"`
	ResourceID   string `json:"resourceid"`
	Key          string `json:"key"`
	Value        string `json:"value"`
}

// InventoryAccount is one account with its domain and state.
type InventoryAccount struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Domain string `json:"domain"`
	State  string `json:"state"`
}

// Inventory lists what exists now, without what the server came with.
func (s *Server) Inventory() Inventory {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catchUp()
	in := Inventory{Now: s.now().UTC(), Templates: []InventoryItem{}, Machines: []InventoryItem{}, Volumes: []InventoryItem{}, Networks: []InventoryItem{},
		VPCs: []InventoryItem{}, ACLLists: []InventoryItem{}, Addresses: []InventoryItem{}, Rules: []InventoryRule{},
		Projects: []InventoryItem{}, Tags: []InventoryTag{}, Jobs: []InventoryItem{}, Accounts: []InventoryAccount{}}
	for _, t := range s.templates.all(func(t *template) bool { return t.kind != templateSystem && t.kind != templateBuiltin }) {
		for _, cp := range t.liveCopies() {
			in.Templates = append(in.Templates, InventoryItem{t.id, t.name, t.owner.name, cp.zone.name, cp.status(), cp.ready, t.details})
		}
	}
	s.inventoryOfMachines(&in)
	s.inventoryOfNetworks(&in)
	for _, p := range s.projects.all(everything) {
		in.Projects = append(in.Projects, InventoryItem{p.id, p.name, p.owner.name, "", p.state, false, nil})
	}
	for _, t := range s.tags.all(everything) {
		in.Tags = append(in.Tags, InventoryTag{t.resourceType, t.resource, t.key, t.value})
	}
	for _, j := range s.jobs.all(func(j *job) bool { return j.status == jobPending }) {
		in.Jobs = append(in.Jobs, InventoryItem{j.id, j.command, j.acct.name, "", "pending", false, nil})
	}
	for _, a := range s.accounts.all(func(a *account) bool { return a.project == nil && !a.internal() }) {
		in.Accounts = append(in.Accounts, InventoryAccount{a.id, a.name, a.domain.path(), a.state})
	}
	return in
}
