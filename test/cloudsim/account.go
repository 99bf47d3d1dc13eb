package cloudsim

// Kinds of accounts as numbered on the wire.
const (
	accountUser    = 0
	accountRoot    = 1
	accountDomain  = 2
	accountProject = 5
)

// account owns things. The account of a project is one too, hidden behind the project.
type account struct {
	base
	name    string
	kind    int
	domain  *domain
	role    *role
	state   string
	project *project
	limits  map[int]int64
	details map[string]string
}

// user signs calls on behalf of an account.
type user struct {
	base
	username, first, last, email string
	password                     string
	timezone                     string
	state                        string
	account                      *account
	apiKey, secret               string
	caller                       string // whom transcripts know the user as, where that is not its name
}

// userByKey finds the live user of an API key.
func (s *Server) userByKey(key string) *user {
	for _, u := range s.users.rows {
		if u.live() && u.apiKey != "" && u.apiKey == key {
			return u
		}
	}
	return nil
}

// active says whether user and account may sign calls.
func (u *user) active() bool {
	return u.live() && u.state == "enabled" && u.account.live() && u.account.state == "enabled"
}
