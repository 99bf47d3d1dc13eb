package cloudsim

import "strings"

// createAccount makes an account with its first user.
func createAccount(c *call) (object, error) {
	d, ok := refer(c, c.domains, "domainid")
	if !ok || d == nil {
		d = c.acct.domain
	}
	if err := c.mayUseDomain(d); err != nil {
		return nil, err
	}
	name := c.str("account")
	if name == "" {
		name = c.str("username")
	}
	if c.findAccount(name, d) != nil {
		return nil, invalid("The specified account: %s already exists", name)
	}
	if c.findUser(c.str("username"), d) != nil {
		return nil, invalid("The user %s already exists in domain %d", c.str("username"), d.db)
	}
	kind, role, err := c.accountKind()
	if err != nil {
		return nil, err
	}
	a := c.accounts.insert(&account{base: c.newBase(), name: name, kind: kind, domain: d, role: role, state: "enabled", limits: map[int]int64{}, details: map[string]string{}})
	c.newUser(a)
	c.record(a, c.user, "ACCOUNT.CREATE", "creating Account", "Account", a.id, a.name, "Completed")
	return obj("account", c.accountObject(a, accountView{access: true})), nil
}

// accountKind reads type and role of a new account, of which one is enough.
func (c *call) accountKind() (int, *role, error) {
	if r, ok := refer(c, c.roles, "roleid"); ok {
		if r == nil {
			return 0, nil, invalid("Unable to find role by id %s", c.str("roleid"))
		}
		return kindOfRole(r), r, nil
	}
	if !c.has("accounttype") {
		return 0, nil, badParam("Neither account type and role ID are not provided")
	}
	kind := int(c.num("accounttype", 0))
	r := c.roleOfKind(kind)
	if r == nil {
		return 0, nil, invalid("Unknown account type %d", kind)
	}
	return kind, r, nil
}

func kindOfRole(r *role) int {
	return map[string]int{"Admin": accountRoot, "DomainAdmin": accountDomain, "ResourceAdmin": accountDomain}[r.kind]
}

func (s *Server) findUser(name string, d *domain) *user {
	for _, u := range s.users.rows {
		if u.live() && u.account.domain == d && strings.EqualFold(u.username, name) {
			return u
		}
	}
	return nil
}

func (c *call) newUser(a *account) *user {
	return c.users.insert(&user{base: c.newBase(), username: c.str("username"), first: c.str("firstname"), last: c.str("lastname"), email: c.str("email"),
		password: c.str("password"), timezone: c.str("timezone"), state: "enabled", account: a})
}

// namedAccount finds the account of a command that takes id, or account and domainid.
func (c *call) namedAccount() (*account, error) {
	a, byID := refer(c, c.accounts, "id")
	if !byID {
		d, _ := refer(c, c.domains, "domainid")
		if c.str("account") == "" || d == nil {
			return nil, invalid("Unable to find account by id or by name and domain")
		}
		a = c.findAccount(c.str("account"), d)
	}
	if a == nil || !a.live() {
		return nil, invalid("Unable to find active account by name %s", c.str("account"))
	}
	if !c.root() && (c.acct.kind != accountDomain || !c.acct.domain.contains(a.domain)) {
		return nil, denied(noPermission)
	}
	return a, nil
}

// changeable refuses changes to the accounts that the installation came with.
func changeable(a *account) error {
	if a.name == "system" || a.builtin() {
		return denied("Account can't be changed: it is a default one")
	}
	return nil
}

func disableAccount(c *call) (*work, error) {
	a, err := c.namedAccount()
	if err != nil {
		return nil, err
	}
	return &work{run: func() (object, error) {
		if err := changeable(a); err != nil {
			return nil, err
		}
		a.state = "disabled"
		if c.flag("lock") {
			a.state = "locked"
		}
		c.record(a, c.user, "ACCOUNT.DISABLE", "disabling Account", "Account", a.id, a.name, "Completed")
		return obj("account", c.accountObject(a, accountView{counters: true, access: true})), nil
	}}, nil
}

func enableAccount(c *call) (object, error) {
	a, err := c.namedAccount()
	if err != nil {
		return nil, err
	}
	a.state = "enabled"
	c.record(a, c.user, "ACCOUNT.ENABLE", "enabling Account", "Account", a.id, a.name, "Completed")
	return obj("account", c.accountObject(a, accountView{counters: true, access: true})), nil
}

func lockAccount(c *call) (object, error) {
	a, err := c.namedAccount()
	if err != nil {
		return nil, err
	}
	if err := changeable(a); err != nil {
		return nil, err
	}
	a.state = "locked"
	return obj("account", c.accountObject(a, accountView{counters: true, access: true})), nil
}

func updateAccount(c *call) (object, error) {
	a, err := c.namedAccount()
	if err != nil {
		return nil, err
	}
	if r, ok := refer(c, c.roles, "roleid"); ok && r != nil {
		a.role, a.kind = r, kindOfRole(r)
	}
	if v := c.str("newname"); v != "" {
		if other := c.findAccount(v, a.domain); other != nil && other != a {
			return nil, invalid("There already exists an account with the name %s in the domain:%d with existing account id:%d", v, a.domain.db, other.db)
		}
		a.name = v
	}
	for k, v := range c.mapOf("accountdetails") {
		a.details[k] = v
	}
	return obj("account", c.accountObject(a, accountView{counters: true})), nil
}

// deleteAccount removes an account with everything that it holds.
func deleteAccount(c *call) (*work, error) {
	a, err := c.namedAccount()
	if err != nil {
		return nil, err
	}
	return &work{instanceType: "Account", instanceID: a.id, run: func() (object, error) {
		if err := changeable(a); err != nil {
			return nil, err
		}
		c.wipe(a)
		a.removed = c.now()
		for _, u := range c.users.all(func(u *user) bool { return u.account == a }) {
			u.removed = c.now()
		}
		return success(), nil
	}}, nil
}

// wipe removes what an account holds.
func (c *call) wipe(a *account) {
	c.wipeMachines(a)
	for _, t := range c.templates.all(func(t *template) bool { return t.owner == a }) {
		c.dropCopies(t, nil, false)
	}
	for _, t := range c.tags.all(func(t *tag) bool { return t.owner == a }) {
		c.tags.drop(t)
	}
}

func createUser(c *call) (object, error) {
	d, ok := refer(c, c.domains, "domainid")
	if !ok || d == nil {
		d = c.acct.domain
	}
	a, err := c.accountIn(c.str("account"), d)
	if err != nil {
		return nil, err
	}
	if c.findUser(c.str("username"), d) != nil {
		return nil, invalid("The user %s already exists in domain %d", c.str("username"), d.db)
	}
	return obj("user", c.userObject(c.newUser(a), false)), nil
}

// namedUser finds the user of a command.
func (c *call) namedUser() (*user, error) {
	u, _ := refer(c, c.users, "id")
	if u == nil || !u.live() {
		return nil, invalid("Unable to find user by id")
	}
	if c.mayUse(u.account) != nil {
		return nil, denied(noPermission)
	}
	return u, nil
}

func disableUser(c *call) (*work, error) {
	u, err := c.namedUser()
	if err != nil {
		return nil, err
	}
	return &work{run: func() (object, error) {
		u.state = "disabled"
		c.record(u.account, c.user, "USER.DISABLE", "disabling User", "User", u.id, u.username, "Completed")
		return obj("user", c.userObject(u, false)), nil
	}}, nil
}

// setUserState changes a user at once.
func setUserState(state string) func(*call) (object, error) {
	return func(c *call) (object, error) {
		u, err := c.namedUser()
		if err != nil {
			return nil, err
		}
		u.state = state
		return obj("user", c.userObject(u, false)), nil
	}
}

func deleteUser(c *call) (object, error) {
	u, err := c.namedUser()
	if err != nil {
		return nil, err
	}
	if u.account.builtin() {
		return nil, invalid("The user is default and can't be removed")
	}
	u.removed = c.now()
	return success(), nil
}

func updateUser(c *call) (object, error) {
	u, err := c.namedUser()
	if err != nil {
		return nil, err
	}
	for name, to := range map[string]*string{"firstname": &u.first, "lastname": &u.last, "email": &u.email, "timezone": &u.timezone, "username": &u.username, "password": &u.password} {
		if v := c.str(name); v != "" {
			*to = v
		}
	}
	return obj("user", c.userObject(u, false)), nil
}

// registerUserKeys makes a new pair; the old one is void at once.
func registerUserKeys(c *call) (object, error) {
	u, err := c.namedUser()
	if err != nil {
		return nil, err
	}
	u.apiKey, u.secret = c.ids.key(), c.ids.key()
	c.record(u.account, c.user, "REGISTER.USER.KEY", "register for the developer API keys", "User", u.id, u.username, "Completed")
	return obj("userkeys", obj("apikey", u.apiKey, "secretkey", u.secret)), nil
}

func getUserKeys(c *call) (object, error) {
	u, err := c.namedUser()
	if err != nil {
		return nil, err
	}
	o := object{}.text("apikey", u.apiKey).text("secretkey", u.secret)
	if c.knows("4.20") {
		o = o.with("apikeyaccess", true)
	}
	return obj("userkeys", o), nil
}
