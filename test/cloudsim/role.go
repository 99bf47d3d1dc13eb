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
	model                   *role // what it was copied from
}

// rule allows or denies the commands that match a pattern; the first match decides.
type rule struct {
	base
	role        *role
	pattern     string
	allow       bool
	description string
}

// allows decides for one command. A role that came with the installation has the commands of its type; a made one has what its rules
// allow and the newer commands, which the server grants to types of roles by itself.
func (s *Server) allows(r *role, command string) bool {
	if r == nil {
		return false
	}
	for _, rule := range r.rules {
		if matches(rule.pattern, command) {
			return rule.allow
		}
	}
	if !s.meant(r.kind, command) {
		return false
	}
	if r.isDefault || (r.model != nil && r.model.isDefault) {
		return r.reads(command)
	}
	return s.annotated(command)
}

// reads narrows the roles that came with the installation and may only look.
func (r *role) reads(command string) bool {
	name := r.name
	if r.model != nil {
		name = r.model.name
	}
	if !strings.HasPrefix(name, "Read-Only") {
		return true
	}
	for _, prefix := range []string{"list", "get", "query", "is", "find", "quota"} {
		if strings.HasPrefix(command, prefix) {
			return true
		}
	}
	return false
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

// meant says whether a command is meant for a type of role.
func (s *Server) meant(kind, command string) bool {
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

// annotated says whether a command grants itself to types of roles: those that came with or after release 4.9 do.
func (s *Server) annotated(command string) bool {
	if strings.Contains(command, "Kubernetes") || strings.HasSuffix(command, "Metrics") || command == "listApis" {
		return true
	}
	a, ok := s.catalog.Get(command)
	return ok && a.Since != "" && compareReleases(a.Since, "4.9") >= 0
}
