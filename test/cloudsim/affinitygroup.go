package cloudsim

import (
	"fmt"
	"slices"
	"strings"
	"time"
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

// listAffinityGroupTypes shows the types that users may create, in the order in which they are asked where a machine may go.
func listAffinityGroupTypes(c *call) (object, error) {
	types := []string{"host anti-affinity", "host affinity", "non-strict host anti-affinity", "non-strict host affinity"}
	return pageOf(c, "affinityGroupType", types, func(t string) object { return obj("type", t) })
}

func createAffinityGroup(c *call) (*work, error) {
	owner, err := c.finalOwner()
	if err != nil {
		return nil, err
	}
	kind := c.str("type")
	switch {
	case !contains(affinityTypes(), kind):
		return nil, invalid("Unable to create affinity group, invalid affinity group type: %s. Valid values are %s", kind, strings.Join(affinityTypes(), ","))
	case kind == "ExplicitDedication" && !c.root():
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
	owner, err := c.finalOwner()
	if err != nil {
		return nil, err
	}
	g, byID := refer(c, c.affinityGroups, "id")
	if byID && g != nil {
		if err := c.mayUse(g.owner); err != nil {
			return nil, err
		}
	}
	return &work{run: func() (object, error) {
		switch {
		case !byID && !c.has("name"):
			return nil, invalid("Either the affinity group Id or group name must be specified to delete the group")
		case !byID:
			g = c.affinityNamed(owner, c.str("name"))
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

// updateVMAffinityGroup gives a stopped machine other affinity groups.
func updateVMAffinityGroup(c *call) (*work, error) {
	m, err := c.ownMachine()
	if err != nil {
		return nil, err
	}
	groups, _ := referAll(c, c.affinityGroups, "affinitygroupids")
	for _, g := range groups {
		if c.mayUse(g.owner) != nil {
			return nil, denied("%s does not have permission to operate with resource %s", c.accountText(), g.printed())
		}
	}
	return &work{instanceType: "VirtualMachine", instanceID: m.id, takes: 500 * time.Millisecond, run: func() (object, error) {
		switch byName := c.has("affinitygroupnames"); {
		case byName && c.has("affinitygroupids"):
			return nil, invalid("affinitygroupids parameter is mutually exclusive with affinitygroupnames parameter")
		case !byName && !c.has("affinitygroupids"):
			return nil, invalid("affinitygroupids parameter or affinitygroupnames parameter must be given")
		}
		for _, name := range c.list("affinitygroupnames") {
			g := c.affinityNamed(m.owner, name)
			if g == nil {
				return nil, invalid("Unable to find group by name %s for account %d", name, m.owner.db)
			}
			groups = append(groups, g)
		}
		if m.state != machineStopped {
			return nil, invalid("Unable update affinity groups of the virtual machine %s in state %s; make sure the virtual machine is stopped and not in an error state before updating.", m.printed(c.Server), m.state)
		}
		for _, g := range groups {
			if g.owner != m.owner {
				return nil, denied("Affinity Group %s does not belong to the VM's account", g.printed())
			}
		}
		m.affinity = groups
		return obj("virtualmachine", c.machineParts(m, sections{"affgrp": true})), nil
	}}, nil
}
