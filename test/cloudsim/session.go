package cloudsim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	sessionCookie  = "JSESSIONID"
	sessionIdle    = 30 * time.Minute
	sessionTimeout = 1800
)

// session is a login. A failed login leaves one behind too, without a user.
type session struct {
	id   string
	user *user
	key  string
	used time.Time
}

// sessionOf returns the session of a request that carries the cookie of a login, nil otherwise.
func (s *Server) sessionOf(req *request) *session {
	se := s.sessions[req.cookies[strings.ToLower(sessionCookie)]]
	if se == nil || se.user == nil {
		return nil
	}
	if s.now().Sub(se.used) > sessionIdle {
		delete(s.sessions, se.id)
		return nil
	}
	return se
}

// verifySession checks the session key, which has to come as a parameter or as a cookie; a wrong one ends the session.
func (s *Server) verifySession(se *session, req *request, command string) (*user, error) {
	key, sent := req.params["sessionkey"]
	if !sent {
		key = req.cookies["sessionkey"]
	}
	if key != se.key || !se.user.active() {
		delete(s.sessions, se.id)
		e := unauthorized()
		e.text = "unable to verify user credentials"
		return nil, e
	}
	se.used = s.now()
	if !s.registered(command) {
		return nil, notAvailable(command, se.user.id)
	}
	return se.user, s.checkAvailable(se.user, command, se.user.id)
}

// authenticator handles the commands that begin and end sessions.
func (s *Server) authenticator(req *request, command string, entry *Entry) *answer {
	if command == "logout" {
		return s.logout(req)
	}
	if !req.post {
		return s.refuse(req, "loginresponse", wrapped(405, "Please use HTTP POST to authenticate using this API"), false)
	}
	se := &session{id: s.ids.key()[:26], used: s.now()}
	s.sessions[se.id] = se
	cookie := &http.Cookie{Name: sessionCookie, Value: se.id, Path: "/client", HttpOnly: true}
	u, err := s.login(req)
	if err != nil {
		out := s.refuse(req, "loginresponse", err, false)
		out.cookies = []*http.Cookie{cookie}
		return out
	}
	entry.Caller = u.account.name
	se.user, se.key = u, s.ids.key()[:27]
	s.record(u.account, u, "USER.LOGIN", "user has logged in from IP Address /"+hostOf(req.remote), "User", u.id, u.username, "Completed")
	out := s.accept(req, "loginresponse", s.loginReply(u, se))
	out.cookies = []*http.Cookie{cookie, {Name: "sessionkey", Value: se.key, Path: "/client", HttpOnly: true}}
	return out
}

func (s *Server) login(req *request) (*user, *apiError) {
	d := s.domainByPath(req.params["domain"])
	if id, ok := req.params["domainId"]; ok {
		d = resolveRow(s.domains, id)
	}
	refusal := func(format string, args ...any) *apiError {
		e := wrapped(531, format, args...)
		e.cs, e.silent = csNone, true
		return e
	}
	if d == nil {
		return nil, refusal("Unable to find the domain from the path %s", req.params["domain"])
	}
	name := req.params["username"]
	for _, u := range s.users.rows {
		if u.live() && u.username == name && u.account.domain == d && u.password == req.params["password"] && u.password != "" && u.active() {
			return u, nil
		}
	}
	return nil, refusal("Failed to authenticate user %s in domain %d; please provide valid credentials", name, d.db)
}

func (s *Server) loginReply(u *user, se *session) object {
	return obj("username", u.username, "userid", u.id, "domainid", u.account.domain.id, "timeout", sessionTimeout, "account", u.account.name,
		"firstname", u.first, "lastname", u.last, "type", strconv.Itoa(u.account.kind), "timezone", "UTC", "timezoneoffset", "0.0",
		"registered", "false", "sessionkey", se.key, "is2faenabled", "false", "is2faverified", "true", "issuerfor2fa", "CloudStack")
}

// logout ends the session of the cookie.
func (s *Server) logout(req *request) *answer {
	se := s.sessionOf(req)
	if se == nil {
		return s.refuse(req, "logoutresponse", badParam("Session not found for the logout process."), false)
	}
	delete(s.sessions, se.id)
	s.record(se.user.account, se.user, "USER.LOGOUT", "user has logged out", "User", se.user.id, se.user.username, "Completed")
	out := s.accept(req, "logoutresponse", obj("description", "success"))
	for _, name := range []string{sessionCookie, "sessionkey"} {
		out.cookies = append(out.cookies, &http.Cookie{Name: name, Path: "/client", MaxAge: -1})
	}
	return out
}
