package cloudsim

import (
	"slices"
	"strings"
)

func listRoles(c *call) (object, error) {
	wanted, byID := refer(c, c.roles, "id")
	rows := c.roles.all(func(r *role) bool {
		switch {
		case byID && r != wanted, c.has("name") && !strings.EqualFold(r.name, c.str("name")), c.has("type") && !strings.EqualFold(r.kind, c.str("type")):
			return false
		}
		return containsFold(r.name, c.str("keyword"))
	})
	return pageOf(c, "role", rows, roleObject)
}

func roleObject(r *role) object {
	return obj("type", r.kind, "state", "enabled", "id", r.id, "name", r.name).text("description", r.description).with("isdefault", r.isDefault).with("ispublic", r.isPublic)
}

// createRole makes a role of a type, or a copy of another role with its rules.
func createRole(c *call) (object, error) {
	kind := c.str("type")
	from, copied := refer(c, c.roles, "roleid")
	if copied && from != nil {
		kind = from.kind
	}
	kinds := []string{"Admin", "ResourceAdmin", "DomainAdmin", "User"}
	i := slices.IndexFunc(kinds, func(k string) bool { return strings.EqualFold(k, kind) })
	if i < 0 {
		return nil, badParam("Invalid role type provided")
	}
	for _, r := range c.roles.rows {
		if r.live() && r.name == c.str("name") {
			return nil, internal("Unable to create role, a role with name %s already exists", c.str("name"))
		}
	}
	r := c.roles.insert(&role{base: c.newBase(), name: c.str("name"), kind: kinds[i], description: c.str("description"), isPublic: c.flagOr("ispublic", true)})
	if copied && from != nil {
		r.model = from
		for _, rule := range from.rules {
			cp := *rule
			cp.base, cp.role = c.newBase(), r
			r.rules = append(r.rules, &cp)
		}
	}
	return obj("role", roleObject(r).without("isdefault")), nil
}

func (c *call) ownRole(param string) (*role, error) {
	r, _ := refer(c, c.roles, param)
	switch {
	case r == nil || !r.live():
		return nil, invalid("Invalid role id provided")
	case r.isDefault:
		return nil, denied("Default roles cannot be updated or removed")
	}
	return r, nil
}

func updateRole(c *call) (object, error) {
	r, err := c.ownRole("id")
	if err != nil {
		return nil, err
	}
	for name, to := range map[string]*string{"name": &r.name, "description": &r.description} {
		if v := c.str(name); v != "" {
			*to = v
		}
	}
	return obj("role", roleObject(r).without("isdefault")), nil
}

func deleteRole(c *call) (object, error) {
	r, err := c.ownRole("id")
	if err != nil {
		return nil, err
	}
	if held := c.accounts.all(func(a *account) bool { return a.role == r }); len(held) > 0 {
		return nil, denied("Found accounts that have role in use, won't allow to delete role")
	}
	r.removed = c.now()
	return success(), nil
}

func listRolePermissions(c *call) (object, error) {
	r, ok := refer(c, c.roles, "roleid")
	var rows []*rule
	if ok && r != nil {
		rows = r.rules
	}
	return whole("rolepermission", rows, ruleObject)
}

func ruleObject(r *rule) object {
	permission := "deny"
	if r.allow {
		permission = "allow"
	}
	return obj("roleid", r.role.id, "rolename", r.role.name, "id", r.id, "rule", r.pattern, "permission", permission).text("description", r.description)
}

func createRolePermission(c *call) (object, error) {
	r, err := c.ownRole("roleid")
	if err != nil {
		return nil, err
	}
	allow := strings.EqualFold(c.str("permission"), "allow")
	if !allow && !strings.EqualFold(c.str("permission"), "deny") {
		return nil, badParam("Invalid permission type: %s", c.str("permission"))
	}
	rule := &rule{base: c.newBase(), role: r, pattern: c.str("rule"), allow: allow, description: c.str("description")}
	r.rules = append(r.rules, rule)
	c.rules.insert(rule)
	return obj("rolepermission", ruleObject(rule)), nil
}

func deleteRolePermission(c *call) (object, error) {
	rule, _ := refer(c, c.rules, "id")
	if rule == nil {
		return nil, invalid("Invalid role permission id provided")
	}
	rule.role.rules = slices.DeleteFunc(rule.role.rules, same(rule))
	c.rules.drop(rule)
	return success(), nil
}

// same matches one value.
func same[T comparable](v T) func(T) bool { return func(o T) bool { return o == v } }
