package cloudsim

import (
	"fmt"
	"slices"
	"strings"
)

func listProjects(c *call) (object, error) {
	d, byDomain := refer(c, c.domains, "domainid")
	if err := c.mayUseDomain(d); err != nil {
		return nil, err
	}
	tagged, err := c.tagFilter("Project")
	if err != nil {
		return nil, err
	}
	wanted, byID := refer(c, c.projects, "id")
	rows := c.projects.all(func(p *project) bool {
		switch {
		case !c.seesProject(p, byID), byID && p != wanted, byDomain && p.domain != d && !(c.flag("isrecursive") && d.contains(p.domain)):
			return false
		case c.has("name") && !strings.EqualFold(p.name, c.str("name")), c.has("state") && !strings.EqualFold(p.state, c.str("state")):
			return false
		case c.has("displaytext") && p.text != c.str("displaytext"), c.str("account") != "" && p.owner.name != c.str("account"):
			return false
		}
		return tagged(p.id) && (containsFold(p.name, c.str("keyword")) || containsFold(p.text, c.str("keyword")))
	})
	return pageOf(c, "project", rows, c.projectObject)
}

// seesProject says whether the caller's list holds a project: admins ask for more than their own with listall, an id or a domain.
func (c *call) seesProject(p *project, byID bool) bool {
	wide := byID || c.flag("listall") || c.has("domainid")
	switch {
	case p.member(c.acct):
		return true
	case c.root():
		return wide
	}
	return c.acct.kind == accountDomain && wide && c.acct.domain.contains(p.domain)
}

func (c *call) projectObject(p *project) object {
	o := obj("id", p.id, "name", p.name, "displaytext", p.text, "domainid", p.domain.id, "domain", p.domain.name, "owner", []object{obj("account", p.owner.name)},
		"projectaccountname", p.account.name, "state", p.state, "tags", c.tagObjects("Project", p.id, false))
	have := c.usage(p.account)
	for _, l := range projectLimitOrder() {
		if c.knows(limitKinds()[l].since) {
			o = append(o, counterFields(l, c.limitOf(p.account, l), have[l])...)
		}
	}
	stopped, running := c.machineStates(p.account)
	return append(o, obj("vmstopped", stopped, "vmrunning", running, "created", stamp(p.created))...)
}

func projectLimitOrder() []limit {
	return []limit{limitNetwork, limitVPC, limitCPU, limitMemory, limitGPU, limitPrimary, limitSecondary, limitBucket, limitObjectStorage, limitVM, limitIP,
		limitVolume, limitSnapshot, limitBackup, limitBackupStorage, limitTemplate}
}

func createProject(c *call) (*work, error) {
	if c.has("account") && !c.has("domainid") {
		return nil, invalid("Account name and domain id must be specified together")
	}
	owner, err := c.finalOwner()
	if err != nil {
		return nil, err
	}
	name := c.str("name")
	for _, p := range c.projects.rows {
		if p.live() && p.domain == owner.domain && strings.EqualFold(p.name, name) {
			return nil, invalid("Project with name %s already exists in domain id=%d", name, owner.domain.db)
		}
	}
	if err := c.checkLimit(owner, limitProject, 1, csLimit); err != nil {
		return nil, err
	}
	p := &project{base: c.newBase(), name: name, text: c.str("displaytext"), domain: owner.domain, owner: owner, members: []*account{owner}, state: "Active"}
	if p.text == "" {
		p.text = name
	}
	c.projects.insert(p)
	p.account = c.accounts.insert(&account{base: c.newBase(), name: fmt.Sprintf("PrjAcct-%s-%d", name, owner.domain.db), kind: accountProject, domain: owner.domain,
		role: c.roleOfKind(accountUser), state: "enabled", project: p, limits: map[int]int64{}, details: map[string]string{}})
	c.record(owner, c.user, "PROJECT.CREATE", "creating project. Project Id: "+p.id, "Project", p.id, p.name, "Completed")
	return &work{created: p.id, instanceType: "None", run: func() (object, error) { return obj("project", c.projectObject(p)), nil }}, nil
}

// ownProject finds a live project that the caller may govern: its owner, or an admin above.
func (c *call) ownProject(param string) (*project, error) {
	p, _ := refer(c, c.projects, param)
	switch {
	case p == nil || !p.live():
		return nil, invalid("Unable to find the project by id %s", c.str(param))
	case p.owner == c.acct, c.root(), c.acct.kind == accountDomain && c.acct.domain.contains(p.domain):
		return p, nil
	}
	return nil, denied("Account %s is not authorized to modify the project %s", c.accountText(), p.id)
}

// setProjectState suspends or activates.
func setProjectState(state string) func(*call) (*work, error) {
	return func(c *call) (*work, error) {
		p, err := c.ownProject("id")
		if err != nil {
			return nil, err
		}
		return &work{run: func() (object, error) {
			p.state = state
			return obj("project", c.projectObject(p)), nil
		}}, nil
	}
}

func updateProject(c *call) (*work, error) {
	p, err := c.ownProject("id")
	if err != nil {
		return nil, err
	}
	return &work{run: func() (object, error) {
		for name, to := range map[string]*string{"name": &p.name, "displaytext": &p.text} {
			if v := c.str(name); v != "" {
				*to = v
			}
		}
		if a := c.findAccount(c.str("account"), p.domain); a != nil && p.member(a) {
			p.owner = a
		}
		return obj("project", c.projectObject(p)), nil
	}}, nil
}

func deleteProject(c *call) (*work, error) {
	p, err := c.ownProject("id")
	if err != nil {
		return nil, err
	}
	return &work{run: func() (object, error) {
		if n := c.machinesOf(p.account); n > 0 && !c.flag("cleanup") {
			return nil, internal("Can't delete the project yet because it has %d VirtualMachine to clean up", n)
		}
		c.wipe(p.account)
		p.removed, p.account.removed = c.now(), c.now()
		return success(), nil
	}}, nil
}

func addAccountToProject(c *call) (*work, error) {
	p, err := c.ownProject("projectid")
	if err != nil {
		return nil, err
	}
	return &work{instanceType: "Project", instanceID: p.id, run: func() (object, error) {
		a := c.findAccount(c.str("account"), p.domain)
		if a == nil {
			return nil, invalid("Unable to find account name=%s in domain id=%s", c.str("account"), p.domain.id)
		}
		if !p.member(a) {
			p.members = append(p.members, a)
		}
		return success(), nil
	}}, nil
}

func deleteAccountFromProject(c *call) (*work, error) {
	p, err := c.ownProject("projectid")
	if err != nil {
		return nil, err
	}
	return &work{instanceType: "Project", instanceID: p.id, run: func() (object, error) {
		a := c.findAccount(c.str("account"), p.domain)
		switch {
		case a == nil || !p.member(a):
			return nil, invalid("Account %s is not assigned to the project with specified id", c.str("account"))
		case a == p.owner:
			return nil, invalid("Unable to delete account %s from the project id=%s as the account is the owner of the project", a.name, p.id)
		}
		p.members = slices.DeleteFunc(p.members, same(a))
		return success(), nil
	}}, nil
}

func listProjectAccounts(c *call) (object, error) {
	p, _ := refer(c, c.projects, "projectid")
	var rows []*account
	if p != nil && p.live() {
		rows = p.members
	}
	return pageOf(c, "projectaccount", rows, func(a *account) object {
		part := "Regular"
		if a == p.owner {
			part = "Admin"
		}
		users := []object{}
		for _, u := range c.users.all(func(u *user) bool { return u.account == a }) {
			users = append(users, c.userObject(u, false))
		}
		return obj("projectid", p.id, "project", p.name, "accountid", a.id, "account", a.name, "accounttype", a.kind, "role", part, "domainid", a.domain.id, "domain", a.domain.name, "user", users)
	})
}
