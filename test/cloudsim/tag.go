package cloudsim

import (
	"maps"
	"slices"
	"strings"
)

// maxTagKey is how many characters of a key are kept and compared.
const maxTagKey = 255

// tag is a key and value on a resource.
type tag struct {
	base
	key, value   string
	resourceType string
	resource     string
	owner        *account
	customer     string
}

// tagTypes are the resource types that the server knows, and whether they take tags.
func tagTypes() map[string]bool {
	out := map[string]bool{}
	for _, name := range []string{"UserVm", "VMInstance", "Template", "ISO", "Volume", "Snapshot", "SnapshotPolicy", "VMSnapshot", "Backup", "Network", "NetworkACL",
		"LoadBalancer", "PortForwardingRule", "FirewallRule", "PublicIpAddress", "SecurityGroup", "SecurityGroupRule", "StaticRoute", "RemoteAccessVpn",
		"Vpc", "VpcOffering", "Project", "Account", "User", "NetworkACLList", "VnfTemplate"} {
		out[name] = true
	}
	for _, name := range []string{"Nic", "Zone", "ServiceOffering", "DiskOffering", "NetworkOffering", "DomainRouter", "Storage", "Host", "Cluster", "Pod", "Domain", "ImageStore", "AutoScaleVmProfile", "AutoScaleVmGroup", "LBStickinessPolicy", "LBHealthCheckPolicy", "GuestOs", "ManagementServer", "ObjectStore", "Bucket", "VpcGateway", "PhysicalNetwork"} {
		out[name] = false
	}
	return out
}

// tagType returns the server's spelling of a type, "" for an unknown one.
func tagType(name string) (spelled string, taggable bool) {
	for known, ok := range tagTypes() {
		if strings.EqualFold(known, name) {
			return known, ok
		}
	}
	return "", false
}

// resourceOwner finds who owns a resource that can be tagged; ok is false when there is none of that id.
func (s *Server) resourceOwner(kind, id string) (owner *account, ok bool) {
	for _, finder := range s.taggable(kind) {
		if a := finder(id); a != nil {
			return a, true
		}
	}
	return nil, false
}

// taggable lists how resources of a type are looked up; other nouns add themselves here.
func (s *Server) taggable(kind string) []func(id string) *account {
	switch kind {
	case "Template", "ISO":
		return []func(string) *account{func(id string) *account {
			if t := resolveRow(s.templates, id); t != nil && t.live() {
				return t.owner
			}
			return nil
		}}
	case "Project":
		return []func(string) *account{func(id string) *account {
			if p := resolveRow(s.projects, id); p != nil && p.live() {
				return p.account
			}
			return nil
		}}
	case "Account":
		return []func(string) *account{func(id string) *account {
			if a := resolveRow(s.accounts, id); a != nil && a.live() {
				return a
			}
			return nil
		}}
	case "User":
		return []func(string) *account{func(id string) *account {
			if u := resolveRow(s.users, id); u != nil && u.live() {
				return u.account
			}
			return nil
		}}
	}
	return append(s.taggableMachines(kind), s.taggableNetworks(kind)...)
}

func createTags(c *call) (*work, error) {
	return &work{run: func() (object, error) {
		kind, err := c.taggedType()
		if err != nil {
			return nil, err
		}
		pairs, order, err := c.tagPairs()
		if err != nil {
			return nil, err
		}
		made, err := c.makeTags(kind, pairs, order)
		if err != nil {
			return nil, err
		}
		for _, t := range made {
			c.tags.insert(t)
		}
		return success(), nil
	}}, nil
}

func (c *call) taggedType() (string, error) {
	kind, ok := tagType(c.str("resourcetype"))
	switch {
	case kind == "":
		return "", invalid("Invalid resource type %s", c.str("resourcetype"))
	case !ok:
		return "", invalid("The resource type %s doesn't support resource tags", kind)
	}
	return kind, nil
}

// tagPairs reads the tags of a call; a value that was not sent breaks the server.
func (c *call) tagPairs() (map[string]string, []string, error) {
	pairs := map[string]string{}
	var order []string
	entries := c.maps["tags"]
	for _, i := range slices.Sorted(maps.Keys(entries)) {
		key := entries[i]["key"]
		value, sent := entries[i]["value"]
		if !sent {
			return nil, nil, &apiError{code: 530, cs: csPlain, text: "Command failed due to Internal Server Error"}
		}
		if have, dup := pairs[key]; dup {
			return nil, nil, internal("Duplicate key %s (attempted merging values %s and %s)", key, have, value)
		}
		pairs[key] = value
		order = append(order, key)
	}
	return pairs, order, nil
}

// makeTags builds the tags of one call; one that cannot be made undoes all.
func (c *call) makeTags(kind string, pairs map[string]string, order []string) ([]*tag, error) {
	var made []*tag
	for _, id := range c.list("resourceids") {
		owner, ok := c.resourceOwner(kind, id)
		if !ok {
			return nil, invalid("Unable to find resource by uuid %s and type %s", id, kind)
		}
		if c.mayUse(owner) != nil {
			return nil, denied(noPermission)
		}
		for _, key := range order {
			if pairs[key] == "" {
				return nil, invalid("Value for the key %s is either null or empty", key)
			}
			if len([]rune(key)) > maxTagKey || c.hasTag(kind, id, key) {
				return nil, internal("tag %s already on %s with id %s", key, kind, id)
			}
			made = append(made, &tag{base: c.newBase(), key: key, value: pairs[key], resourceType: kind, resource: strings.ToLower(id), owner: owner, customer: c.str("customer")})
		}
	}
	return made, nil
}

// hasTag says whether a resource carries a key; the database ignores case and compares what it keeps of a key.
func (s *Server) hasTag(kind, id, key string) bool {
	for _, t := range s.tagsOn(kind, id) {
		if strings.EqualFold(t.key, key) {
			return true
		}
	}
	return false
}

// tagsOn lists the tags of a resource, oldest first.
func (s *Server) tagsOn(kind, id string) []*tag {
	id = strings.ToLower(id)
	return s.tags.all(func(t *tag) bool { return t.resourceType == kind && t.resource == id })
}

func deleteTags(c *call) (*work, error) {
	return &work{run: func() (object, error) {
		kind, err := c.taggedType()
		if err != nil {
			return nil, err
		}
		var gone []*tag
		for _, id := range c.list("resourceids") {
			for _, t := range c.tagsOn(kind, id) {
				if c.mayUse(t.owner) != nil {
					return nil, denied(noPermission)
				}
				if c.namesTag(t) {
					gone = append(gone, t)
				}
			}
		}
		if len(gone) == 0 {
			return nil, wrapped(530, "Failed to delete tags")
		}
		for _, t := range gone {
			c.tags.drop(t)
		}
		return success(), nil
	}}, nil
}

// namesTag says whether a call that deletes tags means this one; without any tags it means all.
func (c *call) namesTag(t *tag) bool {
	entries := c.maps["tags"]
	for _, e := range entries {
		value, sent := e["value"]
		if strings.EqualFold(e["key"], t.key) && (!sent || strings.EqualFold(value, t.value)) {
			return true
		}
	}
	return len(entries) == 0
}

// dropTags removes the tags of a resource that is gone.
func (s *Server) dropTags(kind, id string) {
	for _, t := range s.tagsOn(kind, id) {
		s.tags.drop(t)
	}
}

func listTags(c *call) (object, error) {
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	kind := c.str("resourcetype")
	rows := c.tags.all(func(t *tag) bool {
		switch {
		case !owner(t.owner):
			return false
		case c.has("resourceid") && !strings.EqualFold(t.resource, c.str("resourceid")):
			return false
		case c.has("resourcetype") && !strings.EqualFold(t.resourceType, kind):
			return false
		case c.has("key") && !strings.EqualFold(t.key, c.str("key")), c.has("value") && !strings.EqualFold(t.value, c.str("value")):
			return false
		case c.has("customer") && t.customer != c.str("customer"):
			return false
		}
		return c.str("keyword") == "" || containsFold(t.key, c.str("keyword")) || containsFold(t.value, c.str("keyword"))
	})
	return pageOf(c, "tag", rows, func(t *tag) object {
		return tagObject(t, c.ownerFields(t.owner, "account")).with("domainpath", t.owner.domain.path())
	})
}

func tagObject(t *tag, owner object) object {
	o := obj("key", t.key, "value", t.value, "resourcetype", t.resourceType, "resourceid", t.resource)
	o = append(o, owner...)
	return append(o, obj("domainid", t.owner.domain.id, "domain", t.owner.domain.name)...).text("customer", t.customer)
}

// tagObjects shows the tags of a resource inside its row. One reply of the server prints the path of the domain on the first of them.
func (c *call) tagObjects(kind, id string, pathOnFirst bool) []object {
	out := []object{}
	for i, t := range c.tagsOn(kind, id) {
		o := tagObject(t, obj("account", t.owner.name))
		if i == 0 && pathOnFirst {
			o = o.with("domainpath", t.owner.domain.path())
		}
		out = append(out, o)
	}
	return out
}

// shortTags shows no more of the tags of a resource than key and value, as networks, addresses and rules do.
func (s *Server) shortTags(kind, id string) []object {
	out := []object{}
	for _, t := range s.tagsOn(kind, id) {
		out = append(out, obj("key", t.key, "value", t.value))
	}
	return out
}

// tagFilter reads the tags that a list is filtered by: any of them is enough, keys and values count whatever their case.
func (c *call) tagFilter(kind string) (func(id string) bool, error) {
	entries := c.maps["tags"]
	if len(entries) == 0 {
		return func(string) bool { return true }, nil
	}
	for _, i := range slices.Sorted(maps.Keys(entries)) {
		if _, sent := entries[i]["value"]; !sent {
			return nil, invalid("No value is passed in for key %s", entries[i]["key"])
		}
	}
	return func(id string) bool {
		for _, t := range c.tagsOn(kind, id) {
			for _, e := range entries {
				if _, keyed := e["key"]; keyed && strings.EqualFold(e["key"], t.key) && strings.EqualFold(e["value"], t.value) {
					return true
				}
			}
		}
		return false
	}, nil
}
