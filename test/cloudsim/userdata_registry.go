package cloudsim

import "slices"

// registeredData is user data that machines are deployed with by its id.
type registeredData struct {
	base
	owner              *account
	name, text, params string
}

func registerUserData(c *call) (object, error) {
	owner, err := c.ownerTwice()
	if err != nil {
		return nil, err
	}
	for _, r := range c.userData.all(func(r *registeredData) bool { return r.owner == owner }) {
		switch {
		case r.name == c.str("name"):
			return nil, invalid("A userdata with name %s already exists for this account.", r.name)
		case r.text == c.str("userdata"):
			return nil, invalid("Userdata %s with same content already exists for this account.", r.name)
		}
	}
	text, err := c.checkUserData(c.str("userdata"))
	if err != nil {
		return nil, err
	}
	r := c.userData.insert(&registeredData{base: c.newBase(), owner: owner, name: c.str("name"), text: text, params: c.str("params")})
	return obj("userdata", c.userDataObject(r)), nil
}

func (c *call) userDataObject(r *registeredData) object {
	o := append(obj("id", r.id, "name", r.name), c.ownerFields(r.owner, "account")...)
	o = append(o, c.domainFirst(r.owner)...)
	return o.with("userdata", r.text).text("params", r.params).with("hasannotations", false)
}

// listUserData shows the youngest first.
func listUserData(c *call) (object, error) {
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	wanted := refersTo(c, c.userData, "id")
	rows := c.userData.all(func(r *registeredData) bool {
		return owner(r.owner) && wanted(r) && c.text("name", r.name) && c.keyword(r.name)
	})
	slices.Reverse(rows)
	return pageOf(c, "userdata", rows, c.userDataObject)
}

// deleteUserData forgets user data that no machine has. As on the server, whose it is does not matter.
func deleteUserData(c *call) (object, error) {
	owner, err := c.finalOwner()
	if err != nil {
		return nil, err
	}
	r, _ := refer(c, c.userData, "id")
	switch {
	case !r.live():
		return nil, invalid("A UserData with id '%d' does not exist for account %s in specified domain id", r.db, owner.name).about("domainId", owner.domain.id)
	case slices.ContainsFunc(c.machines.rows, func(m *machine) bool { return m.live() && m.registered == r }):
		return nil, internal("Userdata %s cannot be removed as it is being used by some instances", r.name)
	}
	r.removed = c.now()
	return success(), nil
}
