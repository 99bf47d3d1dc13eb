package cloudsim

import "strings"

// eventRow is an entry of the event log.
type eventRow struct {
	base
	account                    *account
	user, kind, level, text    string
	resourceType, resource     string
	resourceName, state, start string
}

// follow writes what came of an event that was scheduled.
func (s *Server) follow(first *eventRow, text, state string) *eventRow {
	return s.events.insert(&eventRow{base: s.newBase(), account: first.account, user: first.user, kind: first.kind, level: "INFO", text: text,
		resourceType: first.resourceType, resource: first.resource, resourceName: first.resourceName, state: state, start: first.id})
}

// capital begins a text with a capital letter.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// record writes an event on behalf of a user; nil is the system itself.
func (s *Server) record(owner *account, by *user, kind, text, resourceType, resource, resourceName, state string) *eventRow {
	name := "system"
	if by != nil {
		name = by.username
	}
	return s.events.insert(&eventRow{base: s.newBase(), account: owner, user: name, kind: kind, level: "INFO", text: text,
		resourceType: resourceType, resource: resource, resourceName: resourceName, state: state})
}
