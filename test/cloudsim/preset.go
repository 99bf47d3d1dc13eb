package cloudsim

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed testdata/seed.json
var seedJSON []byte

//go:embed testdata/apis-by-role.json
var rolesJSON []byte

// rolesFile lists, sorted, the commands that each kind of caller may call.
type rolesFile struct {
	User        []string `json:"user"`
	DomainAdmin []string `json:"domainAdmin"`
	RootAdmin   []string `json:"rootAdmin"`
}

// seedFile is what the recording server was seeded with.
type seedFile struct {
	Zones            []object          `json:"zones"`
	Hosts            []object          `json:"hosts"`
	Domains          []string          `json:"domains"`
	Roles            []object          `json:"roles"`
	Accounts         []seedAccount     `json:"accounts"`
	Settings         map[string]string `json:"settings"`
	OSTypes          []object          `json:"osTypes"`
	ServiceOfferings []object          `json:"serviceOfferings"`
	DiskOfferings    []object          `json:"diskOfferings"`
	NetworkOfferings []object          `json:"networkOfferings"`
	VPCOfferings     []object          `json:"vpcOfferings"`
	Templates        []object          `json:"templates"`
	PhysicalNetworks []object          `json:"physicalNetworks"`
	PublicRanges     []object          `json:"publicRanges"`
}

// seedAccount is an account with one user of its name.
type seedAccount struct {
	Name   string           `json:"name"`
	Type   string           `json:"type"`
	Domain string           `json:"domain"`
	Limits map[string]int64 `json:"limits"`
}

// order is that of the database numbers, which some texts print: user, user2, user3 were the youngest accounts.
func (a seedAccount) order() int {
	if strings.HasPrefix(a.Name, "user") {
		return 1
	}
	return 0
}

// knownIDs are ids of the recording server that its transcripts write out.
func knownIDs() map[string]string {
	return map[string]string{"zone/zone-a": "cbcf82dd-43c8-484c-84cc-9146a9f6983a", "serviceoffering/Small Instance#1": "9b99813d-85cf-46d6-83b7-941962015a6f"}
}

// seed fills an empty server.
func (s *Server) seed() error {
	var f seedFile
	if err := json.Unmarshal(seedJSON, &f); err != nil {
		return fmt.Errorf("reading the seed: %w", err)
	}
	if err := json.Unmarshal(rolesJSON, &s.byRole); err != nil {
		return fmt.Errorf("reading the commands of the roles: %w", err)
	}
	maps.Copy(s.settings, moreSettings())
	maps.Copy(s.settings, f.Settings)
	s.manager = managementServer{base: s.seedBase("managementserver/localhost"), name: "localhost", started: s.now(), stopped: s.now()}
	s.seedDomains(f.Domains)
	s.seedRoles(f.Roles)
	s.seedAccounts(&f)
	s.seedOSTypes(f.OSTypes)
	s.seedOfferings(&f)
	s.seedACLs()
	switch s.opts.Preset {
	case PresetRecorded, PresetRecordedNetSG:
		s.zones.last = 1 // the first zone of the recording server was the second row
		s.seedZones(f.Zones, f.Hosts)
		s.seedTemplates(f.Templates)
		return s.seedHistory(f.PublicRanges)
	case PresetLoopback:
		s.seedZones(demoZones(f.Zones[0]), demoHosts(f.Hosts[0]))
		s.seedLoopback(f.PublicRanges[0])
	case PresetDemo:
		s.seedZones(demoZones(f.Zones[0]), demoHosts(f.Hosts[0]))
		s.seedRanges(demoRanges(f.PublicRanges[0], len(s.zones.rows)), nil)
		for i, z := range s.zones.rows {
			s.seedShared(sharedNetwork{Name: "shared", Text: "shared by all accounts", Zone: z.name, Domain: "ROOT", Offering: "DefaultSharedNetworkOffering",
				CIDR: fmt.Sprintf("10.65.%d.0/24", i), First: fmt.Sprintf("10.65.%d.10", i), Last: fmt.Sprintf("10.65.%d.250", i), VLAN: 550 + i})
		}
	}
	return nil
}

// moreSettings are settings with their defaults that the seed does not name.
func moreSettings() map[string]string {
	return map[string]string{
		"api.throttling.interval": "1", "api.throttling.max": "25", "max.template.iso.size": "50", "upload.operation.timeout": "60", "upload.monitoring.interval": "60",
		"store.download.follow.redirects": "false", "secstorage.allowed.internal.sites": "", "job.expire.minutes": "1440",
		"user.vm.denied.details":   "rootdisksize, cpuOvercommitRatio, memoryOvercommitRatio, Message.ReservedCapacityFreed.Flag",
		"user.vm.readonly.details": "dataDiskController, rootDiskController", "custom.diskoffering.size.max": "1024",
		"allow.public.user.templates": "true", "validate.url.is.resolvable.before.registering.template": "true",
	}
}

// seedBase starts a row whose id is known from the recording server or depends on the seed alone.
func (s *Server) seedBase(name string) base {
	b := s.newBase()
	if id, ok := knownIDs()[name]; ok {
		b.id = id
	}
	return b
}

func (s *Server) seedDomains(paths []string) {
	for _, path := range paths {
		i := strings.LastIndex(path, "/")
		d := &domain{base: s.seedBase("domain/" + path), name: path[i+1:], state: "Active", limits: map[int]int64{}}
		if i >= 0 {
			d.parent = s.domainByPath(path[:i])
		}
		s.domains.insert(d)
	}
}

func (s *Server) seedRoles(rows []object) {
	for _, o := range rows {
		s.roles.insert(&role{base: s.seedBase("role/" + o.str("name")), name: o.str("name"), kind: o.str("type"), isDefault: true, isPublic: true})
	}
}

func (s *Server) roleOfKind(kind int) *role {
	name := map[int]string{accountUser: "User", accountRoot: "Root Admin", accountDomain: "Domain Admin"}[kind]
	for _, r := range s.roles.rows {
		if r.name == name {
			return r
		}
	}
	return nil
}

func (s *Server) seedAccounts(f *seedFile) {
	s.addAccount("system", accountRoot, s.domains.rows[0])
	slices.SortStableFunc(f.Accounts, func(a, b seedAccount) int { return cmp.Compare(a.order(), b.order()) })
	for i, a := range f.Accounts {
		if i == 1 {
			s.addAccount("baremetal-system-account", accountUser, s.domains.rows[0])
		}
		path := a.Domain
		if s.opts.Preset == PresetRecordedNetSG && (a.Name == "user" || a.Name == "user2" || a.Name == "user3") {
			path = "ROOT/netsg"
		}
		kind := map[string]int{"root admin": accountRoot, "domain admin": accountDomain}[a.Type]
		acct := s.addAccount(a.Name, kind, s.domainByPath(path))
		for _, l := range limitOrder() {
			if n, ok := a.Limits[limitKinds()[l].name]; ok {
				acct.limits[int(l)] = n
			}
		}
		u := s.addUser(acct, a.Name)
		u.password, u.apiKey, u.secret = "password", s.ids.key(), s.ids.key()
	}
}

func (s *Server) addAccount(name string, kind int, d *domain) *account {
	return s.accounts.insert(&account{base: s.seedBase("account/" + name), name: name, kind: kind, domain: d,
		role: s.roleOfKind(kind), state: "enabled", limits: map[int]int64{}, details: map[string]string{}})
}

func (s *Server) addUser(a *account, name string) *user {
	return s.users.insert(&user{base: s.seedBase("user/" + name), username: name, first: name, last: strings.ToUpper(name[:1]),
		email: name + "@example.org", state: "enabled", account: a})
}

// osCategoryNames are the groups of OS types in the order of their list.
func osCategoryNames() []string {
	return []string{"Ubuntu", "Debian", "Fedora", "CentOS", "Rocky Linux", "AlmaLinux", "Oracle", "RedHat", "SUSE", "Windows", "Other"}
}

func (s *Server) seedOSTypes(rows []object) {
	byName := map[string]*osCategory{}
	for _, name := range osCategoryNames() {
		byName[name] = s.osCategories.insert(&osCategory{base: s.seedBase("oscategory/" + name), name: name})
	}
	for _, o := range rows {
		s.osTypes.insert(&osType{base: s.seedBase("ostype/" + o.str("description")), description: o.str("description"), category: byName[o.str("category")]})
	}
}

func (s *Server) seedOfferings(f *seedFile) {
	for _, kind := range []struct {
		table *table[*offering]
		rows  []object
	}{{s.serviceOfferings, f.ServiceOfferings}, {s.diskOfferings, f.DiskOfferings}, {s.networkOfferings, f.NetworkOfferings}, {s.vpcOfferings, f.VPCOfferings}} {
		seen := map[string]int{}
		for _, o := range kind.rows {
			name := kind.table.kind + "/" + o.str("name")
			if n := seen[name]; n > 0 {
				name = fmt.Sprintf("%s#%d", name, n)
			}
			seen[kind.table.kind+"/"+o.str("name")]++
			kind.table.insert(&offering{base: s.seedBase(name), name: o.str("name"), attrs: o, disk: s.ids.uuid()})
		}
	}
}

// seedZones makes zones with a pod, clusters, hosts, an image store and a physical network each.
func (s *Server) seedZones(rows, hosts []object) {
	for _, o := range rows {
		z := s.zones.insert(&zone{base: s.seedBase("zone/" + o.str("name")), name: o.str("name"), allocation: "Enabled", attrs: o, token: s.ids.uuid()})
		p := s.pods.insert(&pod{base: s.newBase(), name: z.name + "-pod", zone: z})
		s.imageStores.insert(&imageStore{base: s.newBase(), name: z.name + "-sec", zone: z})
		s.physicalNetworks.insert(&physicalNetwork{base: s.newBase(), name: z.name + "-pnet", zone: z})
		clusters := map[string]*cluster{}
		for i, h := range hosts {
			if h.str("zonename") != z.name {
				continue
			}
			name := h.str("clustername")
			if clusters[name] == nil {
				clusters[name] = s.clusters.insert(&cluster{base: s.newBase(), name: name, zone: z, pod: p, hypervisor: h.str("hypervisor")})
			}
			s.hosts.insert(&host{base: s.newBase(), name: h.str("name"), zone: z, cluster: clusters[name], hypervisor: h.str("hypervisor"),
				address: fmt.Sprintf("172.16.15.%d", 10+i), state: "Up", resource: "Enabled", attrs: h})
		}
	}
}

// demoZones are a zone of each hypervisor.
func demoZones(like object) []object {
	var out []object
	for _, name := range []string{"zone-kvm", "zone-vmware", "zone-xenserver"} {
		out = append(out, like.replace("name", name))
	}
	return out
}

func demoHosts(like object) []object {
	var out []object
	for _, z := range [][2]string{{"zone-kvm", "KVM"}, {"zone-vmware", "VMware"}, {"zone-xenserver", "XenServer"}} {
		for i := range 2 {
			out = append(out, like.replace("memorytotal", int64(512*gib)).replace("cpunumber", int64(128)).replace("zonename", z[0]).replace("hypervisor", z[1]).replace("clustername", z[0]+"-c0").replace("name", fmt.Sprintf("%s-host%d", z[0], i+1)))
		}
	}
	return out
}
