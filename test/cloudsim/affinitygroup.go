package cloudsim

import (
	"fmt"
	"slices"
	"strings"
)

// affinityGroup says how machines are to be spread over hosts.
type affinityGroup struct {
	base
	owner             *account
	name, kind, about string
}

// affinityTypes are the types in the order of a refusal; the dedication is for admins.
func affinityTypes() []string {
	return []string{"non-strict host affinity", "host affinity", "host anti-affinity", "ExplicitDedication", "non-strict host anti-affinity"}
}

func listAffinityGroupTypes(c *call) (object, error) {
	return pageOf(c, "affinityGroupType", affinityTypes(), func(t string) object { return obj("type", t) })
}

func createAffinityGroup(c *call) (*work, error) {
	owner, err := c.ownerOf()
	if err != nil {
		return nil, err
	}
	kind := c.str("type")
	switch {
	case !contains(affinityTypes(), kind):
		return nil, invalid("Unable to create affinity group, invalid affinity group type: %s. Valid values are %s", kind, strings.Join(affinityTypes(), ","))
	case kind == "ExplicitDedication" && !c.admin():
		return nil, denied("Cannot create the affinity group")
	}
	if c.affinityNamed(owner, c.str("name")) != nil {
		return nil, invalid("Unable to create affinity group, a group with name %s already exists.", c.str("name"))
	}
	g := c.affinityGroups.insert(&affinityGroup{base: c.newBase(), owner: owner, name: c.str("name"), kind: kind, about: c.str("description")})
	return &work{created: g.id, instanceType: "AffinityGroup", instanceID: g.id, run: func() (object, error) { return obj("affinitygroup", c.affinityGroupObject(g)), nil }}, nil
}

func (c *call) affinityGroupObject(g *affinityGroup) object {
	o := obj("id", g.id, "name", g.name).text("description", g.about)
	o = append(o, c.ownerFields(g.owner, "account")...)
	o = append(append(o, c.domainFirst(g.owner)...), obj("type", g.kind)...)
	if ids := c.membersOf(g); len(ids) > 0 {
		o = o.with("virtualmachineIds", ids)
	}
	return o
}

// membersOf are the ids of the machines in a group.
func (s *Server) membersOf(g *affinityGroup) []string {
	var ids []string
	for _, m := range s.machines.all(func(m *machine) bool { return contains(m.affinity, g) }) {
		ids = append(ids, m.id)
	}
	return ids
}

// readAffinity finds the affinity groups of a call, by id or by name.
func (c *call) readAffinity(d *deployment) error {
	groups, byID := referAll(c, c.affinityGroups, "affinitygroupids")
	names := c.list("affinitygroupnames")
	for _, g := range groups {
		if g.owner != d.m.owner {
			return denied("%s does not have permission to operate with resource %s", c.accountText(), g.printed())
		}
	}
	if byID && len(names) > 0 {
		return invalid("affinitygroupids parameter is mutually exclusive with affinitygroupnames parameter")
	}
	for _, name := range names {
		g := c.affinityNamed(d.m.owner, name)
		if g == nil {
			return invalid("Unable to find affinity group by name %s", name)
		}
		groups = append(groups, g)
	}
	d.m.affinity = groups
	return nil
}

func (s *Server) affinityNamed(owner *account, name string) *affinityGroup {
	for _, g := range s.affinityGroups.rows {
		if g.owner == owner && strings.EqualFold(g.name, name) {
			return g
		}
	}
	return nil
}

func (g *affinityGroup) printed() string {
	return fmt.Sprintf(`AffinityGroup {"id":%d,"name":%s,"uuid":%q}`, g.db, quoteJSON(g.name), g.id)
}

func listAffinityGroups(c *call) (object, error) {
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	wanted, byID := refer(c, c.affinityGroups, "id")
	m, byMachine := refer(c, c.machines, "virtualmachineid")
	rows := c.affinityGroups.all(func(g *affinityGroup) bool {
		switch {
		case !owner(g.owner), byID && g != wanted, c.has("name") && !strings.EqualFold(g.name, c.str("name")), c.has("type") && g.kind != c.str("type"):
			return false
		case byMachine && (m == nil || !contains(m.affinity, g)):
			return false
		}
		return containsFold(g.name, c.str("keyword"))
	})
	return pageOf(c, "affinitygroup", rows, c.affinityGroupObject)
}

// deleteAffinityGroup forgets a group for good.
func deleteAffinityGroup(c *call) (*work, error) {
	g, byID := refer(c, c.affinityGroups, "id")
	if byID && g != nil {
		if err := c.mayUse(g.owner); err != nil {
			return nil, err
		}
	}
	return &work{run: func() (object, error) {
		for _, other := range c.affinityGroups.rows {
			if !byID && other.owner == c.acct && strings.EqualFold(other.name, c.str("name")) {
				g = other
			}
		}
		if g == nil {
			return nil, invalid("Unable to find affinity group %s", c.str("name"))
		}
		for _, m := range c.machines.rows {
			m.affinity = slices.DeleteFunc(m.affinity, func(o *affinityGroup) bool { return o == g })
		}
		c.affinityGroups.drop(g)
		return success(), nil
	}}, nil
}
