package cloudsim

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed seed/history.json
var historyJSON []byte

// history is what earlier use had left on the recording server before its transcripts began.
type history struct {
	Events map[string]int `json:"events"` // by account
	// Templates of an account that were begun as uploads or downloads.
	Templates []struct {
		Account  string `json:"account"`
		Name     string `json:"name"`
		Text     string `json:"displaytext"`
		OSType   string `json:"ostype"`
		Zone     string `json:"zone"`
		Checksum string `json:"checksum"`
		URL      string `json:"url"`
	} `json:"templates"`
	Networks []struct {
		Account string `json:"account"`
		Name    string `json:"name"`
		Zone    string `json:"zone"`
	} `json:"networks"`
	// Shared are networks that domains share.
	Shared []sharedNetwork `json:"shared"`
	// Addresses that were in use by the server itself or by others, by zone.
	Addresses map[string][]string `json:"addresses"`
	// Fresh are the names of accounts that were made anew for a transcript, by caller.
	Fresh map[string]string `json:"fresh"`
	// AddressIDs are the ids of public addresses that transcripts write out.
	AddressIDs map[string]string `json:"addressids"`
	// Tags whose resources are gone.
	Tags []struct {
		Account string `json:"account"`
		Type    string `json:"type"`
		Key     string `json:"key"`
		Value   string `json:"value"`
	} `json:"tags"`
	// Jobs that deleted templates and never ended, by account.
	Jobs map[string]int `json:"jobs"`
	// Kubernetes are clusters by account and zone.
	Kubernetes []struct {
		Account string `json:"account"`
		Zone    string `json:"zone"`
		Count   int    `json:"count"`
	} `json:"kubernetes"`
	// Limits that an account was given for some transcripts, by kind.
	Limits map[string]map[string]int64 `json:"limits"`
}

func (s *Server) seedHistory(ranges []object) error {
	var h history
	if err := json.Unmarshal(historyJSON, &h); err != nil {
		return fmt.Errorf("reading the history: %w", err)
	}
	s.seedRanges(ranges, h.AddressIDs)
	s.nameFresh(h.Fresh)
	for _, a := range s.accounts.rows {
		for range h.Events[a.name] {
			s.record(a, nil, "VM.DESTROY", "destroying vm", "VirtualMachine", s.ids.uuid(), "earlier", "Scheduled")
		}
	}
	for _, t := range h.Templates {
		s.seedTemplate(s.findAccount(t.Account, s.domains.rows[0]), obj("name", t.Name, "displaytext", t.Text, "format", "VHD", "hypervisor", "Simulator",
			"ostypename", t.OSType, "zonename", t.Zone, "arch", "x86_64", "url", t.URL, "checksum", t.Checksum))
	}
	for _, n := range h.Networks {
		s.seedNetwork(s.findAccount(n.Account, s.domains.rows[0]), n.Name, n.Zone)
	}
	for _, n := range h.Shared {
		s.seedShared(n)
	}
	s.seedUsedAddresses(&h)
	s.seedLimits(&h)
	s.seedLeftOvers(&h)
	return nil
}

// seedLeftOvers makes tags, jobs and Kubernetes clusters.
func (s *Server) seedLeftOvers(h *history) {
	root := s.domains.rows[0]
	for _, t := range h.Tags {
		s.tags.insert(&tag{base: s.newBase(), key: t.Key, value: t.Value, resourceType: t.Type, resource: s.ids.uuid(), owner: s.findAccount(t.Account, root)})
	}
	for _, a := range s.accounts.rows {
		for range h.Jobs[a.name] {
			s.jobs.insert(&job{base: s.newBase(), user: s.users.all(func(u *user) bool { return u.account == a })[0], acct: a, command: "deleteTemplate",
				class: "org.apache.cloudstack.api.command.user.template.DeleteTemplateCmd", instanceType: "Template", instanceID: s.ids.uuid(), work: &work{}})
		}
	}
	for _, k := range h.Kubernetes {
		for _, z := range s.zones.rows {
			for i := range k.Count {
				if z.name == k.Zone {
					name := fmt.Sprintf("earlier%d", i)
					s.kubernetesClusters.insert(&kubernetesCluster{base: s.newBase(), owner: s.findAccount(k.Account, root), name: name, about: name, zone: z, network: s.earlierNetwork(k.Account), control: 1})
				}
			}
		}
	}
}

// earlierNetwork is a network that an account had before, nil for none.
func (s *Server) earlierNetwork(accountName string) *network {
	for _, n := range s.networks.rows {
		if n.owner != nil && n.owner.name == accountName {
			return n
		}
	}
	return nil
}

func (s *Server) seedLimits(h *history) {
	for _, u := range s.users.rows {
		for _, l := range limitOrder() {
			if n, ok := h.Limits[u.caller][limitKinds()[l].name]; ok {
				u.account.limits[int(l)] = n
			}
		}
	}
}

// nameFresh gives accounts and their users the kind of names that those had which were made anew for a transcript.
func (s *Server) nameFresh(names map[string]string) {
	for _, u := range s.users.rows {
		if name := names[u.username]; name != "" {
			u.caller, u.username, u.account.name = u.username, name, name
		}
	}
}

// seedTemplates makes the templates of the seed, whose rows stand zone by zone.
func (s *Server) seedTemplates(rows []object) {
	for _, o := range rows {
		var have *template
		for _, t := range s.templates.rows {
			if t.name == o.str("name") && t.owner.name == "system" {
				have = t
			}
		}
		if have != nil {
			s.seedCopy(have, o)
			continue
		}
		s.seedTemplate(s.accounts.rows[0], o)
	}
}

func (s *Server) seedTemplate(owner *account, o object) {
	yes := func(name string) bool { b, _ := o.get(name).(bool); return b }
	t := &template{base: s.seedBase("template/" + o.str("name")), owner: owner, name: o.str("name"), text: o.str("displaytext"), format: o.str("format"),
		hypervisor: o.str("hypervisor"), kind: o.str("templatetype"), arch: o.str("arch"), url: o.str("url"), checksum: o.str("checksum"), public: yes("ispublic"),
		featured: yes("isfeatured"), crossZones: yes("crossZones"), hvm: yes("requireshvm"), details: map[string]string{}}
	for _, os := range s.osTypes.rows {
		if os.description == o.str("ostypename") {
			t.os = os
		}
	}
	s.templates.insert(t)
	t.uniqueName = fmt.Sprintf("%d-%d-%s", t.db, owner.db, s.ids.uuid())
	s.seedCopy(t, o)
}

func (s *Server) seedCopy(t *template, o object) {
	for _, z := range s.zones.rows {
		if z.name != o.str("zonename") {
			continue
		}
		cp := &templateCopy{zone: z, store: s.storeOf(z), base: base{created: s.now()}, state: stateDownloaded, percent: 100, ready: true}
		if size, ok := o.get("size").(int64); ok {
			cp.size, cp.physical, cp.sized = size, size, true
		}
		t.copies = append(t.copies, cp)
		for _, v := range listOf(o.get("downloaddetails")) {
			if strings.EqualFold(v.str("datastoreRole"), "Primary") {
				cp.primary = append(cp.primary, v.str("datastore"), v.str("datastoreId"))
			}
		}
	}
}

func listOf(v any) []object {
	list, _ := v.([]any)
	out := make([]object, 0, len(list))
	for _, e := range list {
		if o, ok := e.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

func (s *Server) seedNetwork(owner *account, name, zoneName string) {
	o := s.defaultNetworkOffering()
	for _, z := range s.zones.rows {
		if z.name == zoneName && o != nil {
			n := &network{owner: owner, name: name, text: name, zone: z, offering: o, state: networkAllocated, router: true, builtin: true}
			n.cidr, n.gateway = z.guests()
			s.insertNetwork(n)
		}
	}
}
