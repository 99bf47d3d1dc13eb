package cluster

import (
	"cmp"
	"context"
	"slices"
	"strings"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
)

// wanted are the failure domains of the spec. The one of the short form has no name until its zone is known.
func (s *scope) wanted() []infrav1.FailureDomainSpec {
	if len(s.c.Spec.FailureDomains) > 0 {
		return s.c.Spec.FailureDomains
	}
	d := infrav1.FailureDomainSpec{}
	if z := s.c.Spec.Zone; z != nil {
		d.Zone = infrav1.FailureDomainZone{ID: z.ID, Name: z.Name}
	}
	if n := s.c.Spec.Network; n != nil {
		d.Zone.Network = *n
	}
	if len(s.c.Status.Resolved) > 0 {
		d.Name = s.c.Status.Resolved[0].Name
	}
	return []infrav1.FailureDomainSpec{d}
}

// known are the wanted failure domains that are resolved.
func (s *scope) known() []infrav1.FailureDomainSpec {
	return slices.DeleteFunc(slices.Clone(s.wanted()), func(d infrav1.FailureDomainSpec) bool { return s.c.Status.Domain(d.Name) == nil })
}

// specOf is the failure domain of that name in the spec; empty but for the name when it is no longer there.
func (s *scope) specOf(name string) infrav1.FailureDomainSpec {
	for _, d := range s.wanted() {
		if d.Name == name {
			return d
		}
	}
	return infrav1.FailureDomainSpec{Name: name}
}

// identityOf names the credentials of a failure domain.
func (s *scope) identityOf(d infrav1.FailureDomainSpec) infrav1.IdentityReference {
	if d.ACSEndpoint.Name != "" {
		return d.ACSEndpoint.Identity()
	}
	return s.c.Spec.IdentityRef
}

// connect opens a session for every failure domain, those that are no longer wanted included.
func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	var wanted []string
	for _, d := range s.wanted() {
		wanted = append(wanted, d.Name)
		if d.ACSEndpoint.Foreign(s.key.Namespace) {
			return ending.Lacking(infrav1.ReasonInvalidSpec, "the failure domain %s takes its credentials from the namespace %s: put the Secret into %s",
				d.Name, d.ACSEndpoint.Namespace, s.key.Namespace)
		}
		identity := s.identityOf(d)
		if err := r.open(ctx, s, d.Name, identity); err != nil {
			return err
		}
		if known := s.c.Status.Domain(d.Name); known != nil {
			known.IdentityRef = identity
		}
	}
	for _, known := range s.c.Status.Resolved {
		if slices.Contains(wanted, known.Name) {
			continue
		}
		if err := r.open(ctx, s, known.Name, known.IdentityRef); err != nil {
			if s.deleting() {
				return err
			}
			s.setBackBy(err)
		}
	}
	s.connected = true
	return nil
}

func (r *Reconciler) open(ctx context.Context, s *scope, domain string, identity infrav1.IdentityReference) error {
	if identity.Name == "" {
		return ending.Lacking(infrav1.ReasonIdentityNotFound, "neither identityRef nor acsEndpoint of the failure domain %s names a Secret", domain)
	}
	config, err := r.credentials.Config(ctx, s.key.Namespace, identity)
	if err != nil {
		return ending.Credentials(err)
	}
	session, err := r.options.Sessions.For(ctx, config)
	if err != nil {
		return ending.Session(err)
	}
	s.sessions[domain] = session
	return nil
}

// resolve turns failure domains into ids, which are saved with the finalizer before anything is made. A deletion resolves
// only what was resolved before and lost, as by a move to another management cluster.
func (r *Reconciler) resolve(ctx context.Context, s *scope) error {
	if s.deleting() && len(s.c.Status.Resolved) > 0 {
		return nil
	}
	changed := false
	for _, d := range s.wanted() {
		if known := s.c.Status.Domain(d.Name); known != nil && d.Name != "" {
			if differs(d.Zone, known) {
				s.setBackBy(ending.Lacking(infrav1.ReasonInvalidSpec, "the failure domain %s was in the zone %s before and cannot move: give the new one another name", d.Name, known.ZoneName))
			}
			if d.Hypervisor != "" && !slices.Equal(known.Hypervisors, []string{string(d.Hypervisor)}) {
				if err := findHypervisors(ctx, s.sessions[d.Name], d, known); err != nil {
					s.setBackBy(err)
				}
			}
			continue
		}
		found, err := r.resolveDomain(ctx, s, d)
		switch {
		case err != nil && s.provisioned():
			s.setBackBy(err)
		case err != nil:
			return err
		default:
			s.c.Status.Resolved = append(s.c.Status.Resolved, found)
			s.sessions[found.Name] = s.sessions[d.Name]
			changed = true
		}
	}
	return s.claim(changed)
}

// claim writes finalizer and identity, and ends the reconcile when anything is to be saved.
func (s *scope) claim(changed bool) error {
	if kube.Claim(s.c, infrav1.FinalizerCluster) || changed {
		return &step.Waiting{Reason: infrav1.ReasonResolving, Message: "zones and owners are found", After: ending.AtOnce}
	}
	return nil
}

// differs tells whether a failure domain of the spec means another zone than the one that was resolved.
func differs(z infrav1.FailureDomainZone, known *infrav1.ResolvedFailureDomain) bool {
	if z.ID != "" {
		return !strings.EqualFold(z.ID, known.ZoneID)
	}
	return z.Name != "" && known.ZoneName != "" && z.Name != known.ZoneName
}

func (r *Reconciler) resolveDomain(ctx context.Context, s *scope, d infrav1.FailureDomainSpec) (infrav1.ResolvedFailureDomain, error) {
	out := infrav1.ResolvedFailureDomain{Name: d.Name, IdentityRef: s.identityOf(d)}
	session := s.sessions[d.Name]
	o := d.Owner()
	owner, err := session.FindOwner(ctx, cloudstack.OwnerName{Project: o.Project, Domain: o.Domain, Account: o.Account})
	if err != nil {
		return out, reasons().Search(infrav1.ReasonOwnerNotFound, infrav1.ReasonOwnerNotFound, "finding the owner", err)
	}
	out.Owner = infrav1.ResolvedOwner{ProjectID: owner.ProjectID, DomainID: owner.DomainID, Account: owner.Account}
	zone, err := findZone(ctx, session, d.Zone)
	if err != nil {
		return out, err
	}
	out.ZoneID, out.ZoneName = zone.ID, zone.Name
	if out.Name == "" {
		out.Name = zone.Name
	}
	return out, findHypervisors(ctx, session, d, &out)
}

// findHypervisors records the hypervisor that the failure domain names, which the zone must have, or else all that it has.
func findHypervisors(ctx context.Context, session *cloudstack.Session, d infrav1.FailureDomainSpec, out *infrav1.ResolvedFailureDomain) error {
	there, err := session.HypervisorsIn(ctx, out.ZoneID)
	if err != nil {
		return apiFailure("listing the hypervisors of the zone", err)
	}
	wanted := string(d.Hypervisor)
	switch {
	case wanted == "":
		out.Hypervisors = there
		return nil
	case slices.ContainsFunc(there, func(h string) bool { return strings.EqualFold(h, wanted) }):
		out.Hypervisors = []string{wanted}
		return nil
	}
	return ending.Lacking(infrav1.ReasonHypervisorNotInZone, "no host of the zone %s has the hypervisor %s of the failure domain %s; the zone has: %s",
		out.ZoneName, wanted, out.Name, cmp.Or(strings.Join(there, ", "), "none"))
}

// findZone finds the zone that is named, or the only one that the account sees.
func findZone(ctx context.Context, session *cloudstack.Session, z infrav1.FailureDomainZone) (cloudstack.Zone, error) {
	if z.ID == "" && z.Name == "" {
		zones, err := session.Zones(ctx)
		if err != nil {
			return cloudstack.Zone{}, apiFailure("listing the zones", err)
		}
		if len(zones) != 1 {
			return cloudstack.Zone{}, severalZones(zones)
		}
		return enabled(zones[0])
	}
	zone, err := session.FindZone(ctx, z.ID, z.Name)
	if err != nil {
		return zone, reasons().Search(infrav1.ReasonZoneNotFound, infrav1.ReasonZoneAmbiguous, "finding the zone", err)
	}
	if z.ID != "" && z.Name != "" && z.Name != zone.Name {
		return zone, ending.Lacking(infrav1.ReasonInvalidSpec, "the zone %s is named %s and not %s", z.ID, zone.Name, z.Name)
	}
	return enabled(zone)
}

func severalZones(zones []cloudstack.Zone) error {
	if len(zones) == 0 {
		return ending.Lacking(infrav1.ReasonZoneNotFound, "the account sees no zone")
	}
	var names []string
	for _, z := range zones {
		names = append(names, z.Name)
	}
	slices.Sort(names)
	return ending.Lacking(infrav1.ReasonZoneAmbiguous, "the account sees several zones: set spec.zone to one of %s", strings.Join(names[:min(len(names), 20)], ", "))
}

func enabled(z cloudstack.Zone) (cloudstack.Zone, error) {
	if !z.Enabled {
		return z, ending.Lacking(infrav1.ReasonZoneDisabled, "the zone %s takes no new work", z.Name)
	}
	return z, nil
}
