package machinetemplate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
)

const mebi, gibi = 1 << 20, 1 << 30

// observe computes the status from what the phases saw and how they ended.
func observe(s *scope, outcome error) {
	status := &s.template.Status
	status.ObservedGeneration = s.template.Generation
	if s.done {
		status.Capacity = capacity(s)
		status.NodeInfo = infrav1.NodeInfo{Architecture: s.arch.Node(), OperatingSystem: "linux"}
		setCondition(s, metav1.ConditionTrue, infrav1.ReasonCapacityKnown, fmt.Sprintf("service offering %q in %s: %s", s.size.Name, s.place.from, s.why))
		return
	}
	reason, message := ending.Reasons{}.Describe(outcome)
	if unfounded(reason) {
		status.Capacity, status.NodeInfo = nil, infrav1.NodeInfo{}
	}
	setCondition(s, metav1.ConditionFalse, reason, message)
}

// capacity is what a machine has as a whole; what the system keeps of it is not known.
func capacity(s *scope) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(s.size.CPUs, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(s.size.MemoryMiB*mebi, resource.BinarySI),
	}
	if disk := s.spec().RootDiskSizeGiB; disk > 0 {
		list[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(disk)*gibi, resource.BinarySI)
	}
	return list
}

// unfounded says that what was known before holds no more: there would be no machine at all.
func unfounded(reason string) bool {
	switch reason {
	case infrav1.ReasonOfferingNotFound, infrav1.ReasonOfferingAmbiguous, infrav1.ReasonOfferingClassNotFound, infrav1.ReasonOfferingIncomplete:
		return true
	}
	return false
}

func setCondition(s *scope, status metav1.ConditionStatus, reason, message string) {
	ending.Put(&s.template.Status.Conditions, metav1.Condition{
		Type: infrav1.ConditionCapacityKnown, Status: status, Reason: reason, Message: message,
		ObservedGeneration: s.template.Generation, LastTransitionTime: metav1.NewTime(s.now),
	})
}

func ownerName(o infrav1.ResourceOwner) cloudstack.OwnerName {
	return cloudstack.OwnerName{Project: o.Project, Domain: o.Domain, Account: o.Account}
}

// searchFailure turns a failed call into an outcome. missing is the reason where CloudStack has no such thing.
func searchFailure(doing, missing string, err error) error {
	return ending.Reasons{}.Search(missing, missing, doing, err)
}
