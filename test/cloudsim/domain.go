package cloudsim

import "strings"

// domain is a node of the tree of tenants.
type domain struct {
	base
	name   string
	parent *domain
	limits map[int]int64
	state  string
}

func (d *domain) path() string {
	if d.parent == nil {
		return d.name
	}
	return d.parent.path() + "/" + d.name
}

func (d *domain) level() int {
	if d.parent == nil {
		return 0
	}
	return d.parent.level() + 1
}

// contains says whether other is d or below it.
func (d *domain) contains(other *domain) bool {
	for ; other != nil; other = other.parent {
		if other == d {
			return true
		}
	}
	return false
}

// domainByPath finds a live domain by "ROOT/a", "/a", "a" or "/".
func (s *Server) domainByPath(path string) *domain {
	path = strings.Trim(path, "/")
	if path != "ROOT" && !strings.HasPrefix(path, "ROOT/") {
		path = strings.TrimSuffix("ROOT/"+path, "/")
	}
	for _, d := range s.domains.rows {
		if d.live() && strings.EqualFold(d.path(), path) {
			return d
		}
	}
	return nil
}
