package cloudsim

import "strings"

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
	for _, g := range c.affinityGroups.rows {
		if g.owner == owner && strings.EqualFold(g.name, c.str("name")) {
			return nil, invalid("Unable to create affinity group, a group with name %s already exists.", c.str("name"))
		}
	}
	g := c.affinityGroups.insert(&affinityGroup{base: c.newBase(), owner: owner, name: c.str("name"), kind: kind, about: c.str("description")})
	return &work{created: g.id, instanceType: "AffinityGroup", instanceID: g.id, run: func() (object, error) { return obj("affinitygroup", c.affinityGroupObject(g)), nil }}, nil
}

func (c *call) affinityGroupObject(g *affinityGroup) object {
	o := obj("id", g.id, "name", g.name).text("description", g.about)
	o = append(o, c.ownerFields(g.owner, "account")...)
	return append(append(o, c.domainFirst(g.owner)...), obj("type", g.kind)...)
}

func listAffinityGroups(c *call) (object, error) {
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	wanted, byID := refer(c, c.affinityGroups, "id")
	rows := c.affinityGroups.all(func(g *affinityGroup) bool {
		switch {
		case !owner(g.owner), byID && g != wanted, c.has("name") && !strings.EqualFold(g.name, c.str("name")), c.has("type") && g.kind != c.str("type"):
			return false
		case c.has("virtualmachineid"):
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
		c.affinityGroups.drop(g)
		return success(), nil
	}}, nil
}
