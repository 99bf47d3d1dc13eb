package cluster

import (
	"context"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
)

// sight is what the watch saw of a failure domain. quick and slow tell which of it was seen after the last change here.
type sight struct {
	cloudstack.NetworkSight
	quick, slow bool
}

// watchKey tells the cluster apart from others who watch parts of the network.
func (s *scope) watchKey(domain string) string { return "cluster/" + s.key.String() + "/" + domain }

// parts are what was made or found in a failure domain.
func (r *Reconciler) parts(s *scope, known *infrav1.ResolvedFailureDomain) cloudstack.NetworkParts {
	p := cloudstack.NetworkParts{Owner: ownerOf(known.Owner), Networks: []string{known.Network.ID}}
	if len(known.Network.EgressRuleIDs) > 0 {
		p.EgressOf = []string{known.Network.ID}
	}
	r.memo(s.key, func(m *memo) {
		if m.decided[known.Network.ID] {
			p.EgressOfOthers = []string{known.Network.ID}
		}
	})
	lb := s.c.Status.LoadBalancer
	if lb == nil || lb.FailureDomain != known.Name || lb.PublicIPID == "" || lb.PublicIP == "" {
		return p
	}
	p.Addresses, p.LoadBalancers = []string{lb.PublicIPID}, lb.RuleIDs()
	if len(lb.FirewallRules) > 0 {
		p.FirewallOf = []string{lb.PublicIPID}
	}
	return p
}

// look asks what the shared watch saw of a cluster that is complete. It costs no call. It fails when CloudStack cannot
// be looked at, since it takes the credentials no more or has not answered for a while.
func (r *Reconciler) look(_ context.Context, s *scope) error {
	if !s.provisioned() || len(s.c.Status.Jobs) > 0 {
		return nil
	}
	for _, d := range s.known() {
		known := s.c.Status.Domain(d.Name)
		if known.Network == nil {
			continue
		}
		seen := sight{NetworkSight: s.sessions[d.Name].WatchNetwork(s.watchKey(d.Name), r.parts(s, known), r.wake(s))}
		r.memo(s.key, func(m *memo) {
			seen.quick = !seen.QuickAt.IsZero() && seen.QuickAt.After(m.touched[d.Name])
			seen.slow = !seen.SlowAt.IsZero() && seen.SlowAt.After(m.touched[d.Name])
			for _, n := range seen.Networks {
				if known.Network.Created && !s.oursByTag(n.Tags) && seen.slow {
					m.untagged[n.ID] = untagged{domain: d.Name, kind: cloudstack.TagsOfNetwork}
				}
			}
		})
		s.sights[d.Name] = seen
		if seen.Unseen != nil {
			return apiFailure("looking at the network of the failure domain "+d.Name, seen.Unseen)
		}
	}
	return nil
}
