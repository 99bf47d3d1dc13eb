package cloudsim

import (
	"slices"
	"strings"
	"time"
)

// enforcement holds the settings that are read only when the server starts.
type enforcement struct {
	timestamps bool
	throttling bool
}

// maxAhead is how far in the future an expiry may lie where timestamps are enforced.
const maxAhead = 15 * time.Minute

// registered says whether the server knows a command at all: plugins that are not installed bring none.
func (s *Server) registered(command string) bool {
	_, found := slices.BinarySearch(s.byRole.RootAdmin, command)
	if !found {
		return false
	}
	if a, ok := s.catalog.Get(command); ok && !s.knows(a.Since) {
		return false
	}
	if strings.Contains(command, "Kubernetes") {
		return s.settings["cloud.kubernetes.service.enabled"] == "true"
	}
	return true
}

// verify finds out who calls and whether they may: by session if there is one, else by key and signature.
func (s *Server) verify(req *request, command string) (*user, error) {
	if se := s.sessionOf(req); se != nil {
		return s.verifySession(se, req, command)
	}
	if !s.registered(command) {
		return nil, unauthorized()
	}
	cred := readCredentials(req.params)
	if !cred.haveKey || !cred.haveSignature || !s.fresh(cred) {
		return nil, unauthorized()
	}
	u := s.userByKey(cred.apiKey)
	if u == nil || !u.active() {
		return nil, unauthorized()
	}
	if err := s.checkAvailable(u, command, s.ids.uuid()); err != nil {
		return nil, err
	}
	if u.secret == "" || !signed(req.params, u.secret, cred.signature) {
		return nil, unauthorized()
	}
	return u, nil
}

// checkAvailable is the chain of API checkers; shown is the user id to print.
func (s *Server) checkAvailable(u *user, command, shown string) error {
	if err := s.countCall(u.account); err != nil {
		return err
	}
	if !s.allows(u.account.role, command) {
		return notAvailable(command, shown)
	}
	return nil
}

// fresh checks the expiry of a call.
func (s *Server) fresh(cred credentials) bool {
	if cred.version != "3" {
		return !s.enforced.timestamps
	}
	at, ok := parseExpires(cred.expires)
	if !ok || !at.After(s.now()) {
		return false
	}
	return !s.enforced.timestamps || at.Sub(s.now()) <= maxAhead
}

// checkMethod refuses state changes by GET where POST is enforced.
func (s *Server) checkMethod(req *request, command string) *apiError {
	if !s.enforced.timestamps || req.post || !s.registered(command) {
		return nil
	}
	for _, prefix := range []string{"list", "query", "get", "find", "is", "cloudianIsEnabled"} {
		if strings.HasPrefix(command, prefix) {
			return nil
		}
	}
	e := wrapped(400, "State changing command %s needs to be sent using POST request", command)
	e.silent = true
	return e
}

// window counts the calls of an account.
type window struct {
	opened time.Time
	issued int
}

// countCall takes a call off the account's budget; root admins have no limit.
func (s *Server) countCall(a *account) error {
	if !s.enforced.throttling || a.kind == accountRoot {
		return nil
	}
	interval, allowed := s.throttleLimits()
	w := s.throttle[a]
	if w == nil || s.now().Sub(w.opened) >= interval {
		w = &window{opened: s.now()}
		s.throttle[a] = w
	}
	w.issued++
	if w.issued > allowed {
		left := (interval - s.now().Sub(w.opened)).Milliseconds()
		return wrapped(429, "The given user has reached his/her account api limit, please retry after [%d] ms.", left)
	}
	return nil
}

func (s *Server) throttleLimits() (time.Duration, int) {
	return time.Duration(s.settingNumber("api.throttling.interval", 1)) * time.Second, int(s.settingNumber("api.throttling.max", 25))
}

// getAPILimit shows the caller's own budget.
func getAPILimit(c *call) (object, error) {
	if !c.enforced.throttling {
		return nil, wrapped(432, "This api is only available when api.throttling.enabled = true.")
	}
	interval, allowed := c.throttleLimits()
	limit := obj("accountid", c.ids.uuid(), "account", c.acct.name, "apiIssued", 0, "apiAllowed", allowed, "expireAfter", 0)
	if w := c.throttle[c.acct]; w != nil {
		left := (interval - c.now().Sub(w.opened)).Milliseconds()
		limit = obj("accountid", c.ids.uuid(), "account", c.acct.name, "apiIssued", w.issued, "apiAllowed", allowed-w.issued, "expireAfter", left)
	}
	return obj("apilimit", limit), nil
}
