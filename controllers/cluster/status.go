package cluster

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/ending"
)

// observe computes the conditions from what the phases saw and from the outcome that ended them, nowhere else.
func observe(s *scope, outcome error) {
	reason, message := reasonOf(s, outcome)
	if s.paused() {
		s.put(infrav1.ConditionPaused, metav1.ConditionTrue, infrav1.ReasonPaused, message)
		return
	}
	s.put(infrav1.ConditionPaused, metav1.ConditionFalse, infrav1.ReasonNotPaused, "")
	s.c.Status.ObservedGeneration = s.c.Generation
	s.observeCredentials(reason, message)
	s.observeStage(infrav1.ConditionNetworkReady, s.networked, outcome, reason, message)
	s.observeStage(infrav1.ConditionEndpointReady, s.reached, outcome, reason, message)
	s.observeKubernetesService()
	s.observeReady(outcome, reason, message)
}

// observeCredentials: only an answer of CloudStack tells that it takes the credentials.
func (s *scope) observeCredentials(reason, message string) {
	switch reason {
	case infrav1.ReasonSecretNotFound, infrav1.ReasonSecretInvalid, infrav1.ReasonCredentialsRefused, infrav1.ReasonIdentityNotFound:
		s.put(infrav1.ConditionCredentialsAvailable, metav1.ConditionFalse, reason, message)
		return
	}
	if s.connected {
		s.put(infrav1.ConditionCredentialsAvailable, metav1.ConditionTrue, infrav1.ReasonReady, "")
	} else if meta.FindStatusCondition(s.c.Status.Conditions, infrav1.ConditionCredentialsAvailable) == nil {
		s.put(infrav1.ConditionCredentialsAvailable, metav1.ConditionUnknown, reason, message)
	}
}

// observeStage sets the condition of networks or endpoint. What was in order stays so while we merely cannot look, and while
// something else is put right.
func (s *scope) observeStage(conditionType string, done bool, outcome error, reason, message string) {
	switch {
	case s.deleting():
		s.put(conditionType, metav1.ConditionFalse, infrav1.ReasonDeleting, "the cluster is being deleted")
	case done && conditionType == infrav1.ConditionEndpointReady:
		s.put(conditionType, metav1.ConditionTrue, infrav1.ReasonReady, s.endpointText())
	case done && s.routedText() != "":
		s.put(conditionType, metav1.ConditionTrue, infrav1.ReasonFirewallUnmanaged, s.routedText())
	case done:
		s.put(conditionType, metav1.ConditionTrue, infrav1.ReasonReady, "")
	case s.is(conditionType, metav1.ConditionTrue) && (ending.Blind(outcome) || conditionType == infrav1.ConditionNetworkReady && !concernsNetwork(reason)):
	default:
		s.put(conditionType, metav1.ConditionFalse, reason, message)
	}
}

// concernsNetwork tells whether a reason speaks of zones and networks, and not of what is built on them.
func concernsNetwork(reason string) bool {
	switch reason {
	case infrav1.ReasonNetworkLost, infrav1.ReasonNetworkNotFound, infrav1.ReasonNetworkAmbiguous, infrav1.ReasonNetworkUnsuitable,
		infrav1.ReasonNetworkOfferingNotFound, infrav1.ReasonZoneNotFound, infrav1.ReasonZoneAmbiguous, infrav1.ReasonZoneDisabled, infrav1.ReasonHypervisorNotInZone,
		infrav1.ReasonOwnerNotFound, infrav1.ReasonInvalidSpec, infrav1.ReasonQuotaExceeded, infrav1.ReasonResourceAmbiguous:
		return true
	}
	return false
}

// observeKubernetesService says whether CloudStack's own Kubernetes service shows the cluster, where that is wanted.
func (s *scope) observeKubernetesService() {
	switch {
	case !s.wantsService():
		meta.RemoveStatusCondition(&s.c.Status.Conditions, infrav1.ConditionCKSSynced)
	case s.deleting():
		s.put(infrav1.ConditionCKSSynced, metav1.ConditionFalse, infrav1.ReasonDeleting, "the cluster is being deleted")
	case s.service.status != "":
		s.put(infrav1.ConditionCKSSynced, s.service.status, s.service.reason, s.service.message)
	case meta.FindStatusCondition(s.c.Status.Conditions, infrav1.ConditionCKSSynced) == nil:
		s.put(infrav1.ConditionCKSSynced, metav1.ConditionFalse, infrav1.ReasonCreating, "the entry is made when the networks are there")
	}
}

// observeReady sets the condition that summarises. A ready cluster stays ready while we merely cannot look at it, and says
// why we cannot.
func (s *scope) observeReady(outcome error, reason, message string) {
	switch {
	case reason == infrav1.ReasonReady && !s.deleting():
		s.put(infrav1.ConditionReady, metav1.ConditionTrue, infrav1.ReasonReady, message)
	case !s.deleting() && ending.Blind(outcome) && s.is(infrav1.ConditionReady, metav1.ConditionTrue):
		s.put(infrav1.ConditionReady, metav1.ConditionTrue, infrav1.ReasonReady, "the API is at "+s.endpointText()+", but it cannot be looked at: "+message)
	default:
		s.put(infrav1.ConditionReady, metav1.ConditionFalse, reason, message)
	}
}

func (s *scope) is(conditionType string, status metav1.ConditionStatus) bool {
	return meta.IsStatusConditionPresentAndEqual(s.c.Status.Conditions, conditionType, status)
}

func (s *scope) put(conditionType string, status metav1.ConditionStatus, reason, message string) {
	ending.Put(&s.c.Status.Conditions, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: s.c.Generation,
		LastTransitionTime: metav1.NewTime(s.now),
	})
}

// reasonOf gives condition reason and message for the outcome of a reconcile.
func reasonOf(s *scope, outcome error) (reason, message string) {
	switch {
	case outcome == nil && s.deleting():
		return infrav1.ReasonDeleting, "nothing is left in CloudStack"
	case outcome == nil:
		return infrav1.ReasonReady, "the API is at " + s.endpointText()
	}
	reason, message = reasons().Describe(outcome)
	if s.deleting() {
		reason = ending.WhileDeleting(reason)
	}
	return reason, s.withRepair(message)
}

// withRepair adds what was found lost or changed to a message.
func (s *scope) withRepair(message string) string {
	if s.repaired == "" {
		return message
	}
	return s.repaired + " was removed or changed behind our back; " + message
}
