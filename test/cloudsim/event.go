package cloudsim

// eventRow is an entry of the event log.
type eventRow struct {
	base
	account                    *account
	user, kind, level, text    string
	resourceType, resource     string
	resourceName, state, start string
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
