package cloudsim

// project is an account without a login that several accounts share.
type project struct {
	base
	name, text string
	domain     *domain
	owner      *account
	account    *account // holds what belongs to the project
	members    []*account
	state      string
}

// member says whether an account belongs to the project.
func (p *project) member(a *account) bool {
	for _, m := range p.members {
		if m == a {
			return true
		}
	}
	return false
}
