package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

const (
	isolated = "Isolated"
	// defaultOffering is what CloudStack itself comes with for isolated networks.
	defaultOffering = "DefaultIsolatedNetworkOfferingWithSourceNatService"
)

// networks finds or makes the network of every failure domain, and sees that those which were found are still there.
func (r *Reconciler) networks(ctx context.Context, s *scope) error {
	return r.sideBySide(ctx, s, names(s.known()), func(domain string) error {
		return s.tolerate(domain, r.network(ctx, s, s.specOf(domain)))
	})
}

// tolerate sets a failure in one failure domain back, once the cluster is in use.
func (s *scope) tolerate(domain string, err error) error {
	if ending.IsFailure(err) && s.provisioned() && s.job(domain) == nil {
		s.setBackBy(err)
		return nil
	}
	return err
}

func (r *Reconciler) network(ctx context.Context, s *scope, d infrav1.FailureDomainSpec) error {
	known := s.c.Status.Domain(d.Name)
	if known.Network != nil {
		return r.networkStands(ctx, s, known)
	}
	n := d.Zone.Network
	if n.VPC != nil && known.VPC == nil {
		if err := r.vpc(ctx, s, known, n); err != nil {
			return err
		}
	}
	if found, err := r.findNetwork(ctx, s, known, n); err != nil || found {
		return err
	}
	name := s.networkName(n)
	if n.Type == infrav1.NetworkTypeShared {
		return ending.Lacking(infrav1.ReasonNetworkNotFound, "no shared network is named %s in the zone %s, and none is made", name, known.ZoneName)
	}
	if s.intent(jobCreateNetwork, known.Name) {
		if err := r.patience(s, known.Name, "the network "+name); err != nil {
			return err
		}
	}
	return r.createNetwork(ctx, s, known, n, name)
}

// networkName is what the network is named that is looked for or made.
func (s *scope) networkName(n infrav1.Network) string { return cmp.Or(n.Name, s.clusterName()) }

// findNetwork finds and records the network that was made for the cluster, or the one of somebody else that is meant. false means
// that there is none of that name.
func (r *Reconciler) findNetwork(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, n infrav1.Network) (bool, error) {
	if n.ID != "" {
		return true, r.networkByID(ctx, s, known, n)
	}
	name := s.networkName(n)
	named, err := s.sessions[known.Name].NetworksNamed(ctx, ownerOf(known.Owner), known.ZoneID, name)
	if err != nil {
		return false, apiFailure("looking for the network", err)
	}
	mine, free := sift(s, within(named, known.VPC), marksOfNetwork)
	if len(mine) > 0 {
		if s.intent(jobCreateNetwork, known.Name) {
			s.end(known.Name)
		}
		if len(mine) > 1 {
			s.setBackBy(ending.Lacking(infrav1.ReasonResourceAmbiguous, "several networks carry the mark of this cluster: %s; %s is used", idsOf(mine, marksOfNetwork), mine[0].ID))
		}
		return true, r.useNetwork(s, known, mine[0], infrav1.Network{}, true)
	}
	switch {
	case n.Name != "" && len(free) == 1:
		return true, r.useNetwork(s, known, free[0], n, false)
	case n.Name != "" && len(free) > 1:
		return false, ending.Lacking(infrav1.ReasonNetworkAmbiguous, "%d networks are named %s: set network.id to one of %s", len(free), name, idsOf(free, marksOfNetwork))
	}
	return false, nil
}

// within leaves the tiers of a VPC, where one is given.
func within(all []cloudstack.Network, vpc *infrav1.ResolvedVPC) []cloudstack.Network {
	if vpc == nil {
		return all
	}
	return slices.DeleteFunc(all, func(n cloudstack.Network) bool { return !strings.EqualFold(n.VPCID, vpc.ID) })
}

func (r *Reconciler) networkByID(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, n infrav1.Network) error {
	found, err := s.sessions[known.Name].FindNetwork(ctx, ownerOf(known.Owner), n.ID)
	if err != nil {
		return reasons().Search(infrav1.ReasonNetworkNotFound, infrav1.ReasonNetworkAmbiguous, "finding the network "+n.ID, err)
	}
	return r.useNetwork(s, known, found, n, s.ours(marksOfNetwork(found)))
}

// useNetwork records a network that is there. wanted says what it must be.
func (r *Reconciler) useNetwork(s *scope, known *infrav1.ResolvedFailureDomain, n cloudstack.Network, wanted infrav1.Network, created bool) error {
	switch {
	case !strings.EqualFold(n.ZoneID, known.ZoneID):
		return ending.Lacking(infrav1.ReasonNetworkUnsuitable, "the network %s (%s) is not in the zone %s", n.Name, n.ID, known.ZoneName)
	case wanted.Type != "" && n.Type != string(wanted.Type):
		return ending.Lacking(infrav1.ReasonNetworkUnsuitable, "the network %s (%s) is %s and not %s", n.Name, n.ID, n.Type, wanted.Type)
	case known.VPC != nil && !strings.EqualFold(n.VPCID, known.VPC.ID):
		return ending.Lacking(infrav1.ReasonNetworkUnsuitable, "the network %s (%s) is no tier of the VPC %s (%s)", n.Name, n.ID, known.VPC.Name, known.VPC.ID)
	}
	known.Network = &infrav1.ResolvedNetwork{ID: n.ID, Name: n.Name, Type: n.Type, Routed: routed(n), Created: created}
	if n.VPCID != "" && known.VPC == nil {
		known.VPC = &infrav1.ResolvedVPC{ID: n.VPCID}
	}
	r.memo(s.key, func(m *memo) { m.networks[n.ID] = n })
	return nil
}

// routed tells whether an isolated network routes instead of translating addresses.
func routed(n cloudstack.Network) bool {
	return n.Type == isolated && n.VPCID == "" && (n.Routed || len(n.Services) > 0 && !n.Offers("SourceNat"))
}

func (r *Reconciler) createNetwork(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, n infrav1.Network, name string) error {
	offering, err := findOffering(ctx, s.sessions[known.Name], known, n)
	if err != nil {
		return err
	}
	vpcID, aclID := "", ""
	if inVPC(known) {
		if n.Gateway == "" {
			return ending.Lacking(infrav1.ReasonInvalidSpec, "no network is named %s in the VPC %s, and a tier is made only with network.gateway and network.netmask", name, known.VPC.Name)
		}
		vpcID = known.VPC.ID
		if aclID, err = s.sessions[known.Name].FindACL(ctx, cloudstack.ACLAllowAll); err != nil {
			return apiFailure("finding the ACL list of the tier", err)
		}
	}
	return r.do(ctx, s, work{
		kind: jobCreateNetwork, domain: known.Name, doing: "making the network " + name, reason: infrav1.ReasonCreating,
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			id, err := session.CreateNetwork(ctx, cloudstack.NewNetwork{
				Owner: ownerOf(known.Owner), Name: name, DisplayText: s.markText(), ZoneID: known.ZoneID, OfferingID: offering.ID,
				Gateway: n.Gateway, Netmask: n.Netmask, VPCID: vpcID, ACLID: aclID,
			})
			return id, "", err
		},
		made: func(id string) {
			made := cloudstack.Network{
				ID: id, Name: name, Type: isolated, ZoneID: known.ZoneID, VPCID: vpcID, ACLID: aclID, EgressAllowed: offering.EgressAllowed,
				Services: offering.Services, Routed: n.RoutingMode != "",
			}
			known.Network = &infrav1.ResolvedNetwork{ID: id, Name: name, Type: isolated, Routed: routed(made), Created: true}
			r.memo(s.key, func(m *memo) {
				m.networks[id] = made
				m.fresh[id] = true
				m.untagged[id] = untagged{domain: known.Name, kind: cloudstack.TagsOfNetwork}
			})
		},
	})
}

func findOffering(ctx context.Context, session *cloudstack.Session, known *infrav1.ResolvedFailureDomain, n infrav1.Network) (cloudstack.NetworkOffering, error) {
	var none cloudstack.NetworkOffering
	if n.RoutingMode != "" && n.Offering == "" {
		return none, ending.Lacking(infrav1.ReasonNetworkOfferingNotFound, "a network that routes needs network.offering in the failure domain %s", known.Name)
	}
	wanted := cmp.Or(n.Offering, defaultOffering)
	if inVPC(known) {
		wanted = cmp.Or(n.Offering, defaultTierOffering)
	}
	all, err := session.NetworkOfferings(ctx, known.ZoneID)
	if err != nil {
		return none, apiFailure("listing the network offerings", err)
	}
	var fit []cloudstack.NetworkOffering
	var names []string
	for _, o := range all {
		if o.GuestType != isolated || o.ForVPC != inVPC(known) || o.NeedsVLAN {
			continue
		}
		names = append(names, o.Name)
		if strings.EqualFold(o.ID, wanted) || o.Name == wanted {
			fit = append(fit, o)
		}
	}
	if len(fit) != 1 {
		slices.Sort(names)
		return none, ending.Lacking(infrav1.ReasonNetworkOfferingNotFound, "%d offerings for isolated networks (or tiers, in a VPC) are %q in the zone %s; there are: %s",
			len(fit), wanted, known.ZoneName, strings.Join(names[:min(len(names), 20)], ", "))
	}
	if n.RoutingMode != "" && slices.Contains(fit[0].Services, "SourceNat") {
		return none, ending.Lacking(infrav1.ReasonNetworkOfferingNotFound, "the offering %s translates addresses and does not route: name another one, or leave network.routingMode out", fit[0].Name)
	}
	return fit[0], nil
}

// facts tells what a network can do.
func (r *Reconciler) facts(ctx context.Context, s *scope, domain string) (cloudstack.Network, error) {
	known := s.c.Status.Domain(domain)
	var found cloudstack.Network
	r.memo(s.key, func(m *memo) { found = m.networks[known.Network.ID] })
	if found.ID != "" {
		return found, nil
	}
	found, err := s.sessions[domain].FindNetwork(ctx, ownerOf(known.Owner), known.Network.ID)
	switch {
	case cloudstack.Is(err, cloudstack.NotFound):
		return found, lost(known)
	case err != nil:
		return found, apiFailure("reading the network", err)
	}
	r.memo(s.key, func(m *memo) { m.networks[found.ID] = found })
	return found, nil
}

// lost is the outcome for a network that is gone. No other is made: what was in it is gone as well, and an account that may
// no longer see it looks the same.
func lost(known *infrav1.ResolvedFailureDomain) error {
	return &step.Failed{
		Reason: infrav1.ReasonNetworkLost, After: ending.Slow,
		Message: fmt.Sprintf("the network %s (%s) of the failure domain %s is not seen any more: replace the cluster, or let its credentials see the network",
			known.Network.Name, known.Network.ID, known.Name),
	}
}

// networkStands sees that the network is still there.
func (r *Reconciler) networkStands(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	seen := s.sights[known.Name]
	if !seen.slow {
		_, err := r.facts(ctx, s, known.Name)
		return err
	}
	if _, there := seen.Networks[known.Network.ID]; !there {
		r.memo(s.key, func(m *memo) { delete(m.networks, known.Network.ID) })
	}
	_, err := r.facts(ctx, s, known.Name)
	return err
}
