package cluster

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
)

const (
	// defaultVPCOffering and defaultTierOffering are what CloudStack itself comes with.
	defaultVPCOffering  = "Default VPC offering"
	defaultTierOffering = "DefaultIsolatedNetworkOfferingForVpcNetworks"
)

// inVPC tells whether the network is, or is to be, a tier of a VPC.
func inVPC(known *infrav1.ResolvedFailureDomain) bool { return known.VPC != nil }

// vpc finds or makes the VPC of a failure domain.
func (r *Reconciler) vpc(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, n infrav1.Network) error {
	if found, err := r.findVPC(ctx, s, known, n); err != nil || found {
		return err
	}
	if n.VPC.CIDR == "" || n.ID != "" {
		return ending.Lacking(infrav1.ReasonVPCNotFound, "no VPC is named %s in the zone %s; one is made when network.vpc.cidr is given, and network.id is not", n.VPC.Name, known.ZoneName)
	}
	if s.intent(infrav1.JobCreateVPC, known.Name) {
		if err := r.patience(s, known.Name, "the VPC "+n.VPC.Name); err != nil {
			return err
		}
	}
	return r.createVPC(ctx, s, known, n.VPC)
}

// findVPC finds and records the VPC that was made for the cluster, or the one of somebody else that is meant. false means that
// there is none of that name.
func (r *Reconciler) findVPC(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, n infrav1.Network) (bool, error) {
	if n.VPC.ID != "" {
		return true, r.vpcByID(ctx, s, known, n.VPC)
	}
	named, err := s.sessions[known.Name].VPCsNamed(ctx, ownerOf(known.Owner), known.ZoneID, n.VPC.Name)
	if err != nil {
		return false, apiFailure("looking for the VPC", err)
	}
	mine, free := sift(s, named, marksOfVPC)
	if len(mine) > 0 {
		if s.intent(infrav1.JobCreateVPC, known.Name) {
			s.end(known.Name)
		}
		if len(mine) > 1 {
			s.setBackBy(ending.Lacking(infrav1.ReasonResourceAmbiguous, "several VPCs carry the mark of this cluster: %s; %s is used", idsOf(mine, marksOfVPC), mine[0].ID))
		}
		known.VPC = &infrav1.ResolvedVPC{ID: mine[0].ID, Name: mine[0].Name, Created: true}
		return true, nil
	}
	switch len(free) {
	case 0:
		return false, nil
	case 1:
		known.VPC = &infrav1.ResolvedVPC{ID: free[0].ID, Name: free[0].Name}
		return true, nil
	}
	return false, ending.Lacking(infrav1.ReasonVPCAmbiguous, "%d VPCs are named %s: set network.vpc.id to one of %s", len(free), n.VPC.Name, idsOf(free, marksOfVPC))
}

func (r *Reconciler) vpcByID(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, wanted *infrav1.VPC) error {
	found, err := s.sessions[known.Name].FindVPC(ctx, ownerOf(known.Owner), wanted.ID)
	switch {
	case err != nil:
		return reasons().Search(infrav1.ReasonVPCNotFound, infrav1.ReasonVPCAmbiguous, "finding the VPC "+wanted.ID, err)
	case !strings.EqualFold(found.ZoneID, known.ZoneID):
		return ending.Lacking(infrav1.ReasonVPCNotFound, "the VPC %s (%s) is not in the zone %s", found.Name, found.ID, known.ZoneName)
	case wanted.Name != "" && wanted.Name != found.Name:
		return ending.Lacking(infrav1.ReasonInvalidSpec, "the VPC %s is named %s and not %s", found.ID, found.Name, wanted.Name)
	}
	known.VPC = &infrav1.ResolvedVPC{ID: found.ID, Name: found.Name, Created: s.ours(marksOfVPC(found))}
	return nil
}

func (r *Reconciler) createVPC(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, wanted *infrav1.VPC) error {
	offering, err := findVPCOffering(ctx, s.sessions[known.Name], cmp.Or(wanted.Offering, defaultVPCOffering))
	if err != nil {
		return err
	}
	return r.do(ctx, s, work{
		kind: infrav1.JobCreateVPC, domain: known.Name, doing: "making the VPC " + wanted.Name, reason: infrav1.ReasonCreating,
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			return session.CreateVPC(ctx, cloudstack.NewVPC{
				Owner: ownerOf(known.Owner), Name: wanted.Name, DisplayText: s.markText(), ZoneID: known.ZoneID, OfferingID: offering, CIDR: wanted.CIDR,
			})
		},
		made: func(id string) {
			known.VPC = &infrav1.ResolvedVPC{ID: id, Name: wanted.Name, Created: true}
			r.memo(s.key, func(m *memo) { m.untagged[id] = untagged{domain: known.Name, kind: cloudstack.TagsOfVPC} })
		},
	})
}

func findVPCOffering(ctx context.Context, session *cloudstack.Session, wanted string) (id string, err error) {
	all, err := session.VPCOfferings(ctx)
	if err != nil {
		return "", apiFailure("listing the VPC offerings", err)
	}
	var fit, names []string
	for _, o := range all {
		names = append(names, o.Name)
		if strings.EqualFold(o.ID, wanted) || o.Name == wanted {
			fit = append(fit, o.ID)
		}
	}
	if len(fit) != 1 {
		slices.Sort(names)
		return "", ending.Lacking(infrav1.ReasonVPCOfferingNotFound, "%d VPC offerings are %q; there are: %s", len(fit), wanted, strings.Join(names[:min(len(names), 20)], ", "))
	}
	return fit[0], nil
}

// checkACL sees whether the ACL list of a tier keeps clients or machines from what they need; the cluster goes on and says
// so. A list is never changed here: a tier that is made gets the one that lets everything pass, and the load balancer itself
// refuses other clients.
func (r *Reconciler) checkACL(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, tier cloudstack.Network) error {
	settled := !inVPC(known) || known.Network.Created || tier.ACLID == ""
	r.memo(s.key, func(m *memo) { settled = settled || m.decided[s.aclKey(tier)] })
	if settled {
		s.reached = true
		return nil
	}
	rules, err := s.sessions[known.Name].ACLRules(ctx, ownerOf(known.Owner), tier.ACLID)
	if err != nil {
		return apiFailure("listing the rules of the ACL list", err)
	}
	for _, w := range s.wantedRules() {
		for _, client := range strings.Split(s.clients(), ",") {
			from, err := netip.ParsePrefix(client)
			if err == nil && !cloudstack.ACLAdmits(rules, w.PrivatePort, from) {
				s.setBackBy(ending.Lacking(infrav1.ReasonNetworkUnsuitable, "the ACL list %s of the tier %s does not let %s in to port %d: allow it there, or give the tier another list",
					tier.ACLID, tier.Name, client, w.PrivatePort))
				return nil
			}
		}
	}
	if !cloudstack.ACLReleases(rules) {
		s.setBackBy(ending.Lacking(infrav1.ReasonNetworkUnsuitable, "the ACL list %s of the tier %s does not let machines out: allow all egress there, or give the tier another list", tier.ACLID, tier.Name))
		return nil
	}
	s.reached = true
	r.memo(s.key, func(m *memo) { m.decided[s.aclKey(tier)] = true })
	return nil
}

// aclKey changes with everything that decides whether an ACL list does.
func (s *scope) aclKey(tier cloudstack.Network) string {
	key := "acl/" + tier.ID + "/" + tier.ACLID + "/" + s.clients()
	for _, w := range s.wantedRules() {
		key += "/" + w.Name
	}
	return key
}

// removeVPCs deletes the VPCs that were made for the cluster and have lost their tiers.
func (r *Reconciler) removeVPCs(ctx context.Context, s *scope) error {
	return r.sideBySide(ctx, s, s.leaving(), func(domain string) error { return r.removeVPC(ctx, s, s.c.Status.Domain(domain)) })
}

// removeVPC begins to delete what bears our mark, be it recorded or not. nil means that nothing is left.
func (r *Reconciler) removeVPC(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	wanted := s.specOf(known.Name).Zone.Network.VPC
	var name string
	switch {
	case known.VPC != nil && !known.VPC.Created, s.sharedVPC(known):
		return nil
	case known.VPC != nil:
		name = known.VPC.Name
	case wanted != nil && wanted.ID == "" && wanted.CIDR != "":
		name = wanted.Name
	default:
		return nil
	}
	named, err := s.sessions[known.Name].VPCsNamed(ctx, ownerOf(known.Owner), known.ZoneID, name)
	if err != nil {
		return apiFailure("listing the VPCs", err)
	}
	if mine, _ := sift(s, named, marksOfVPC); len(mine) > 0 {
		return r.deleteVPC(ctx, s, known, mine[0])
	}
	if s.intent(infrav1.JobCreateVPC, known.Name) {
		if err := r.patience(s, known.Name, "the VPC "+name); err != nil {
			return err
		}
	}
	if known.VPC == nil {
		return nil
	}
	found, err := s.sessions[known.Name].FindVPC(ctx, ownerOf(known.Owner), known.VPC.ID)
	switch {
	case err == nil && found.Tags[infrav1.MarkOwner] == "":
		// Somebody gave it another name and text; the record still says that it was made for us.
		return r.deleteVPC(ctx, s, known, found)
	case err != nil && !cloudstack.Is(err, cloudstack.NotFound):
		return apiFailure("reading the VPC", err)
	}
	known.VPC = nil
	return nil
}

// sharedVPC tells whether a failure domain that stays is in the same VPC.
func (s *scope) sharedVPC(known *infrav1.ResolvedFailureDomain) bool {
	if known.VPC == nil || s.deleting() {
		return false
	}
	return slices.ContainsFunc(s.c.Status.Resolved, func(d infrav1.ResolvedFailureDomain) bool {
		return d.Name != known.Name && d.VPC != nil && d.VPC.ID == known.VPC.ID
	})
}

func (r *Reconciler) deleteVPC(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, v cloudstack.VPC) error {
	all, err := s.sessions[known.Name].Addresses(ctx, cloudstack.AddressQuery{Owner: ownerOf(known.Owner), VPCID: v.ID})
	if err != nil {
		return apiFailure("listing the public addresses", err)
	}
	if err := s.refuseShared(all, "VPC", v.Name, v.ID); err != nil {
		return err
	}
	if err := r.unmarkAll(ctx, s, known, all); err != nil {
		return err
	}
	known.VPC = &infrav1.ResolvedVPC{ID: v.ID, Name: v.Name, Created: true}
	return r.remove(ctx, s, work{
		kind: infrav1.JobDeleteVPC, domain: known.Name, resource: v.ID, doing: "deleting the VPC " + v.Name,
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			job, err := session.DeleteVPC(ctx, v.ID)
			return v.ID, job, err
		},
	})
}
