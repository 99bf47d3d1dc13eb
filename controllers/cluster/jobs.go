package cluster

import (
	"context"
	"fmt"
	"slices"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// jobCreateNetwork is the intent to make a network, which CloudStack does without a job.
const jobCreateNetwork infrav1.JobKind = "CreateNetwork"

// work is one call that changes something. One at a time is under way in a failure domain: CloudStack does not order them.
type work struct {
	kind infrav1.JobKind
	// domain is the name of the failure domain, resource the id of what is worked on; empty when it is to be made.
	domain, resource string
	// doing says in errors and messages what is done.
	doing string
	// reason is the condition reason meanwhile.
	reason string
	call   func(context.Context, *cloudstack.Session) (id string, job cloudstack.Job, err error)
	// made records the id of what was made; nil for what removes something.
	made func(id string)
	// refused turns a refusal that is certain into an outcome; nil means the usual one.
	refused func(error) error
}

// do makes the call. An intent to make something is saved before, so that whoever comes after a crash or a lost reply looks
// for it first; and as the save refuses to overwrite, of two managers only one makes it.
func (r *Reconciler) do(ctx context.Context, s *scope, w work) error {
	if err := s.besides(w.domain); err != nil {
		return err
	}
	if w.made != nil {
		s.begin(w.kind, unansweredIn(w.domain), w.domain, w.resource)
		if err := s.saver.Status(ctx, s.c); err != nil {
			return err
		}
	}
	r.touch(s, w.domain)
	id, job, err := w.call(ctx, s.sessions[w.domain])
	if err != nil {
		// What bears no mark at first is looked after even when something between us and the server turned the call away.
		doubtful := mayHaveWorked(err) || !marked(w.kind) && turnedAway(err)
		if w.made != nil && !doubtful {
			s.end(w.domain)
		}
		return s.refusal(w, err)
	}
	s.end(w.domain)
	if w.made != nil {
		w.made(id)
		w.resource = id
	}
	if job == "" {
		return &step.Waiting{Reason: w.reason, Message: w.doing, After: ending.AtOnce}
	}
	s.begin(w.kind, string(job), w.domain, w.resource)
	r.follow(s, *s.job(w.domain))
	return &step.Waiting{Reason: w.reason, Message: w.doing, After: ending.JobPoll}
}

// marked tells whether what is made bears our mark from the first moment on.
func marked(kind infrav1.JobKind) bool {
	return kind == jobCreateNetwork || kind == infrav1.JobCreateVPC || kind == infrav1.JobCreateKubernetesCluster
}

func (s *scope) refusal(w work, err error) error {
	if mayHaveWorked(err) {
		return &step.Failed{Reason: reasons().Of(cloudstack.KindOf(err)), Message: w.doing + ": " + err.Error(), After: ending.AnswerPoll, Err: err}
	}
	if w.refused != nil {
		return w.refused(err)
	}
	return apiFailure(w.doing, err)
}

// mayHaveWorked tells whether a call that failed may have taken effect, or still do so.
func mayHaveWorked(err error) bool {
	switch cloudstack.KindOf(err) {
	case cloudstack.LostReply, cloudstack.Internal, "":
		return true
	}
	return false
}

// turnedAway tells whether something between us and the server may have answered in its place.
func turnedAway(err error) bool {
	switch cloudstack.KindOf(err) {
	case cloudstack.Throttled, cloudstack.Unavailable, cloudstack.Unauthorized:
		return true
	}
	return false
}

// touch records that something changes: what the watch saw before does not count.
func (r *Reconciler) touch(s *scope, domain string) {
	now := r.options.Clock.Now()
	r.memo(s.key, func(m *memo) { m.touched[domain] = now })
}

// patience waits for what may still turn up. nil means that it will not: the intent is dropped.
func (r *Reconciler) patience(s *scope, domain, what string) error {
	if s.now.Sub(s.job(domain).Since.Time) < r.options.Answer {
		return &step.Waiting{
			Reason: infrav1.ReasonCreating, Message: "the call that makes " + what + " got no answer; it may turn up", After: ending.AnswerPoll,
		}
	}
	s.end(domain)
	return nil
}

func (r *Reconciler) follow(s *scope, j infrav1.JobReference) cloudstack.Outcome {
	session := s.sessions[j.FailureDomain]
	if session == nil {
		return cloudstack.Outcome{State: cloudstack.JobGone}
	}
	return session.Follow(cloudstack.Job(j.ID), string(j.Kind), r.wake(s))
}

// awaitJobs ends when the jobs under way have.
func (r *Reconciler) awaitJobs(ctx context.Context, s *scope) error {
	var domains []string
	for _, j := range s.c.Status.Jobs {
		domains = append(domains, j.FailureDomain)
	}
	return r.sideBySide(ctx, s, domains, func(domain string) error { return r.awaitJob(ctx, s, *s.job(domain)) })
}

func (r *Reconciler) awaitJob(ctx context.Context, s *scope, j infrav1.JobReference) error {
	if isUnanswered(j) {
		return r.takeUp(s, j)
	}
	outcome := r.follow(s, j)
	if outcome.State == cloudstack.JobRunning {
		return &step.Waiting{Reason: infrav1.ReasonWaitingForJob, Message: fmt.Sprintf("the job %s runs since %s", j.Kind, j.Since.UTC().Format("15:04:05")), After: ending.JobPoll}
	}
	s.end(j.FailureDomain)
	r.touch(s, j.FailureDomain)
	if outcome.State == cloudstack.JobSucceeded {
		s.drop(j)
		return nil
	}
	return r.jobFailed(ctx, s, j, outcome)
}

// takeUp deals with an intent that was never answered. Of rules CloudStack takes no second one, so that the call is simply
// made again; networks and addresses are looked for first. A deletion waits until a rule would have turned up.
func (r *Reconciler) takeUp(s *scope, j infrav1.JobReference) error {
	if marked(j.Kind) || j.Kind == infrav1.JobAssociateAddress {
		return nil
	}
	s.adopting[j.FailureDomain] = j.Kind
	if s.deleting() {
		return r.patience(s, j.FailureDomain, "a rule")
	}
	s.end(j.FailureDomain)
	return nil
}

// drop forgets what a job removed, and what it changed.
func (s *scope) drop(j infrav1.JobReference) {
	lb := s.c.Status.LoadBalancer
	switch j.Kind {
	case infrav1.JobDeleteLoadBalancerRule:
		if lb != nil {
			lb.Rules = slices.DeleteFunc(lb.Rules, func(rule infrav1.LoadBalancerRuleStatus) bool { return rule.ID == j.ResourceID })
		}
	case infrav1.JobUpdateLoadBalancerRule:
		for i := range rulesOf(lb) {
			if lb.Rules[i].ID == j.ResourceID {
				lb.Rules[i].Algorithm, lb.Rules[i].CIDRs = "", "" // it is read what it has become
			}
		}
	case infrav1.JobDeleteFirewallRule:
		if lb != nil {
			lb.FirewallRules = slices.DeleteFunc(lb.FirewallRules, func(rule infrav1.FirewallRuleStatus) bool { return rule.ID == j.ResourceID })
		}
	case infrav1.JobDeleteEgressRule:
		s.dropEgress(j.FailureDomain, j.ResourceID)
	case infrav1.JobReleaseAddress:
		s.c.Status.LoadBalancer = nil
	case infrav1.JobDeleteKubernetesCluster:
		s.c.Status.KubernetesClusterID = ""
	case infrav1.JobDeleteVPC:
		if d := s.c.Status.Domain(j.FailureDomain); d != nil {
			d.VPC = nil
		}
	}
}

func rulesOf(lb *infrav1.LoadBalancerStatus) []infrav1.LoadBalancerRuleStatus {
	if lb == nil {
		return nil
	}
	return lb.Rules
}

func (s *scope) dropEgress(domain, id string) {
	if d := s.c.Status.Domain(domain); d != nil && d.Network != nil {
		d.Network.EgressRuleIDs = slices.DeleteFunc(d.Network.EgressRuleIDs, func(have string) bool { return have == id })
	}
}

// jobFailed forgets what was not made and keeps what was not removed. A job that CloudStack forgot may have done its work:
// the next look tells.
func (r *Reconciler) jobFailed(ctx context.Context, s *scope, j infrav1.JobReference, outcome cloudstack.Outcome) error {
	if there, err := r.stands(ctx, s, j); err != nil || there {
		if err != nil {
			s.keep(j)
		}
		return err
	}
	switch j.Kind {
	case infrav1.JobAssociateAddress:
		s.adopting[j.FailureDomain] = j.Kind
		if outcome.Err != nil {
			s.failure, s.failedJob = outcome.Err, j
		}
		return nil // what became of the address tells the address itself
	case infrav1.JobDeleteNetwork:
		return r.networkStays(s, j, outcome)
	case infrav1.JobCreateKubernetesCluster, infrav1.JobDeleteKubernetesCluster:
		if done, err := r.entryJobFailed(ctx, s, j, outcome); done || err != nil {
			return err
		}
	}
	s.forgetUnmade(j)
	if outcome.State == cloudstack.JobGone {
		s.adopting[j.FailureDomain] = j.Kind
		return nil
	}
	if cloudstack.KindOf(outcome.Err) == cloudstack.NotFound {
		s.drop(j)
		return nil
	}
	reason := reasons().OfCall(outcome.Err)
	if s.deleting() {
		reason = infrav1.ReasonDeletionBlocked
	}
	return &step.Failed{
		Reason: reason, After: again, Err: outcome.Err,
		Message: fmt.Sprintf("the job %s failed and is tried again: %s", j.Kind, ending.JobText(outcome)),
	}
}

// forgetUnmade forgets what a job was to make.
func (s *scope) forgetUnmade(j infrav1.JobReference) {
	lb := s.c.Status.LoadBalancer
	switch j.Kind {
	case infrav1.JobCreateLoadBalancerRule:
		if lb != nil {
			lb.Rules = slices.DeleteFunc(lb.Rules, func(rule infrav1.LoadBalancerRuleStatus) bool { return rule.ID == j.ResourceID })
		}
	case infrav1.JobCreateFirewallRule:
		if lb != nil {
			lb.FirewallRules = slices.DeleteFunc(lb.FirewallRules, func(rule infrav1.FirewallRuleStatus) bool { return rule.ID == j.ResourceID })
		}
	case infrav1.JobCreateEgressRule:
		s.dropEgress(j.FailureDomain, j.ResourceID)
	case infrav1.JobCreateVPC:
		if d := s.c.Status.Domain(j.FailureDomain); d != nil {
			d.VPC = nil
		}
	}
}

// stands tells whether the rule that a job was to make is there, although the job failed.
func (r *Reconciler) stands(ctx context.Context, s *scope, j infrav1.JobReference) (bool, error) {
	session, known := s.sessions[j.FailureDomain], s.c.Status.Domain(j.FailureDomain)
	if session != nil && known != nil && j.Kind == infrav1.JobCreateVPC {
		_, err := session.FindVPC(ctx, ownerOf(known.Owner), j.ResourceID)
		if err != nil && !cloudstack.Is(err, cloudstack.NotFound) {
			return false, apiFailure("looking for the VPC of a job that failed", err)
		}
		return err == nil, nil
	}
	if session == nil || known == nil || known.Network == nil {
		return false, nil
	}
	var rules []cloudstack.FirewallRule
	var err error
	switch j.Kind {
	case infrav1.JobCreateLoadBalancerRule:
		_, err = session.FindLoadBalancer(ctx, ownerOf(known.Owner), j.ResourceID)
		if cloudstack.Is(err, cloudstack.NotFound) {
			return false, nil
		}
	case infrav1.JobCreateEgressRule:
		rules, err = session.EgressRules(ctx, ownerOf(known.Owner), known.Network.ID)
	case infrav1.JobCreateFirewallRule:
		if s.c.Status.LoadBalancer == nil {
			return false, nil
		}
		rules, err = session.FirewallRules(ctx, ownerOf(known.Owner), s.c.Status.LoadBalancer.PublicIPID)
	default:
		return false, nil
	}
	if err != nil {
		return false, apiFailure("looking for the rule of a job that failed", err)
	}
	return j.Kind == infrav1.JobCreateLoadBalancerRule || allOpen(rules, []string{j.ResourceID}), nil
}
