package machinetemplate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// place is where machines would be, as far as it matters for their size: whose offerings, in which zone.
type place struct {
	identity infrav1.IdentityReference
	owner    infrav1.ResourceOwner
	// zone is empty where the account's only zone is meant.
	zone infrav1.ZoneReference
	// from names the object that tells it.
	from string
}

// readCatalogs lists the catalogs that count: those that the cluster names, or all of the namespace.
func (r *Reconciler) readCatalogs(ctx context.Context, s *scope) error {
	var list infrav1.TemplateCatalogList
	if err := r.client.List(ctx, &list, client.InNamespace(s.template.Namespace)); err != nil {
		return fmt.Errorf("listing the catalogs: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b infrav1.TemplateCatalog) int { return strings.Compare(a.Name, b.Name) })
	for i := range list.Items {
		named := func(ref infrav1.CatalogReference) bool { return ref.Name == list.Items[i].Name }
		if s.infra == nil || len(s.infra.Spec.Catalogs) == 0 || slices.ContainsFunc(s.infra.Spec.Catalogs, named) {
			s.catalogs = append(s.catalogs, list.Items[i])
		}
	}
	return nil
}

// findPlace finds where the machines would be: what the cluster of the template tells, else what all the clusters of the
// namespace tell alike, else its catalogs. Nothing is guessed where they differ.
func (r *Reconciler) findPlace(ctx context.Context, s *scope) error {
	if s.infra != nil {
		s.place = placeIn(s.infra, s.spec().FailureDomainName)
		if s.place.identity.Name == "" {
			return &step.Waiting{Reason: infrav1.ReasonIdentityNotFound, Message: fmt.Sprintf("%s names no credentials for this template", s.place.from)}
		}
		return nil
	}
	if s.cluster != nil {
		return &step.Waiting{
			Reason:  infrav1.ReasonWaitingForInfrastructure,
			Message: fmt.Sprintf("the cluster %s has no CloudStackCluster yet", s.cluster.Name),
		}
	}
	var clusters infrav1.CloudStackClusterList
	if err := r.client.List(ctx, &clusters, client.InNamespace(s.template.Namespace)); err != nil {
		return fmt.Errorf("listing the clusters: %w", err)
	}
	var found []place
	for i := range clusters.Items {
		found = append(found, placeIn(&clusters.Items[i], s.spec().FailureDomainName))
	}
	if len(found) == 0 {
		found = placesOf(s.catalogs)
	}
	return s.settleOn(found)
}

// settleOn takes the place when there is only one.
func (s *scope) settleOn(found []place) error {
	slices.SortFunc(found, func(a, b place) int { return strings.Compare(a.from, b.from) })
	found = slices.DeleteFunc(found, func(p place) bool { return p.identity.Name == "" })
	if len(found) == 0 {
		return &step.Waiting{
			Reason:  infrav1.ReasonIdentityNotFound,
			Message: "no cluster owns the template, and the namespace has no CloudStackCluster or TemplateCatalog to take credentials from",
		}
	}
	for _, other := range found[1:] {
		same := other
		same.from = found[0].from
		if same != found[0] {
			return &step.Waiting{
				Reason:  infrav1.ReasonIdentityAmbiguous,
				Message: fmt.Sprintf("no cluster owns the template, and %s and %s tell different places", found[0].from, other.from),
			}
		}
	}
	s.place = found[0]
	return nil
}

// placeIn is the failure domain of that name in a cluster, or its first one.
func placeIn(c *infrav1.CloudStackCluster, domain string) place {
	p := place{identity: c.Spec.IdentityRef, from: "the CloudStackCluster " + c.Name}
	if c.Spec.Zone != nil {
		p.zone = *c.Spec.Zone
	}
	if len(c.Spec.FailureDomains) == 0 {
		return p
	}
	domains := slices.Clone(c.Spec.FailureDomains)
	slices.SortFunc(domains, func(a, b infrav1.FailureDomainSpec) int {
		return cmp.Or(cmp.Compare(unlike(a.Name, domain), unlike(b.Name, domain)), strings.Compare(a.Name, b.Name))
	})
	d := &domains[0]
	switch {
	case d.ACSEndpoint.Foreign(c.Namespace):
		p.identity = infrav1.IdentityReference{}
	case d.ACSEndpoint.Name != "":
		p.identity = d.ACSEndpoint.Identity()
	}
	p.owner = d.Owner()
	p.zone = infrav1.ZoneReference{ID: d.Zone.ID}
	if d.Zone.ID == "" {
		p.zone.Name = d.Zone.Name
	}
	return p
}

// unlike is 0 for the name that is wanted.
func unlike(name, wanted string) int {
	if name == wanted {
		return 0
	}
	return 1
}

func placesOf(catalogs []infrav1.TemplateCatalog) []place {
	var found []place
	for i := range catalogs {
		c := &catalogs[i]
		p := place{identity: c.Spec.IdentityRef, owner: c.Spec.Owner, from: "the TemplateCatalog " + c.Name}
		if len(c.Spec.Zones) > 0 {
			p.zone = c.Spec.Zones[0].ZoneReference
		}
		found = append(found, p)
	}
	return found
}

// open turns the place into ids of CloudStack.
func (r *Reconciler) open(ctx context.Context, s *scope) error {
	config, err := r.credentials.Config(ctx, s.template.Namespace, s.place.identity)
	if err != nil {
		return ending.Credentials(err)
	}
	if s.session, err = r.options.Sessions.For(ctx, config); err != nil {
		return ending.Session(err)
	}
	if s.owner, err = s.session.FindOwner(ctx, ownerName(s.place.owner)); err != nil {
		return searchFailure("finding the owner", infrav1.ReasonOwnerNotFound, err)
	}
	return s.findZone(ctx)
}

func (s *scope) findZone(ctx context.Context) error {
	if s.place.zone != (infrav1.ZoneReference{}) {
		zone, err := s.session.FindZone(ctx, s.place.zone.ID, s.place.zone.Name)
		if err != nil {
			return searchFailure("finding the zone", infrav1.ReasonZoneNotFound, err)
		}
		s.zoneID = zone.ID
		return nil
	}
	zones, err := s.session.Zones(ctx)
	if err != nil {
		return searchFailure("listing the zones", infrav1.ReasonZoneNotFound, err)
	}
	if len(zones) != 1 {
		reason := infrav1.ReasonZoneAmbiguous
		if len(zones) == 0 {
			reason = infrav1.ReasonZoneNotFound
		}
		return &step.Failed{Reason: reason, After: ending.Slow, Message: fmt.Sprintf("the account sees %d zones, and %s names none", len(zones), s.place.from)}
	}
	s.zoneID = zones[0].ID
	return nil
}
