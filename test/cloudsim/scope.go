package cloudsim

import "strings"

// projectsAll is the project id that stands for all projects of the caller.
const projectsAll = "-1"

// owns says whether rows of an account are wanted.
type owns func(*account) bool

// scopeRule says how a list finds out whose rows to show. The lists of the server differ.
type scopeRule int

const (
	// scopeOwn is the rule of most lists: the caller's own rows unless more is asked for.
	scopeOwn scopeRule = iota
	// scopeDomain shows admins what their own domain holds without being asked, and project rows beside own ones.
	scopeDomain
)

// scopeOf turns listall, isrecursive, domainid, account, projectid and id into a filter on owners.
func (c *call) scopeOf(rule scopeRule) (owns, error) {
	d, _ := refer(c, c.domains, "domainid")
	if err := c.mayUseDomain(d); err != nil {
		return nil, err
	}
	if c.has("projectid") {
		return c.projectScope(rule)
	}
	if c.str("account") != "" && d != nil {
		a, err := c.accountIn(c.str("account"), d)
		if err != nil {
			return nil, err
		}
		return func(o *account) bool { return o == a }, nil
	}
	if d != nil && c.admin() {
		return func(o *account) bool {
			return o.project == nil && (o.domain == d || (c.flag("isrecursive") && d.contains(o.domain)))
		}, nil
	}
	if c.has("id") && rule == scopeOwn {
		return c.byIDScope(), nil
	}
	return c.plainScope(rule), nil
}

func (c *call) plainScope(rule scopeRule) owns {
	switch {
	case !c.admin():
		return func(o *account) bool { return o == c.acct }
	case c.flag("listall") && c.root():
		return func(o *account) bool { return o.project == nil }
	case c.flag("listall"):
		return func(o *account) bool { return o.project == nil && c.acct.domain.contains(o.domain) }
	case rule == scopeDomain && c.root():
		return func(o *account) bool { return o.project == nil && o.domain == c.acct.domain }
	case rule == scopeDomain:
		return func(o *account) bool { return o.project == nil && c.acct.domain.contains(o.domain) }
	default:
		return func(o *account) bool { return o == c.acct }
	}
}

// byIDScope is what a caller sees who names one row: admins need not say whose it is.
func (c *call) byIDScope() owns {
	switch {
	case c.root():
		return func(*account) bool { return true }
	case c.admin():
		return func(o *account) bool { return c.acct.domain.contains(o.domain) }
	default:
		return func(o *account) bool { return o == c.acct }
	}
}

func (c *call) projectScope(rule scopeRule) (owns, error) {
	if c.str("projectid") == projectsAll {
		if rule == scopeDomain && c.root() {
			return nil, wrapped(530, `Cannot invoke "com.cloud.projects.Project.getUuid()" because "project" is null`)
		}
		own := c.plainScope(rule)
		return func(o *account) bool {
			return (o.project != nil && (c.root() || o.project.member(c.acct))) || (rule == scopeDomain && own(o))
		}, nil
	}
	p, _ := refer(c, c.projects, "projectid")
	if p == nil {
		return nil, invalid("Unable to find project by id %s", c.str("projectid"))
	}
	return func(o *account) bool { return o == p.account }, nil
}

// checkProject refuses a project that is gone or that the caller has nothing to do with, for every command that names one.
func (c *call) checkProject() error {
	if _, known := c.api.Param("projectid"); !known || !c.has("projectid") || c.str("projectid") == projectsAll {
		return nil
	}
	p, _ := refer(c, c.projects, "projectid")
	switch {
	case p == nil:
		return invalid("Unable to find project by id %s", c.str("projectid"))
	case !p.live():
		return invalid("Unable to find project by id %d", p.db)
	case c.root(), p.member(c.acct), c.acct.kind == accountDomain && c.acct.domain.contains(p.domain):
		return nil
	case c.acct.kind == accountDomain:
		return c.noDomain(p.domain)
	}
	return wrapped(432, "The API [%s] does not exist or is not available for this account/user in project [%s].", c.name, p.id)
}

// mayUseDomain refuses a domain outside the caller's own; nil is no domain.
func (c *call) mayUseDomain(d *domain) error {
	if d == nil || c.root() || d == c.acct.domain || (c.acct.kind == accountDomain && c.acct.domain.contains(d)) {
		return nil
	}
	return c.noDomain(d)
}

func (c *call) noDomain(d *domain) error {
	return denied("Account %s does not have permission to operate within domain id=%s", c.accountText(), d.id)
}

// accountIn finds an account that the caller may name.
func (c *call) accountIn(name string, d *domain) (*account, error) {
	a := c.findAccount(name, d)
	if a == nil {
		return nil, invalid("Unable to find account %s in specified domain", name)
	}
	if err := c.mayUse(a); err != nil {
		return nil, err
	}
	return a, nil
}

func (s *Server) findAccount(name string, d *domain) *account {
	for _, a := range s.accounts.rows {
		if a.live() && a.project == nil && a.domain == d && strings.EqualFold(a.name, name) {
			return a
		}
	}
	return nil
}

// mayUse refuses what belongs to an account that the caller may not act for.
func (c *call) mayUse(owner *account) error {
	switch {
	case c.root(), owner == c.acct, owner.project != nil && owner.project.member(c.acct):
		return nil
	case c.acct.kind == accountDomain && c.acct.domain.contains(owner.domain):
		return nil
	}
	return denied(noPermission)
}

// ownerOf finds the account that a new thing will belong to, from account and domainid or projectid.
func (c *call) ownerOf() (*account, error) {
	d, haveDomain := refer(c, c.domains, "domainid")
	name := c.str("account")
	if p, ok := refer(c, c.projects, "projectid"); ok && p != nil && (name == "" || haveDomain) {
		if name != "" {
			return nil, invalid("ProjectId and account/domainId can't be specified together")
		}
		if p.state != "Active" {
			return nil, denied("Can't add resources to the project with specified projectId in state=%s as it's no longer active", p.state).about("projectId", p.id)
		}
		return p.account, nil
	}
	switch {
	case name == "":
		return c.acct, nil
	case d == nil:
		return nil, invalid("Account must be specified with domainId parameter")
	}
	a := c.findAccount(name, d)
	if a == nil {
		return nil, invalid("Unable to find account by name %s in domain with specified id", name)
	}
	if err := c.mayUse(a); err != nil {
		return nil, err
	}
	return a, nil
}

// finalOwner is ownerOf in the words of services that find the owner themselves.
func (c *call) finalOwner() (*account, error) {
	d, _ := refer(c, c.domains, "domainid")
	name := c.str("account")
	switch {
	case name == "", c.has("projectid"):
		return c.ownerOf()
	case d == nil:
		return nil, invalid("AccountName and domainId must be specified together")
	case !c.admin() && (name != c.acct.name || d != c.acct.domain):
		return nil, denied("Can't create/list resources for account %s in domain %d, permission denied", name, d.db)
	}
	a := c.findAccount(name, d)
	if a == nil {
		return nil, invalid("Unable to find account %s in domain %d", name, d.db)
	}
	if err := c.mayUseDomain(d); err != nil {
		return nil, err
	}
	return a, nil
}

// ownerTwice is the owner for a command whose service asks again after the parameter layer did, which refuses to find nothing, but not to reach anything.
func (c *call) ownerTwice() (*account, error) {
	owner, err := c.ownerOf()
	if err == nil || asAPIError(err).code == 531 && !c.has("projectid") {
		return c.finalOwner()
	}
	return owner, err
}
