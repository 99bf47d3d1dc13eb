package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/imagecatalog"
)

// checkCredentials reads the identity Secret. What needs no credentials goes on without them.
func (r *Reconciler) checkCredentials(ctx context.Context, s *scope) error {
	_, s.credentialsErr = r.credentials.Config(ctx, s.catalog.Namespace, s.catalog.Spec.IdentityRef)
	s.credentialsKnown = true
	return nil
}

// resolveHypervisors completes the zones that do not tell their hypervisor: with the one that their images have already,
// else with the only one that CloudStack knows there. A zone that cannot be completed does not keep the others waiting.
func (r *Reconciler) resolveHypervisors(ctx context.Context, s *scope) error {
	s.unresolved = map[infrav1.ZoneReference]problem{}
	existing := make([]imagecatalog.Existing, 0, len(s.images))
	for _, image := range s.images {
		existing = append(existing, imagecatalog.ExistingOf(image))
	}
	for _, zone := range s.catalog.Spec.Zones {
		if zone.Hypervisor == "" {
			zone.Hypervisor = imagecatalog.HypervisorIn(zone.ZoneReference, existing)
		}
		if zone.Hypervisor == "" {
			hypervisor, trouble := r.onlyHypervisor(ctx, s, zone.ZoneReference)
			if trouble != nil {
				s.unresolved[zone.ZoneReference] = *trouble
				continue
			}
			zone.Hypervisor = hypervisor
		}
		if !slices.Contains(s.zones, zone) {
			s.zones = append(s.zones, zone)
		}
	}
	return nil
}

// onlyHypervisor asks CloudStack.
func (r *Reconciler) onlyHypervisor(ctx context.Context, s *scope, zone infrav1.ZoneReference) (infrav1.Hypervisor, *problem) {
	if s.credentialsErr != nil {
		return "", &problem{credentialsReason(s.credentialsErr), s.credentialsErr.Error()}
	}
	names, trouble := r.hypervisorsIn(ctx, s, zone)
	if trouble != nil {
		return "", trouble
	}
	var known []infrav1.Hypervisor
	for _, h := range []infrav1.Hypervisor{infrav1.HypervisorKVM, infrav1.HypervisorVMware, infrav1.HypervisorXenServer, infrav1.HypervisorSimulator} {
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, string(h)) }) {
			known = append(known, h)
		}
	}
	if len(known) == 1 {
		return known[0], nil
	}
	text := fmt.Sprintf("the zone %s has no host of a hypervisor that images are made for", zoneText(zone))
	if len(known) == 0 {
		return "", &problem{infrav1.ReasonHypervisorNotInZone, text}
	}
	text = fmt.Sprintf("the zone %s has several hypervisors (%v): set hypervisor in spec.zones", zoneText(zone), known)
	return "", &problem{infrav1.ReasonHypervisorAmbiguous, text}
}

func (r *Reconciler) hypervisorsIn(ctx context.Context, s *scope, zone infrav1.ZoneReference) ([]string, *problem) {
	config, err := r.credentials.Config(ctx, s.catalog.Namespace, s.catalog.Spec.IdentityRef)
	if err != nil {
		return nil, &problem{credentialsReason(err), err.Error()}
	}
	session, err := r.options.Sessions.For(ctx, config)
	if err != nil {
		return nil, &problem{infrav1.ReasonSecretInvalid, err.Error()}
	}
	found, err := session.FindZone(ctx, zone.ID, zone.Name)
	if err != nil {
		return nil, apiProblem("finding the zone "+zoneText(zone), err)
	}
	names, err := session.HypervisorsIn(ctx, found.ID)
	if err != nil {
		return nil, apiProblem("listing the hypervisors of the zone "+zoneText(zone), err)
	}
	return names, nil
}

func zoneText(zone infrav1.ZoneReference) string {
	if zone.Name != "" {
		return zone.Name
	}
	return "with the id " + zone.ID
}

// apiProblem turns a failed call about a zone into what a person reads.
func apiProblem(doing string, err error) *problem {
	reason, message := ending.Reasons{}.Describe(ending.Reasons{}.Search(infrav1.ReasonZoneNotFound, infrav1.ReasonZoneNotFound, doing, err))
	return &problem{reason, message}
}

// credentialsReason tells why there are no credentials.
func credentialsReason(err error) string {
	return cmp.Or(ending.SecretReason(err), infrav1.ReasonInternalError)
}
