package machine

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
)

// observe computes the conditions from what the phases saw and from the outcome that ended them, nowhere else.
func observe(s *scope, outcome error) {
	reason, message := reasonOf(outcome)
	if s.deleting() {
		reason = ending.WhileDeleting(reason)
	}
	if s.paused() {
		s.put(infrav1.ConditionPaused, metav1.ConditionTrue, infrav1.ReasonPaused, message)
		return
	}
	s.put(infrav1.ConditionPaused, metav1.ConditionFalse, infrav1.ReasonNotPaused, "")
	s.m.Status.ObservedGeneration = s.m.Generation
	if s.vm != nil && s.m.Status.InstanceState != string(s.vm.State) {
		at := metav1.NewTime(s.now)
		s.m.Status.InstanceState, s.m.Status.InstanceStateLastUpdated = string(s.vm.State), &at
	}
	if s.lost {
		s.m.Status.InstanceState = ""
	}
	unlike := s.observeKubelet()
	if s.unseen {
		s.keepReady(unlike)
		return
	}
	s.observeResolved(reason, message)
	s.observeInstance(outcome, reason, message)
	s.observeAttached(reason, message)
	if reason == infrav1.ReasonReady && unlike != "" {
		reason, message = infrav1.ReasonKubeletVersionMismatch, unlike
	}
	s.observeReady(outcome, reason, message)
}

func (s *scope) observeResolved(reason, message string) {
	if s.m.Status.Resolved != nil {
		s.put(infrav1.ConditionResolved, metav1.ConditionTrue, infrav1.ReasonResolved, "")
		return
	}
	if s.provisioned() && s.vm != nil {
		s.put(infrav1.ConditionResolved, metav1.ConditionUnknown, infrav1.ReasonNotNeeded, "the VM runs; what it was made of is not found again")
		return
	}
	if !s.deleting() {
		s.put(infrav1.ConditionResolved, metav1.ConditionFalse, reason, message)
	}
}

// observeInstance tells how the VM is. When it could not be asked for, nothing is known that was not known before.
func (s *scope) observeInstance(outcome error, reason, message string) {
	switch {
	case s.vm != nil && s.vm.State == cloudstack.VMRunning && !s.deleting():
		s.put(infrav1.ConditionInstanceReady, metav1.ConditionTrue, infrav1.ReasonRunning, "")
	case s.vm != nil && s.vm.State == cloudstack.VMMigrating && !s.deleting():
		s.put(infrav1.ConditionInstanceReady, metav1.ConditionTrue, infrav1.ReasonMigrating, "")
	case ending.Blind(outcome) && s.is(infrav1.ConditionInstanceReady, metav1.ConditionTrue):
	default:
		s.put(infrav1.ConditionInstanceReady, metav1.ConditionFalse, reason, message)
	}
}

func (s *scope) observeAttached(reason, message string) {
	switch {
	case s.deleting() && len(s.m.Status.LoadBalancerRuleIDs) > 0:
		s.put(infrav1.ConditionLoadBalancerAttached, metav1.ConditionFalse, infrav1.ReasonDetaching, message)
	case s.deleting():
		s.put(infrav1.ConditionLoadBalancerAttached, metav1.ConditionFalse, infrav1.ReasonNotNeeded, "the machine is being deleted")
	case s.attached.status != "":
		s.put(infrav1.ConditionLoadBalancerAttached, s.attached.status, s.attached.reason, s.attached.message)
	case !s.is(infrav1.ConditionLoadBalancerAttached, metav1.ConditionTrue):
		s.put(infrav1.ConditionLoadBalancerAttached, metav1.ConditionFalse, reason, message)
	}
}

// observeReady sets the condition that summarises. A ready machine stays ready while we merely cannot look at it.
func (s *scope) observeReady(outcome error, reason, message string) {
	switch {
	case reason == infrav1.ReasonReady && !s.deleting():
		s.put(infrav1.ConditionReady, metav1.ConditionTrue, reason, message)
	case !s.deleting() && ending.Blind(outcome) && s.is(infrav1.ConditionReady, metav1.ConditionTrue):
	default:
		s.put(infrav1.ConditionReady, metav1.ConditionFalse, reason, message)
	}
}

func (s *scope) is(conditionType string, status metav1.ConditionStatus) bool {
	return meta.IsStatusConditionPresentAndEqual(s.m.Status.Conditions, conditionType, status)
}

func (s *scope) put(conditionType string, status metav1.ConditionStatus, reason, message string) {
	ending.Put(&s.m.Status.Conditions, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: s.m.Generation,
		LastTransitionTime: metav1.NewTime(s.now),
	})
}

// reasonOf gives condition reason and message for the outcome of a reconcile.
func reasonOf(outcome error) (reason, message string) {
	if outcome == nil {
		return infrav1.ReasonDeleting, "nothing is left in CloudStack"
	}
	return reasons().Describe(outcome)
}
