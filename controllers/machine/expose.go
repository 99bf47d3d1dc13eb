package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// attachment is how a VM stands with the load balancer.
type attachment struct {
	status          metav1.ConditionStatus
	reason, message string
}

// balancer is the load balancer that the machine belongs behind; nil when it belongs behind none.
func (s *scope) balancer() *infrav1.LoadBalancerStatus {
	if !s.controlPlane() || s.infra == nil || !s.infra.Spec.ControlPlaneLoadBalancer.IsEnabled() {
		return nil
	}
	return s.infra.Status.LoadBalancer
}

// expose makes the VM of a control-plane machine a member of every rule of the load balancer, and again when it is lost.
func (r *Reconciler) expose(ctx context.Context, s *scope) error {
	b := s.balancer()
	switch {
	case b == nil:
		s.attached = attachment{metav1.ConditionTrue, infrav1.ReasonNotNeeded, "no load balancer leads to the machine"}
		return nil
	case !s.inNetwork(b.NetworkID):
		s.attached = attachment{metav1.ConditionTrue, infrav1.ReasonNotNeeded, "the load balancer is in another network than the machine"}
		return nil
	}
	if s.inJob(infrav1.JobAttachToLoadBalancer) {
		if err := r.awaitAttached(ctx, s); err != nil {
			return err
		}
	}
	rules := b.RuleIDs()
	s.m.Status.LoadBalancerRuleIDs = slices.DeleteFunc(s.m.Status.LoadBalancerRuleIDs, func(id string) bool { return !slices.Contains(rules, id) })
	for _, rule := range rules {
		member, err := r.isMember(ctx, s, rule, rules)
		if err != nil {
			return s.notAttached(err)
		}
		if !member {
			return s.notAttached(r.attach(ctx, s, rule))
		}
		s.join(rule)
	}
	s.attached = attachment{metav1.ConditionTrue, infrav1.ReasonAttached, fmt.Sprintf("the VM is a member of %d rules", len(rules))}
	if len(rules) == 0 {
		return s.notAttached(&step.Waiting{Reason: infrav1.ReasonWaitingForInfrastructure, Message: "the load balancer has no rules yet"})
	}
	return nil
}

func (s *scope) inNetwork(id string) bool {
	return slices.ContainsFunc(s.vm.NICs, func(n cloudstack.NIC) bool { return strings.EqualFold(n.NetworkID, id) })
}

// notAttached records why the VM is not behind the load balancer and hands the outcome on.
func (s *scope) notAttached(err error) error {
	reason, message := reasonOf(err)
	s.attached = attachment{metav1.ConditionFalse, reason, message}
	return err
}

func (s *scope) join(rule string) {
	if !slices.Contains(s.m.Status.LoadBalancerRuleIDs, rule) {
		s.m.Status.LoadBalancerRuleIDs = append(s.m.Status.LoadBalancerRuleIDs, rule)
		slices.Sort(s.m.Status.LoadBalancerRuleIDs)
	}
}

// watchKey tells the machine apart from others who watch parts of the network.
func (s *scope) watchKey() string { return "machine/" + s.key.String() }

// isMember believes the shared watch when it has looked since the VM was attached, what is recorded until it has, and
// otherwise asks.
func (r *Reconciler) isMember(ctx context.Context, s *scope, rule string, rules []string) (bool, error) {
	sight := s.session.WatchNetwork(s.watchKey(), cloudstack.NetworkParts{Owner: s.place.owner, LoadBalancers: rules}, r.wake(s))
	var since time.Time
	r.memo(s.key, func(m *memo) { since = m.attached[rule] })
	recorded := slices.Contains(s.m.Status.LoadBalancerRuleIDs, rule)
	if recorded && sight.QuickAt.IsZero() {
		return true, nil
	}
	if recorded && !sight.QuickAt.After(since) {
		return true, nil
	}
	if !sight.QuickAt.IsZero() && sight.QuickAt.After(since) && slices.Contains(sight.Members[rule], s.vm.ID) {
		return true, nil
	}
	members, err := s.session.Members(ctx, rule)
	switch {
	case cloudstack.Is(err, cloudstack.NotFound), cloudstack.Is(err, cloudstack.Forbidden):
		s.leave(rule)
		return false, &step.Failed{
			Reason: infrav1.ReasonWaitingForInfrastructure, After: ending.JobPoll, Err: err,
			Message: "the load-balancer rule " + rule + " is gone; the cluster makes another",
		}
	case err != nil:
		return false, apiFailure("listing the members of the load balancer", err)
	}
	return slices.Contains(members, s.vm.ID), nil
}

func (s *scope) leave(rule string) {
	s.m.Status.LoadBalancerRuleIDs = slices.DeleteFunc(s.m.Status.LoadBalancerRuleIDs, func(id string) bool { return id == rule })
}

// attach begins to make the VM a member. A call too many does no harm.
func (r *Reconciler) attach(ctx context.Context, s *scope, rule string) error {
	reason, message := infrav1.ReasonAttaching, "the VM becomes a member of the load-balancer rule "+rule
	if slices.Contains(s.m.Status.LoadBalancerRuleIDs, rule) {
		reason, message = infrav1.ReasonRepairing, "the VM was removed from the load-balancer rule "+rule+" behind our back and is added again"
		s.leave(rule)
	}
	job, err := s.session.AddMembers(ctx, rule, s.vm.ID)
	if err != nil {
		return apiFailure("adding the VM to the load balancer", err)
	}
	s.begin(infrav1.JobAttachToLoadBalancer, string(job), rule)
	r.follow(s)
	return &step.Waiting{Reason: reason, Message: message, After: ending.JobPoll}
}

// awaitAttached ends when the job has. Every refusal reads the same, so the list of members decides.
func (r *Reconciler) awaitAttached(ctx context.Context, s *scope) error {
	outcome := r.follow(s)
	rule := s.m.Status.Job.ResourceID
	if outcome.State == cloudstack.JobRunning {
		return s.notAttached(&step.Waiting{Reason: infrav1.ReasonAttaching, Message: "the VM becomes a member of the load-balancer rule " + rule, After: ending.JobPoll})
	}
	if outcome.State != cloudstack.JobSucceeded {
		members, err := s.session.Members(ctx, rule)
		if err != nil && !cloudstack.Is(err, cloudstack.NotFound) {
			return s.notAttached(apiFailure("listing the members of the load balancer", err))
		}
		s.m.Status.Job = nil
		if !slices.Contains(members, s.vm.ID) {
			return s.notAttached(&step.Failed{
				Reason: infrav1.ReasonAttachFailed, After: 2 * statePoll,
				Message: fmt.Sprintf("CloudStack does not add the VM to the load-balancer rule %s: %s; it is tried again", rule, ending.JobText(outcome)),
			})
		}
	}
	s.m.Status.Job = nil
	s.join(rule)
	r.memo(s.key, func(m *memo) { m.attached[rule] = s.now })
	return nil
}

// detach takes the VM out of every rule before it is destroyed, so that nobody is sent to a dying API server.
func (r *Reconciler) detach(ctx context.Context, s *scope) error {
	if s.session == nil {
		return nil
	}
	s.session.UnwatchNetwork(s.watchKey())
	if s.inJob(infrav1.JobDetachFromLoadBalancer) {
		rule := s.m.Status.Job.ResourceID
		outcome := r.follow(s)
		if outcome.State == cloudstack.JobRunning {
			return &step.Waiting{Reason: infrav1.ReasonDetaching, Message: "the VM leaves the load-balancer rule " + rule, After: ending.JobPoll}
		}
		s.m.Status.Job = nil
		if outcome.Err != nil && outcome.Err.Kind != cloudstack.NotFound {
			return &step.Failed{
				Reason: infrav1.ReasonDeletionBlocked, After: statePoll, Err: outcome.Err,
				Message: "CloudStack does not remove the VM from the load-balancer rule " + rule + ": " + outcome.Err.Error() + "; it is tried again",
			}
		}
		s.leave(rule)
	}
	if s.inJob(infrav1.JobAttachToLoadBalancer) {
		// Whether the VM became a member does not matter: what is none may be removed all the same.
		s.join(s.m.Status.Job.ResourceID)
		s.m.Status.Job = nil
	}
	if len(s.m.Status.LoadBalancerRuleIDs) == 0 || s.m.Status.InstanceID == "" {
		return nil
	}
	rule := s.m.Status.LoadBalancerRuleIDs[0]
	job, err := s.session.RemoveMembers(ctx, rule, s.m.Status.InstanceID)
	switch {
	case cloudstack.Is(err, cloudstack.NotFound), cloudstack.Is(err, cloudstack.Forbidden):
		s.leave(rule)
		return &step.Waiting{Reason: infrav1.ReasonDetaching, Message: "the load-balancer rule " + rule + " is gone", After: ending.AtOnce}
	case err != nil:
		return apiFailure("removing the VM from the load balancer", err)
	}
	s.begin(infrav1.JobDetachFromLoadBalancer, string(job), rule)
	r.follow(s)
	return &step.Waiting{Reason: infrav1.ReasonDetaching, Message: "the VM leaves the load-balancer rule " + rule, After: ending.JobPoll}
}
