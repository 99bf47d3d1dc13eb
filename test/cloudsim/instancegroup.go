package cloudsim

import "strings"

// instanceGroup is a name under which machines of an account are put together.
type instanceGroup struct {
	base
	owner *account
	name  string
}

// groupNamed finds or makes the group of a name; nil for no name.
func (s *Server) groupNamed(owner *account, name string) *instanceGroup {
	if name == "" {
		return nil
	}
	for _, g := range s.instanceGroups.rows {
		if g.live() && g.owner == owner && strings.EqualFold(g.name, name) {
			return g
		}
	}
	return s.instanceGroups.insert(&instanceGroup{base: s.newBase(), owner: owner, name: name})
}

func listInstanceGroups(c *call) (object, error) {
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	wanted := refersTo(c, c.instanceGroups, "id")
	rows := c.instanceGroups.all(func(g *instanceGroup) bool {
		return owner(g.owner) && wanted(g) && allOf(c.text("name", g.name), c.keyword(g.name))
	})
	return pageOf(c, "instancegroup", rows, func(g *instanceGroup) object {
		o := obj("id", g.id, "name", g.name, "created", stamp(g.created))
		o = append(o, c.ownerFields(g.owner, "account")...)
		return append(append(o, c.domainFirst(g.owner)...), obj("hasannotations", false)...)
	})
}
