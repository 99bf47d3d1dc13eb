package cloudsim

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// ownerFields names the owner of a row: the account, or the project in its place.
func (c *call) ownerFields(a *account, name string) object {
	if a.project != nil {
		return obj("projectid", a.project.id, "project", a.project.name)
	}
	return obj(name, a.name)
}

// domainFields names the domain of an owner.
func (c *call) domainFields(a *account) object {
	return obj("domain", a.domain.name, "domainpath", a.domain.path(), "domainid", a.domain.id)
}

// domainFirst is domainFields in the order of most lists.
func (c *call) domainFirst(a *account) object {
	return obj("domainid", a.domain.id, "domain", a.domain.name, "domainpath", a.domain.path())
}

// detailsObject shows a map of details, ordered by key so that replies are repeatable.
func detailsObject(details map[string]string) object {
	o := object{}
	for _, k := range slices.Sorted(maps.Keys(details)) {
		o = o.with(k, details[k])
	}
	return o
}

// bareChecksum drops the algorithm in front of a checksum, as lists do.
func bareChecksum(s string) string {
	if strings.HasPrefix(s, "{") {
		if _, rest, ok := strings.Cut(s, "}"); ok {
			return rest
		}
	}
	return s
}

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
