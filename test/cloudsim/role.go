package cloudsim

import (
	"slices"
	"strings"
)

// role says which commands its accounts may call.
type role struct {
	base
	name, kind, description string
	isDefault, isPublic     bool
	rules                   []*rule
}

// rule allows or denies the commands that match a pattern; the first match decides.
type rule struct {
	base
	role        *role
	pattern     string
	allow       bool
	description string
}

// allows decides for one command; what no rule matches falls back to the annotation of the command for the type of role.
func (s *Server) allows(r *role, command string) bool {
	if r == nil {
		return false
	}
	for _, rule := range r.rules {
		if matches(rule.pattern, command) {
			return rule.allow
		}
	}
	return s.annotated(r.kind, command)
}

// matches compares a command with a rule, whose * stands for anything.
func matches(pattern, command string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == command
	}
	if !strings.HasPrefix(command, parts[0]) {
		return false
	}
	rest := command[len(parts[0]):]
	for _, p := range parts[1 : len(parts)-1] {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// annotated says whether a command is meant for a type of role.
func (s *Server) annotated(kind, command string) bool {
	list := s.byRole.User
	switch kind {
	case "Admin":
		list = s.byRole.RootAdmin
	case "DomainAdmin", "ResourceAdmin":
		list = s.byRole.DomainAdmin
	}
	_, found := slices.BinarySearch(list, command)
	return found
}
