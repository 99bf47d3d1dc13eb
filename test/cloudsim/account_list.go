package cloudsim

import (
	"strconv"
)

// listAccounts shows accounts with what they hold and may hold.
func listAccounts(c *call) (object, error) {
	rows, err := c.accountRows()
	if err != nil {
		return nil, err
	}
	return pageOf(c, "account", rows, func(a *account) object { return c.accountObject(a, accountView{counters: true, access: c.root()}) })
}

func (c *call) accountRows() ([]*account, error) {
	d, byDomain := refer(c, c.domains, "domainid")
	if err := c.mayUseDomain(d); err != nil {
		return nil, err
	}
	seen := c.accountScope(d, byDomain)
	wanted := refersTo(c, c.accounts, "id")
	return c.accounts.all(func(a *account) bool {
		return a.project == nil && !a.internal() && seen(a) && wanted(a) &&
			allOf(c.text("name", a.name), c.number("accounttype", int64(a.kind)), c.text("state", a.state), c.keyword(a.name))
	}), nil
}

// accountScope is whose accounts a caller sees: an admin who names one, or a domain, need not say listall.
func (c *call) accountScope(d *domain, byDomain bool) owns {
	switch {
	case byDomain && d != nil && c.admin():
		return func(a *account) bool { return a.domain == d || (c.flag("isrecursive") && d.contains(a.domain)) }
	case c.has("id") && c.root():
		return func(*account) bool { return true }
	case c.acct.kind == accountDomain && (c.has("id") || c.has("name")):
		return func(a *account) bool { return c.acct.domain.contains(a.domain) }
	}
	return c.plainScope(scopeOwn)
}

// accountView says what an account is shown with: commands of the server differ.
type accountView struct {
	counters bool // traffic
	access   bool // apikeyaccess
}

func (c *call) accountObject(a *account, v accountView) object {
	o := obj("id", a.id, "name", a.name, "accounttype", a.kind, "roleid", a.role.id, "roletype", a.role.kind, "rolename", a.role.name)
	o = append(o, c.domainFirst(a)...)
	if v.counters {
		o = append(o, obj("receivedbytes", 0, "sentbytes", 0)...)
	}
	have := c.usage(a)
	for _, l := range accountLimitOrder() {
		if !c.knows(limitKinds()[l].since) {
			continue
		}
		o = append(o, counterFields(l, c.limitOf(a, l), have[l])...)
		if l == limitTemplate {
			stopped, running := c.machineStates(a)
			o = append(o, obj("vmstopped", stopped, "vmrunning", running)...)
		}
	}
	o = o.with("state", a.state)
	if !a.created.IsZero() && !a.builtin() {
		o = o.with("created", stamp(a.created))
	}
	users := []object{}
	for _, u := range c.users.all(func(u *user) bool { return u.account == a }) {
		users = append(users, c.userObject(u, false))
	}
	o = append(o, obj("user", users, "isdefault", a.builtin(), "groups", []string{})...)
	if v.access && c.knows("4.20") {
		o = o.with("apikeyaccess", "INHERIT")
	}
	return o
}

// internal says whether the account is one of the server's own, which no list shows.
func (a *account) internal() bool { return a.name == "system" || a.name == "baremetal-system-account" }

// builtin says whether the account came with the installation.
func (a *account) builtin() bool { return a.name == "admin" && a.kind == accountRoot && a.db == 2 }

// accountLimitOrder is the order of the counters on an account.
func accountLimitOrder() []limit {
	return []limit{limitVM, limitIP, limitVolume, limitSnapshot, limitBackup, limitBackupStorage, limitTemplate, limitProject, limitNetwork, limitVPC,
		limitCPU, limitMemory, limitGPU, limitPrimary, limitSecondary, limitBucket, limitObjectStorage}
}

// counterFields are limit, total and what is left of one kind. Bytes are shown in GiB, secondary storage with a fraction.
func counterFields(l limit, most, have int64) object {
	k := limitKinds()[l]
	total := any(have)
	left := strconv.FormatInt(max(most-have, 0), 10)
	shown := strconv.FormatInt(most, 10)
	if k.gib {
		shown = strconv.FormatInt(most>>30, 10)
		left = strconv.FormatInt(max(most-have, 0)>>30, 10)
		total = have >> 30
	}
	if l == limitSecondary {
		total = float64(have) / (1 << 30)
		left = javaDouble(float64(max(most-have, 0)) / (1 << 30))
	}
	if most == noLimit {
		shown, left = "Unlimited", "Unlimited"
	}
	return obj(k.field+"limit", shown, k.field+"total", total, k.field+"available", left)
}

func listUsers(c *call) (object, error) {
	d, _ := refer(c, c.domains, "domainid")
	if err := c.mayUseDomain(d); err != nil {
		return nil, err
	}
	if c.str("account") != "" && d != nil {
		if _, err := c.accountIn(c.str("account"), d); err != nil {
			return nil, err
		}
	}
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	wanted := refersTo(c, c.users, "id")
	rows := c.users.all(func(u *user) bool {
		return owner(u.account) && wanted(u) && allOf(c.text("username", u.username), c.text("state", u.state), c.keyword(u.username))
	})
	return pageOf(c, "user", rows, func(u *user) object { return c.userObject(u, c.root()) })
}

func (c *call) userObject(u *user, access bool) object {
	a := u.account
	o := obj("id", u.id, "username", u.username, "firstname", u.first, "lastname", u.last, "email", u.email, "created", stamp(u.created), "state", u.state,
		"account", a.name, "accounttype", a.kind, "usersource", "native", "roleid", a.role.id, "roletype", a.role.kind, "rolename", a.role.name,
		"domainid", a.domain.id, "domain", a.domain.name)
	o = o.text("timezone", u.timezone).text("apikey", u.apiKey)
	o = append(o, obj("accountid", a.id, "iscallerchilddomain", c.acct.domain != a.domain && c.acct.domain.contains(a.domain), "isdefault", a.builtin(),
		"is2faenabled", false, "is2famandated", false)...)
	if access && c.knows("4.20") {
		o = o.with("apikeyaccess", "INHERIT")
	}
	return o
}

// getUser finds a user by API key.
func getUser(c *call) (object, error) {
	u := c.userByKey(c.str("userapikey"))
	if u == nil {
		return nil, invalid("User with given API key does not exist")
	}
	return obj("user", c.userObject(u, false)), nil
}

func listDomains(c *call) (object, error) {
	return c.domainList(func(d *domain) bool { return c.number("level", int64(d.level())) })
}

func listDomainChildren(c *call) (object, error) {
	parent, ok := refer(c, c.domains, "id")
	if !ok {
		parent = c.acct.domain
	}
	if err := c.mayUseDomain(parent); err != nil {
		return nil, err
	}
	rows := c.domains.all(func(d *domain) bool {
		return d != parent && (d.parent == parent || (c.flag("isrecursive") && parent != nil && parent.contains(d))) && c.text("name", d.name)
	})
	return pageOf(c, "domain", rows, c.domainObject)
}

func (c *call) domainList(keep func(*domain) bool) (object, error) {
	wanted, _ := refer(c, c.domains, "id")
	if err := c.mayUseDomain(wanted); err != nil {
		return nil, err
	}
	named := refersTo(c, c.domains, "id")
	rows := c.domains.all(func(d *domain) bool {
		return c.acct.domain.contains(d) && named(d) && keep(d) && allOf(c.text("name", d.name), c.keyword(d.name))
	})
	return pageOf(c, "domain", rows, c.domainObject)
}

func (c *call) domainObject(d *domain) object {
	o := obj("id", d.id, "name", d.name, "level", d.level())
	if d.parent != nil {
		o = append(o, obj("parentdomainid", d.parent.id, "parentdomainname", d.parent.name)...)
	}
	children := c.domains.all(func(x *domain) bool { return x.parent == d })
	o = append(o, obj("haschild", len(children) > 0, "path", d.path(), "state", d.state)...)
	if d.parent != nil {
		o = o.with("created", stamp(d.created))
	}
	have := c.domainUsage(d)
	for _, l := range accountLimitOrder() {
		most, ok := d.limits[int(l)]
		if !ok {
			most = noLimit
		} else if limitKinds()[l].gib && most != noLimit {
			most <<= 30
		}
		if c.knows(limitKinds()[l].since) {
			o = append(o, counterFields(l, most, have[l])...)
		}
	}
	return o.with("hasannotations", false)
}
