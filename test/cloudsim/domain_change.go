package cloudsim

import "strings"

func createDomain(c *call) (object, error) {
	parent, ok := refer(c, c.domains, "parentdomainid")
	if !ok || parent == nil {
		parent = c.domains.rows[0]
	}
	if err := c.mayUseDomain(parent); err != nil {
		return nil, err
	}
	name := c.str("name")
	if name == "" || strings.Contains(name, "/") {
		return nil, invalid("Domain name must not contain '/'")
	}
	if c.domainByPath(parent.path()+"/"+name) != nil {
		return nil, invalid("Domain with name %s already exists for the parent id=%s", name, parent.id)
	}
	d := c.domains.insert(&domain{base: c.newBase(), name: name, parent: parent, state: "Active", limits: map[int]int64{}})
	return obj("domain", c.domainObject(d)), nil
}

func updateDomain(c *call) (object, error) {
	d, _ := refer(c, c.domains, "id")
	if d == nil || !d.live() || d.parent == nil {
		return nil, invalid("Unable to find domain by id")
	}
	if err := c.mayUseDomain(d); err != nil {
		return nil, err
	}
	if v := c.str("name"); v != "" {
		if other := c.domainByPath(d.parent.path() + "/" + v); other != nil && other != d {
			return nil, invalid("Failed to update domain id=%s; domain with name %s already exists in the system", d.id, v)
		}
		d.name = v
	}
	return obj("domain", c.domainObject(d)), nil
}

func deleteDomain(c *call) (*work, error) {
	d, _ := refer(c, c.domains, "id")
	if d == nil || !d.live() {
		return nil, invalid("Unable to find UUID for id [%s] of type [Domain]", c.str("id"))
	}
	if err := c.mayUseDomain(d); err != nil {
		return nil, err
	}
	return &work{instanceType: "Domain", instanceID: d.id, run: func() (object, error) {
		if d.parent == nil {
			return nil, denied("Can't delete ROOT domain")
		}
		held := c.accounts.all(func(a *account) bool { return d.contains(a.domain) })
		below := c.domains.all(func(x *domain) bool { return x != d && d.contains(x) })
		if !c.flag("cleanup") && len(held)+len(below) > 0 {
			return nil, internal("Delete domain failed due to one or more resources are still in the domain")
		}
		for _, a := range held {
			c.wipe(a)
			a.removed = c.now()
		}
		for _, x := range append(below, d) {
			x.removed = c.now()
		}
		return success(), nil
	}}, nil
}
