package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/imagecatalog"
)

// place is a failure domain as ids of CloudStack.
type place struct {
	domain   string
	identity infrav1.IdentityReference
	owner    cloudstack.Owner
	zoneID   string
	zoneName string
	// hypervisors that images may be for; none means any.
	hypervisors []string
	// network of the machines; its id is empty where the machine must name one.
	network infrav1.ResolvedMachineNetwork
}

// site is the place as images are chosen for it.
func (p place) site() imagecatalog.Site {
	return imagecatalog.Site{ZoneID: p.zoneID, ZoneName: p.zoneName, Hypervisors: p.hypervisors}
}

func ownerOf(o infrav1.ResolvedOwner) cloudstack.Owner {
	return cloudstack.Owner{ProjectID: o.ProjectID, DomainID: o.DomainID, Account: o.Account}
}

// placeOf is where a resolved machine is.
func placeOf(res *infrav1.ResolvedMachine) place {
	p := place{domain: res.FailureDomain, identity: res.IdentityRef, owner: ownerOf(res.Owner), zoneID: res.ZoneID}
	if len(res.Networks) > 0 {
		p.network = res.Networks[0]
	}
	return p
}

// candidate is a failure domain that the cluster has.
type candidate struct {
	name         string
	controlPlane bool
}

// candidates lists the failure domains of the cluster, sorted by name. Those of an externally managed cluster, which has
// nothing resolved, stand in its spec.
func candidates(infra *infrav1.CloudStackCluster) []candidate {
	takes := map[string]bool{}
	for i := range infra.Spec.FailureDomains {
		d := &infra.Spec.FailureDomains[i]
		takes[d.Name] = infra.TakesControlPlane(d)
	}
	if len(takes) == 0 {
		for i := range infra.Status.Resolved {
			takes[infra.Status.Resolved[i].Name] = true
		}
	}
	if z := infra.Spec.Zone; len(takes) == 0 && z != nil {
		takes[cmp.Or(z.Name, z.ID)] = true
	}
	out := make([]candidate, 0, len(takes))
	for name, controlPlane := range takes {
		out = append(out, candidate{name, controlPlane})
	}
	slices.SortFunc(out, func(a, b candidate) int { return strings.Compare(a.name, b.name) })
	return out
}

// wanted is the failure domain that the machine is bound to, and by what; empty when it is free.
func (s *scope) wanted() (domain, by string) {
	if s.machine != nil && s.machine.Spec.FailureDomain != "" {
		return s.machine.Spec.FailureDomain, "Machine.spec.failureDomain"
	}
	if s.m.Spec.FailureDomainName != "" {
		return s.m.Spec.FailureDomainName, "spec.failureDomainName"
	}
	return "", ""
}

// usable are the names of the failure domains that may take the machine.
func (s *scope) usable() []string {
	var names []string
	for _, c := range candidates(s.infra) {
		if c.controlPlane || !s.controlPlane() {
			names = append(names, c.name)
		}
	}
	return names
}

// chooseDomain obeys what the machine is bound to, else spreads the machines of a group evenly.
func (r *Reconciler) chooseDomain(ctx context.Context, s *scope) (domain, why string, err error) {
	if domain, by := s.wanted(); domain != "" {
		all := candidates(s.infra)
		if slices.ContainsFunc(all, func(c candidate) bool { return c.name == domain }) {
			return domain, "as " + by + " asks", nil
		}
		return "", "", ending.Lacking(infrav1.ReasonFailureDomainNotFound, "%s asks for the failure domain %q; the cluster has: %s", by, domain, namesOf(all))
	}
	names := s.usable()
	free := open(names, s.m.Status.Refusals, s.now)
	switch {
	case len(names) == 0:
		return "", "", ending.Lacking(infrav1.ReasonFailureDomainNotFound, "no failure domain takes the machine; the cluster has: %s", namesOf(candidates(s.infra)))
	case len(names) == 1:
		return names[0], "the only one", nil
	case len(free) == 1:
		return free[0], "the only one of " + strings.Join(names, ", ") + " that did not refuse the machine lately", nil
	}
	group, err := r.group(ctx, s)
	if err != nil {
		return "", "", err
	}
	r.memos.Among(s.key, func(mine *memo, all map[types.NamespacedName]*memo) {
		remember(group, s.key, all)
		domain = spread(free, group, s.key.Name)
		mine.domain = domain
	})
	return domain, fmt.Sprintf("even spread of %d machines over %s", len(group), strings.Join(free, ", ")), nil
}

// remember fills in where the others of a group were just placed, which the cache may not show yet.
func remember(group []member, own types.NamespacedName, all map[types.NamespacedName]*memo) {
	for i := range group {
		m := &group[i]
		if other := all[types.NamespacedName{Namespace: own.Namespace, Name: m.name}]; m.domain == "" && m.name != own.Name && other != nil {
			m.domain = other.domain
		}
	}
}

func namesOf(all []candidate) string {
	if len(all) == 0 {
		return "none"
	}
	names := make([]string, 0, len(all))
	for _, c := range all {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

// groupOf names what a Machine belongs to: the control plane, its MachineDeployment or MachineSet, or the other workers.
func groupOf(labels map[string]string) string {
	if _, ok := labels[clusterv1.MachineControlPlaneLabel]; ok {
		return "control-plane"
	}
	return cmp.Or(labels[clusterv1.MachineDeploymentNameLabel], labels[clusterv1.MachineSetNameLabel], "workers")
}

// group lists the machines that are spread together with this one, itself included.
func (r *Reconciler) group(ctx context.Context, s *scope) ([]member, error) {
	var machines clusterv1.MachineList
	inCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: s.machine.Spec.ClusterName}
	if err := r.client.List(ctx, &machines, client.InNamespace(s.key.Namespace), inCluster, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Machines: %w", err)
	}
	var own infrav1.CloudStackMachineList
	if err := r.client.List(ctx, &own, client.InNamespace(s.key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the machines: %w", err)
	}
	domains := make(map[string]string, len(own.Items))
	for i := range own.Items {
		domains[own.Items[i].Name] = cmp.Or(own.Items[i].Status.FailureDomain, own.Items[i].Spec.FailureDomainName)
	}
	domains[s.key.Name] = ""
	mine := groupOf(s.machine.Labels)
	group := []member{{name: s.key.Name, created: s.machine.CreationTimestamp.Time}}
	for i := range machines.Items {
		m := &machines.Items[i]
		name := m.Spec.InfrastructureRef.Name
		if groupOf(m.Labels) == mine && m.DeletionTimestamp.IsZero() && name != s.key.Name {
			group = append(group, member{name: name, created: m.CreationTimestamp.Time, domain: cmp.Or(m.Spec.FailureDomain, domains[name])})
		}
	}
	return group, nil
}

// placeIn turns a failure domain into ids: those that the cluster has resolved, else by asking. It opens the session.
func (r *Reconciler) placeIn(ctx context.Context, s *scope, domain string) error {
	s.place = place{domain: domain}
	if d := s.infra.Status.Domain(domain); d != nil {
		s.place = place{
			domain: domain, identity: d.IdentityRef, owner: ownerOf(d.Owner), zoneID: d.ZoneID, zoneName: d.ZoneName, hypervisors: d.Hypervisors,
		}
		if d.IdentityRef.Name == "" {
			s.place.identity = s.infra.Spec.IdentityRef
		}
		if d.Network != nil {
			s.place.network = infrav1.ResolvedMachineNetwork{ID: d.Network.ID, Name: d.Network.Name}
		}
		return r.open(ctx, s)
	}
	return r.askForPlace(ctx, s, domain)
}

// open makes the session of the place.
func (r *Reconciler) open(ctx context.Context, s *scope) error {
	config, err := r.credentials.Config(ctx, s.key.Namespace, s.place.identity)
	if err != nil {
		return ending.Credentials(err)
	}
	if s.session, err = r.options.Sessions.For(ctx, config); err != nil {
		return ending.Session(err)
	}
	return nil
}

// domainSpec is the failure domain of that name in the spec of the cluster; the shorthand of one zone is one too.
func domainSpec(infra *infrav1.CloudStackCluster, name string) infrav1.FailureDomainSpec {
	for _, d := range infra.Spec.FailureDomains {
		if d.Name == name {
			return d
		}
	}
	d := infrav1.FailureDomainSpec{Name: name}
	if z := infra.Spec.Zone; z != nil {
		d.Zone = infrav1.FailureDomainZone{ID: z.ID, Name: z.Name}
	}
	if n := infra.Spec.Network; n != nil {
		d.Zone.Network = *n
	}
	return d
}

// askForPlace resolves a failure domain that nobody has resolved: the cluster is managed externally.
func (r *Reconciler) askForPlace(ctx context.Context, s *scope, domain string) error {
	d := domainSpec(s.infra, domain)
	if d.ACSEndpoint.Foreign(s.key.Namespace) {
		return ending.Lacking(infrav1.ReasonInvalidSpec, "the failure domain %s takes its credentials from the namespace %s: put the Secret into %s",
			d.Name, d.ACSEndpoint.Namespace, s.key.Namespace)
	}
	s.place.identity = s.infra.Spec.IdentityRef
	if d.ACSEndpoint.Name != "" {
		s.place.identity = d.ACSEndpoint.Identity()
	}
	if err := r.open(ctx, s); err != nil {
		return err
	}
	var err error
	o := d.Owner()
	s.place.owner, err = s.session.FindOwner(ctx, cloudstack.OwnerName{Project: o.Project, Domain: o.Domain, Account: o.Account})
	if err != nil {
		return searchFailure(infrav1.ReasonOwnerNotFound, "finding the owner", err)
	}
	zone, err := s.session.FindZone(ctx, d.Zone.ID, d.Zone.Name)
	if err != nil {
		return reasons().Search(infrav1.ReasonZoneNotFound, infrav1.ReasonZoneAmbiguous, "finding the zone", err)
	}
	s.place.zoneID, s.place.zoneName = zone.ID, zone.Name
	if d.Hypervisor != "" {
		s.place.hypervisors = []string{string(d.Hypervisor)}
	}
	if d.Zone.Network.ID == "" && d.Zone.Network.Name == "" {
		return nil
	}
	s.place.network, err = s.findNetwork(ctx, infrav1.MachineNetwork{ID: d.Zone.Network.ID, Name: d.Zone.Network.Name})
	return err
}
