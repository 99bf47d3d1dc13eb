package machine

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// member is a machine of a group whose machines are spread over failure domains.
type member struct {
	name    string
	created time.Time
	// domain is where the machine is or must be; empty while that is open.
	domain string
}

// spread gives the failure domain of a machine of the group so that all domains get the same number: the machines whose
// domain is open take, oldest first, the domain with the fewest, and of equal ones the first by name. Whoever computes it
// from the same group comes to the same result. It is "" when there are no domains.
func spread(domains []string, group []member, name string) string {
	if len(domains) == 0 {
		return ""
	}
	domains = slices.Sorted(slices.Values(domains))
	count := make(map[string]int, len(domains))
	var open []member
	for _, m := range group {
		if m.domain == "" {
			open = append(open, m)
		}
		count[m.domain]++
	}
	slices.SortFunc(open, func(a, b member) int {
		return cmp.Or(a.created.Compare(b.created), strings.Compare(a.name, b.name))
	})
	for _, m := range open {
		least := slices.MinFunc(domains, func(a, b string) int { return cmp.Compare(count[a], count[b]) })
		if m.name == name {
			return least
		}
		count[least]++
	}
	return slices.MinFunc(domains, func(a, b string) int { return cmp.Compare(count[a], count[b]) })
}
