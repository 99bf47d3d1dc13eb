package cloudstack

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// naming is by what things of one name are told apart.
type naming struct {
	id, name, zoneID string
	created          time.Time
}

// named picks what has exactly that name in a zone, oldest first: lists take a name as a part of one, or not at all.
func named[T any](all []T, zoneID, name string, of func(T) naming) []T {
	var out []T
	for _, one := range all {
		if n := of(one); n.name == name && equalID(n.zoneID, zoneID) {
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(a, b T) int {
		return cmp.Or(of(a).created.Compare(of(b).created), strings.Compare(of(a).id, of(b).id))
	})
	return out
}
