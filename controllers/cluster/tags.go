package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capcat/capcat/controllers/cloudstack"
)

// untagged is where and what a thing is that lacks our tags.
type untagged struct {
	domain string
	kind   cloudstack.ResourceType
}

// tag repeats the owner mark where people see it. Nothing waits for it: networks and addresses that the watch sees untagged
// are tagged again.
// Load-balancer rules are left out: their tags outlive them, and their description holds the mark. So are the rules of what
// was made for the cluster, which go with it.
func (r *Reconciler) tag(ctx context.Context, s *scope) error {
	batches := map[untagged][]string{}
	r.memo(s.key, func(m *memo) {
		for id, u := range m.untagged {
			batches[u] = append(batches[u], id)
		}
		clear(m.untagged)
	})
	order := slices.SortedFunc(maps.Keys(batches), func(a, b untagged) int {
		return cmp.Or(strings.Compare(a.domain, b.domain), strings.Compare(string(a.kind), string(b.kind)))
	})
	for _, u := range order {
		session := s.sessions[u.domain]
		if session == nil {
			continue
		}
		r.touch(s, u.domain)
		ids := slices.Sorted(slices.Values(batches[u]))
		if _, err := session.CreateTags(ctx, u.kind, s.tags(), ids...); err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("Tagging failed and is left to the next look", "kind", u.kind, "reason", cloudstack.KindOf(err))
		}
	}
	return nil
}
