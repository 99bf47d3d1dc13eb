package cluster

import (
	"cmp"
	"context"
	"slices"
	"strings"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// annotationAddresses holds the ids of the addresses that a network had before one was taken for the cluster: the call has
// no room for an owner mark, so that after a lost reply a new address is known by not being among them.
const annotationAddresses = infrav1.GroupName + "/addresses-before"

// noAddresses is what the annotation holds when the network had none.
const noAddresses = "none"

// balancerDomain is the failure domain whose network holds the load balancer: the first that takes control-plane machines.
func (s *scope) balancerDomain() *infrav1.ResolvedFailureDomain {
	if lb := s.c.Status.LoadBalancer; lb != nil && lb.FailureDomain != "" {
		return s.c.Status.Domain(lb.FailureDomain)
	}
	for _, d := range s.known() {
		if d.TakesControlPlane() {
			return s.c.Status.Domain(d.Name)
		}
	}
	return nil
}

// balanced tells whether the cluster has a load balancer here: it is wanted, and the network can have one.
func (r *Reconciler) balanced(ctx context.Context, s *scope) (bool, error) {
	known := s.balancerDomain()
	if !s.c.Spec.ControlPlaneLoadBalancer.IsEnabled() || known == nil || known.Network == nil {
		return false, nil
	}
	if known.Network.Type != isolated || known.Network.Routed {
		return false, nil
	}
	net, err := r.facts(ctx, s, known.Name)
	if err != nil {
		return false, err
	}
	return net.Offers("Lb"), nil
}

// address finds the public address of the cluster, or takes one.
func (r *Reconciler) address(ctx context.Context, s *scope) error {
	if !s.c.Spec.ControlPlaneLoadBalancer.IsEnabled() {
		return s.tolerate(s.serviceDomain(), r.unbalance(ctx, s))
	}
	wanted, err := r.balanced(ctx, s)
	if err != nil || !wanted {
		return s.tolerate(s.serviceDomain(), err)
	}
	known := s.balancerDomain()
	if s.c.Status.LoadBalancer == nil {
		s.c.Status.LoadBalancer = &infrav1.LoadBalancerStatus{}
	}
	lb := s.c.Status.LoadBalancer
	lb.FailureDomain, lb.NetworkID = known.Name, known.Network.ID
	if lb.PublicIPID != "" {
		return r.addressStands(ctx, s, known)
	}
	return r.findAddress(ctx, s, known)
}

// addressStands reads the address that was just taken, and sees later that it is still ours.
func (r *Reconciler) addressStands(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	lb, seen := s.c.Status.LoadBalancer, s.sights[known.Name]
	if lb.PublicIP != "" {
		if !seen.slow {
			return nil
		}
		if a, there := seen.Addresses[lb.PublicIPID]; there && s.leased(a, known) {
			r.noteUntagged(s, known.Name, lb, a)
			return nil
		}
	}
	return r.readAddress(ctx, s, known)
}

// readAddress asks for the address. One that is no longer ours is taken again, with its rules.
func (r *Reconciler) readAddress(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	lb := s.c.Status.LoadBalancer
	a, err := s.sessions[known.Name].FindAddress(ctx, ownerOf(known.Owner), lb.PublicIPID)
	switch {
	case cloudstack.Is(err, cloudstack.NotFound), err == nil && !s.leased(a, known):
		s.repaired = "the public address " + lb.PublicIP
		r.touch(s, known.Name)
		lb.PublicIPID, lb.Created, lb.Rules, lb.FirewallRules = "", false, nil, nil
		return r.findAddress(ctx, s, known)
	case err != nil:
		return apiFailure("reading the public address", err)
	case a.State == cloudstack.AddressAllocating && s.failure != nil:
		return r.abandonAddress(ctx, s, known, a)
	case a.State == cloudstack.AddressAllocating:
		return &step.Waiting{Reason: infrav1.ReasonCreating, Message: "CloudStack takes the public address " + a.IP, After: ending.AnswerPoll}
	}
	lb.PublicIP = a.IP
	delete(s.c.Annotations, annotationAddresses)
	r.noteUntagged(s, known.Name, lb, a)
	return nil
}

// abandonAddress gives back what the job that failed left behind: nothing else would, not even the end of the network.
func (r *Reconciler) abandonAddress(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, a cloudstack.Address) error {
	_, err := s.sessions[known.Name].ReleaseAddress(ctx, leaseOf(known, a))
	if err != nil && !cloudstack.Is(err, cloudstack.NotFound) && !cloudstack.Is(err, cloudstack.Forbidden) {
		s.c.Status.Jobs = []infrav1.JobReference{s.failedJob} // to come back here
		return apiFailure("giving back the public address that could not be taken", err)
	}
	lb := s.c.Status.LoadBalancer
	lb.PublicIPID, lb.Created = "", false
	reason := reasons().Of(cloudstack.KindOf(s.failure))
	if cloudstack.Is(s.failure, cloudstack.Capacity) {
		reason = infrav1.ReasonAddressesExhausted
	}
	return &step.Failed{Reason: reason, Message: "CloudStack could not take a public address: " + s.failure.Error(), After: again, Err: s.failure}
}

// leaseOf is what an address must be for us to give it back.
func leaseOf(known *infrav1.ResolvedFailureDomain, a cloudstack.Address) cloudstack.Lease {
	lease := cloudstack.Lease{Owner: ownerOf(known.Owner), AddressID: a.ID, Unfinished: a.State == cloudstack.AddressAllocating}
	if inVPC(known) {
		lease.VPCID = known.VPC.ID
	} else {
		lease.NetworkID = known.Network.ID
	}
	return lease
}

// leased tells whether an address serves our network, and that another cluster has not marked an address that was there
// before. A mark on one that was taken for us may be left from a former lease. One that is being taken serves none yet.
func (s *scope) leased(a cloudstack.Address, known *infrav1.ResolvedFailureDomain) bool {
	if inVPC(known) && !strings.EqualFold(a.VPCID, known.VPC.ID) && a.State != cloudstack.AddressAllocating {
		return false
	}
	return (s.c.Status.LoadBalancer.Created || !s.foreign(a.Tags)) && (a.NetworkID == "" || strings.EqualFold(a.NetworkID, known.Network.ID))
}

func (r *Reconciler) noteUntagged(s *scope, domain string, lb *infrav1.LoadBalancerStatus, a cloudstack.Address) {
	if lb.Created && !s.oursByTag(a.Tags) {
		r.memo(s.key, func(m *memo) { m.untagged[a.ID] = untagged{domain: domain, kind: cloudstack.TagsOfAddress} })
	}
}

// findAddress looks for an address that is ours, and takes one when there is none.
func (r *Reconciler) findAddress(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain) error {
	var fresh bool
	r.memo(s.key, func(m *memo) { fresh = m.fresh[known.Network.ID] && !inVPC(known) })
	if fresh && !s.intent(infrav1.JobAssociateAddress, known.Name) {
		return r.takeAddress(ctx, s, known, "")
	}
	all, err := s.sessions[known.Name].Addresses(ctx, addressesOf(known))
	if err != nil {
		return apiFailure("listing the public addresses", err)
	}
	found, err := s.pickAddress(all, known)
	if err != nil || found != nil {
		return s.useAddress(found, err)
	}
	if s.intent(infrav1.JobAssociateAddress, known.Name) {
		if err := r.patience(s, known.Name, "the public address"); err != nil {
			return err
		}
		return r.takeAddress(ctx, s, known, s.c.Annotations[annotationAddresses])
	}
	var before []string
	for _, a := range all {
		before = append(before, a.ID)
	}
	return r.takeAddress(ctx, s, known, strings.Join(before, ","))
}

// addressesOf asks for the addresses that may be the one of the load balancer: those of the network, or of the whole VPC.
func addressesOf(known *infrav1.ResolvedFailureDomain) cloudstack.AddressQuery {
	if inVPC(known) {
		return cloudstack.AddressQuery{Owner: ownerOf(known.Owner), VPCID: known.VPC.ID}
	}
	return cloudstack.AddressQuery{Owner: ownerOf(known.Owner), NetworkID: known.Network.ID}
}

// candidate is an address that the cluster may have.
type candidate struct {
	cloudstack.Address
	// taken is set when it was taken for the cluster, and is released with it.
	taken bool
}

func (s *scope) useAddress(found *candidate, err error) error {
	if err != nil {
		return err
	}
	lb := s.c.Status.LoadBalancer
	lb.PublicIPID, lb.PublicIP, lb.Created = found.ID, "", found.taken
	if j := s.job(lb.FailureDomain); j != nil && j.Kind == infrav1.JobAssociateAddress {
		s.end(lb.FailureDomain)
	}
	return &step.Waiting{Reason: infrav1.ReasonCreating, Message: "the public address " + found.IP + " is found", After: ending.AtOnce}
}

// pickAddress chooses among the addresses of the network: one that bears our mark, one that turned up after a call without
// an answer, or the one that is asked for. nil means that there is none.
func (s *scope) pickAddress(all []cloudstack.Address, known *infrav1.ResolvedFailureDomain) (*candidate, error) {
	asked := s.askedIP()
	before := strings.Split(s.c.Annotations[annotationAddresses], ",")
	var marked, appeared []cloudstack.Address
	for _, a := range all {
		switch {
		case s.oursByTag(a.Tags):
			marked = append(marked, a)
		case s.foreign(a.Tags) || a.StaticNAT || elsewhere(a, known):
		case s.intent(infrav1.JobAssociateAddress, known.Name) && !slices.Contains(before, a.ID) && (asked == "" || a.IP == asked):
			appeared = append(appeared, a)
		case a.IP == asked:
			return &candidate{Address: a}, nil
		}
	}
	if len(marked) == 0 {
		marked = likely(appeared, known)
	}
	for _, a := range marked {
		if len(marked) == 1 || a.IP == asked {
			return &candidate{Address: a, taken: true}, nil
		}
	}
	if len(marked) > 1 {
		return nil, ending.Lacking(infrav1.ReasonResourceAmbiguous, "several public addresses may be those of this cluster: %s and %s; release the wrong ones, or name one in controlPlaneEndpointIP",
			marked[0].IP, marked[1].IP)
	}
	return nil, nil
}

// likely leaves out, of several addresses that turned up, the one that the router of a VPC takes for itself when it starts.
func likely(appeared []cloudstack.Address, known *infrav1.ResolvedFailureDomain) []cloudstack.Address {
	if len(appeared) < 2 || !inVPC(known) {
		return appeared
	}
	return slices.DeleteFunc(appeared, func(a cloudstack.Address) bool { return a.SourceNAT })
}

// elsewhere tells whether an address serves another network than that of the failure domain.
func elsewhere(a cloudstack.Address, known *infrav1.ResolvedFailureDomain) bool {
	return a.NetworkID != "" && !strings.EqualFold(a.NetworkID, known.Network.ID)
}

func (r *Reconciler) takeAddress(ctx context.Context, s *scope, known *infrav1.ResolvedFailureDomain, before string) error {
	s.c.Annotations[annotationAddresses] = cmp.Or(before, noAddresses)
	if err := s.saver.Metadata(ctx, s.c); err != nil {
		return err
	}
	lb, asked := s.c.Status.LoadBalancer, s.askedIP()
	return r.do(ctx, s, work{
		kind: infrav1.JobAssociateAddress, domain: known.Name, doing: "taking a public address", reason: s.makes(),
		call: func(ctx context.Context, session *cloudstack.Session) (string, cloudstack.Job, error) {
			n := cloudstack.NewAddress{Owner: ownerOf(known.Owner), IP: asked}
			if inVPC(known) {
				n.VPCID = known.VPC.ID
			} else {
				n.NetworkID = known.Network.ID
			}
			return session.AssociateAddress(ctx, n)
		},
		made: func(id string) {
			lb.PublicIPID, lb.Created = id, true
			r.memo(s.key, func(m *memo) { delete(m.fresh, known.Network.ID) })
		},
		refused: func(err error) error { return notTaken(err, asked, lb.PublicIP) },
	})
}

func notTaken(err error, asked, had string) error {
	switch {
	case !cloudstack.Is(err, cloudstack.Capacity):
		return apiFailure("taking a public address", err)
	case had != "":
		return &step.Failed{
			Reason: infrav1.ReasonAddressLost, After: ending.JobPoll, Err: err,
			Message: "the public address " + had + " was released and cannot be taken again: free it, or replace the cluster",
		}
	case asked != "":
		return &step.Failed{
			Reason: infrav1.ReasonAddressUnavailable, After: ending.Slow, Err: err,
			Message: "the public address " + asked + " is taken, or in no range of the zone: ask for another one, or turn controlPlaneLoadBalancer off",
		}
	}
	return &step.Failed{Reason: infrav1.ReasonAddressesExhausted, After: ending.Slow, Err: err, Message: "the zone has no free public address: " + err.Error()}
}

// publish writes the endpoint where nobody has written another one.
func (r *Reconciler) publish(ctx context.Context, s *scope) error {
	lb, endpoint := s.c.Status.LoadBalancer, s.c.Spec.ControlPlaneEndpoint
	if lb == nil || lb.PublicIPID == "" || lb.PublicIP == "" {
		return nil
	}
	if endpoint.Host == "" {
		endpoint.Host = lb.PublicIP
	}
	if endpoint.Port == 0 {
		endpoint.Port = infrav1.DefaultAPIPort
	}
	if endpoint == s.c.Spec.ControlPlaneEndpoint {
		return nil
	}
	return s.saver.Spec(ctx, s.c, func(c *infrav1.CloudStackCluster) { c.Spec.ControlPlaneEndpoint = endpoint })
}
