package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

const (
	restFirst   = 30 * time.Second
	restLongest = 15 * time.Minute
	// natPatience is how long is tried to give back an address that its network has made its source NAT meanwhile.
	natPatience = time.Hour
)

// awaitMachines keeps everything as long as there are machines.
func (r *Reconciler) awaitMachines(ctx context.Context, s *scope) error {
	machines, err := r.machines(ctx, s)
	if err != nil || len(machines) == 0 {
		return err
	}
	return &step.Waiting{
		Reason:  infrav1.ReasonWaitingForMachines,
		Message: fmt.Sprintf("%d machines are there, among them %s", len(machines), machines[0].Name),
	}
}

// unbalance gives the public address back with its rules, when the cluster is deleted or does without a load balancer. An
// address that was there before is kept and loses our rules.
func (r *Reconciler) unbalance(ctx context.Context, s *scope) error {
	lb := s.c.Status.LoadBalancer
	if lb == nil {
		return nil
	}
	known := s.balancerDomain()
	if known == nil || known.Network == nil {
		s.c.Status.LoadBalancer = nil
		return nil
	}
	if lb.PublicIPID == "" {
		return r.findAbandoned(ctx, s, known)
	}
	a, err := s.sessions[known.Name].FindAddress(ctx, ownerOf(known.Owner), lb.PublicIPID)
	switch {
	case cloudstack.Is(err, cloudstack.NotFound), err == nil && !s.leased(a, known):
		s.forgetBalancer()
		return nil
	case err != nil:
		return apiFailure("reading the public address", err)
	case !lb.Created:
		return r.clearAddress(ctx, s, known)
	case a.SourceNAT && goesAlong(known) && s.deleting():
		return r.unmark(ctx, s, known, a) // it goes with the network, and not before
	case a.SourceNAT && (s.waited() > natPatience || !s.deleting()):
		return r.clearAddress(ctx, s, known) // it has become a part of the network, which is not ours
	}
	return r.releaseAddress(ctx, s, known, a)
}

// goesAlong tells whether the addresses of the network go away with what was made for the cluster.
func goesAlong(known *infrav1.ResolvedFailureDomain) bool {
	if inVPC(known) {
		return known.VPC.Created
	}
	return known.Network.Created
}

// unmark takes our tags off an address that goes with its network: they might outlive the lease.
func (r *Reconciler) unmark(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, a cloudstack.Address) error {
	if !s.oursByTag(a.Tags) {
		return nil
	}
	return s.untag(ctx, known.Name, a.ID)
}

// untag takes our tags off an address that we do not give back. They are for people: where the account may not take them off, they
// stay.
func (s *scope) untag(ctx context.Context, domain, addressID string) error {
	_, err := s.sessions[domain].DeleteTags(ctx, cloudstack.TagsOfAddress, s.tags(), addressID)
	if err != nil && !cloudstack.Is(err, cloudstack.NotPermitted) {
		return apiFailure("removing our tags from the public address", err)
	}
	return nil
}

func (s *scope) forgetBalancer() { s.c.Status.LoadBalancer, s.c.Status.Deletion = nil, nil }

// waited is how long the deletion has been waiting for what blocks it.
func (s *scope) waited() time.Duration {
	d := s.c.Status.Deletion
	if d == nil || d.Since == nil {
		return 0
	}
	return s.now.Sub(d.Since.Time)
}

// findAbandoned looks for an address that was taken without our learning of it.
func (r *Reconciler) findAbandoned(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	all, err := s.sessions[known.Name].Addresses(ctx, addressesOf(known))
	if err != nil {
		if known.Network.Created {
			return nil // the network is on its way out, and takes its addresses along
		}
		return apiFailure("listing the public addresses", err)
	}
	found, err := s.pickAddress(all, known)
	if err != nil {
		return err
	}
	if found != nil {
		return s.useAddress(found, nil) // one that was there before loses our rules
	}
	if s.intent(infrav1.JobAssociateAddress, known.Name) {
		if err := r.patience(s, known.Name, "the public address"); err != nil {
			return err
		}
	}
	s.forgetBalancer()
	return nil
}

func (r *Reconciler) releaseAddress(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, a cloudstack.Address) error {
	lease := leaseOf(known, a)
	if s.oursByTag(a.Tags) {
		lease.TagKey, lease.TagValue = infrav1.MarkOwner, s.identity()
	}
	if a.SourceNAT {
		s.countTry()
	}
	w := work{
		kind: infrav1.JobReleaseAddress, domain: known.Name, resource: a.ID, doing: "releasing the public address " + a.IP,
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			job, err := session.ReleaseAddress(ctx, lease)
			return a.ID, job, err
		},
	}
	return r.remove(ctx, s, w)
}

// clearAddress removes our rules from an address that stays.
func (r *Reconciler) clearAddress(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	lb, session := s.c.Status.LoadBalancer, s.sessions[known.Name]
	if !inVPC(known) { // addresses of a VPC have no firewall
		if err := r.closeFirewall(ctx, s, known); err != nil {
			return err
		}
	}
	rules, err := session.LoadBalancers(ctx, ownerOf(known.Owner), lb.PublicIPID)
	if err != nil {
		return apiFailure("listing the load-balancer rules", err)
	}
	for _, rule := range rules {
		if s.oursByText(rule.Description) || slices.Contains(lb.RuleIDs(), rule.ID) {
			return r.deleteRule(ctx, s, known.Name, rule.ID)
		}
	}
	if lb.Created {
		if err := s.untag(ctx, known.Name, lb.PublicIPID); err != nil {
			return err
		}
	}
	s.forgetBalancer()
	return nil
}

// closeFirewall begins to delete one of our firewall rules; nil means that there is none.
func (r *Reconciler) closeFirewall(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	lb := s.c.Status.LoadBalancer
	open, err := s.sessions[known.Name].FirewallRules(ctx, ownerOf(known.Owner), lb.PublicIPID)
	if err != nil {
		return apiFailure("listing the firewall rules", err)
	}
	for _, f := range open {
		recorded := slices.ContainsFunc(lb.FirewallRules, func(have infrav1.FirewallRuleStatus) bool { return have.ID == f.ID })
		abandoned := s.adopting[known.Name] == infrav1.JobCreateFirewallRule && f.Protocol == "tcp" && joined(f.CIDRs) == s.clients() &&
			slices.ContainsFunc(s.wantedRules(), func(w infrav1.LoadBalancerRuleStatus) bool { return w.PublicPort == f.StartPort })
		if !f.Deleting() && (recorded || abandoned || s.oursByTag(f.Tags)) {
			return r.deleteFirewall(ctx, s, known.Name, f.ID)
		}
	}
	return nil
}

// closeEgress removes our egress rules from networks that stay.
func (r *Reconciler) closeEgress(ctx context.Context, s *scope) error {
	return r.sideBySide(ctx, s, s.leaving(), func(domain string) error { return r.keepIn(ctx, s, s.c.Status.Domain(domain)) })
}

// keepIn begins to delete one of our egress rules; nil means that there is none on a network that stays.
func (r *Reconciler) keepIn(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	if known.Network == nil || known.Network.Created {
		return nil
	}
	if s.adopting[known.Name] == infrav1.JobCreateEgressRule {
		s.end(known.Name)
		if err := r.findEgress(ctx, s, known); err != nil {
			return err
		}
	}
	if len(known.Network.EgressRuleIDs) == 0 {
		return nil
	}
	id := known.Network.EgressRuleIDs[0]
	return r.remove(ctx, s, work{
		kind: infrav1.JobDeleteEgressRule, domain: known.Name, resource: id, doing: "deleting the egress rule " + id,
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			job, err := session.DeleteFirewallRule(ctx, id)
			return id, job, err
		},
	})
}

// removeNetworks deletes the networks that were made for the cluster. One that is held does not hold up the others.
func (r *Reconciler) removeNetworks(ctx context.Context, s *scope) error {
	var held error
	err := r.sideBySide(ctx, s, s.leaving(), func(domain string) error {
		known := s.c.Status.Domain(domain)
		if known.Network != nil && !known.Network.Created {
			return nil
		}
		var until time.Time
		r.memo(s.key, func(m *memo) { until = m.rest[domain] })
		if pause := until.Sub(s.now); pause > 0 {
			held = &step.Waiting{Reason: infrav1.ReasonWaitingForExpunge, Message: s.heldText(known), After: pause}
			return nil
		}
		return r.removeNetwork(ctx, s, known)
	})
	if err != nil {
		return err
	}
	if held == nil && len(s.leaving()) > 0 {
		s.c.Status.Deletion = nil
	}
	return held
}

// removeNetwork begins to delete what bears our mark, be it recorded or not. nil means that nothing is left.
func (r *Reconciler) removeNetwork(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	name, ours := s.networkToRemove(known)
	if !ours {
		return nil
	}
	named, err := s.sessions[known.Name].NetworksNamed(ctx, ownerOf(known.Owner), known.ZoneID, name)
	if err != nil {
		return apiFailure("listing the networks", err)
	}
	mine, _ := sift(s, within(named, known.VPC), marksOfNetwork)
	if len(mine) > 0 {
		return r.deleteNetwork(ctx, s, known, mine[0])
	}
	if s.intent(jobCreateNetwork, known.Name) {
		if err := r.patience(s, known.Name, "the network "+name); err != nil {
			return err
		}
	}
	if known.Network == nil {
		return nil
	}
	return r.removeRecorded(ctx, s, known)
}

// networkToRemove gives the name by which a network of ours is looked for; false means that none was ever made.
func (s *scope) networkToRemove(known *infrav1.ResolvedFailureDomain) (string, bool) {
	n := s.specOf(known.Name).Zone.Network
	switch {
	case known.Network != nil:
		return known.Network.Name, true
	case n.ID != "" || n.Type == infrav1.NetworkTypeShared:
		return "", false
	case n.Name != "":
		return n.Name, true
	}
	return s.clusterName(), true
}

// removeRecorded deletes the network whose id is recorded and which nobody lists under its name any more.
func (r *Reconciler) removeRecorded(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	found, err := s.sessions[known.Name].FindNetwork(ctx, ownerOf(known.Owner), known.Network.ID)
	switch {
	case err == nil && !s.foreign(found.Tags):
		// Somebody gave it another name and text; the record still says that it was made for us.
		return r.deleteNetwork(ctx, s, known, found)
	case err != nil && !cloudstack.Is(err, cloudstack.NotFound):
		return apiFailure("reading the network", err)
	}
	known.Network = nil
	if lb := s.c.Status.LoadBalancer; lb != nil && lb.FailureDomain == known.Name {
		s.c.Status.LoadBalancer = nil
	}
	return nil
}

func (r *Reconciler) deleteNetwork(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, n cloudstack.Network) error {
	if err := r.unshared(ctx, s, known, n); err != nil {
		return err
	}
	known.Network = &infrav1.ResolvedNetwork{ID: n.ID, Name: n.Name, Type: n.Type, Created: true}
	return r.remove(ctx, s, work{
		kind: infrav1.JobDeleteNetwork, domain: known.Name, resource: n.ID, doing: "deleting the network " + n.Name,
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			job, err := session.DeleteNetwork(ctx, n.ID)
			return n.ID, job, err
		},
	})
}

// unshared refuses to delete a network on which another cluster has its address.
func (r *Reconciler) unshared(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, n cloudstack.Network) error {
	all, err := s.sessions[known.Name].Addresses(ctx, cloudstack.AddressQuery{Owner: ownerOf(known.Owner), NetworkID: n.ID})
	if err != nil {
		return apiFailure("listing the public addresses", err)
	}
	if err := s.refuseShared(all, "network", n.Name, n.ID); err != nil {
		return err
	}
	if n.VPCID != "" {
		return nil // they stay with the VPC
	}
	return r.unmarkAll(ctx, s, known, all)
}

// unmarkAll is unmark for the addresses that go along, of which the status may have lost one.
func (r *Reconciler) unmarkAll(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, all []cloudstack.Address) error {
	for _, a := range all {
		if err := r.unmark(ctx, s, known, a); err != nil {
			return err
		}
	}
	return nil
}

// refuseShared is the outcome when one of the addresses of something is that of another cluster.
func (s *scope) refuseShared(all []cloudstack.Address, what, name, id string) error {
	for _, a := range all {
		if s.foreign(a.Tags) {
			return ending.Lacking(infrav1.ReasonInUse, "the %s %s (%s) holds the public address %s of %s: delete that first",
				what, name, id, a.IP, a.Tags[infrav1.MarkName])
		}
	}
	return nil
}

// networkStays counts the tries to delete a network. Destroyed machines hold it until the server expunges them, and an
// ordinary account is not shown them.
func (r *Reconciler) networkStays(s *scope, j infrav1.JobReference, outcome cloudstack.Outcome) error {
	if outcome.State == cloudstack.JobGone || cloudstack.KindOf(outcome.Err) == cloudstack.NotFound {
		return nil
	}
	s.countTry()
	pause := restFirst
	for range min(s.c.Status.Deletion.Attempts-1, 10) {
		pause *= 2
	}
	pause = min(pause, restLongest)
	r.memo(s.key, func(m *memo) { m.rest[j.FailureDomain] = s.now.Add(pause) })
	if cloudstack.KindOf(outcome.Err) == cloudstack.InUse {
		return nil // the next phases go on with the others and say so
	}
	return &step.Failed{
		Reason: infrav1.ReasonDeletionBlocked, After: pause, Err: outcome.Err,
		Message: "CloudStack does not delete the network: " + ending.JobText(outcome),
	}
}

func (s *scope) countTry() {
	d := s.c.Status.Deletion
	if d == nil {
		at := metav1.NewTime(s.now.Truncate(time.Second))
		d = &infrav1.DeletionProgress{Since: &at}
		s.c.Status.Deletion = d
	}
	d.Attempts++
}

func (s *scope) heldText(known *infrav1.ResolvedFailureDomain) string {
	name, tries, since := known.Name, int32(0), ""
	if known.Network != nil {
		name = known.Network.Name
	}
	if d := s.c.Status.Deletion; d != nil {
		tries = d.Attempts
		if d.Since != nil {
			since = d.Since.UTC().Format(time.RFC3339)
		}
	}
	return fmt.Sprintf("the network %s is held by destroyed machines until CloudStack expunges them, or by machines of somebody else; %d tries since %s", name, tries, since)
}

// release lets the object go when nothing is left.
func (r *Reconciler) release(_ context.Context, s *scope) error {
	for domain, session := range s.sessions {
		session.UnwatchNetwork(s.watchKey(domain))
	}
	s.letGo()
	return nil
}
