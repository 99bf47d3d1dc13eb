package machine

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// observeKubelet compares the Node that joined with what its Machine asks for: a template may hold another version than it
// says. It returns what is wrong; empty when nothing is, or nothing is known yet.
func (s *scope) observeKubelet() (unlike string) {
	if s.machine == nil || !s.provisioned() || s.deleting() {
		return ""
	}
	asked := s.machine.Spec.Version
	info := s.machine.Status.NodeInfo
	switch {
	case asked == "":
		s.put(infrav1.ConditionKubeletVersionMatched, metav1.ConditionTrue, infrav1.ReasonNotNeeded, "the Machine asks for no version")
	case info == nil || info.KubeletVersion == "":
		s.put(infrav1.ConditionKubeletVersionMatched, metav1.ConditionUnknown, infrav1.ReasonWaitingForNode, "no Node has joined for the Machine yet")
	case sameVersion(info.KubeletVersion, asked):
		s.put(infrav1.ConditionKubeletVersionMatched, metav1.ConditionTrue, infrav1.ReasonKubeletVersionMatched, "the kubelet is "+info.KubeletVersion)
	default:
		unlike = fmt.Sprintf("the Machine asks for %s and the kubelet of its Node is %s: %s does not hold what it should. "+
			"Put the image right, then delete the Machine to replace it", asked, info.KubeletVersion, s.madeOf())
		s.put(infrav1.ConditionKubeletVersionMatched, metav1.ConditionFalse, infrav1.ReasonKubeletVersionMismatch, unlike)
	}
	return unlike
}

// madeOf names the template of the VM and, where there is one, its image.
func (s *scope) madeOf() string {
	res := s.m.Status.Resolved
	switch {
	case res == nil:
		return "its template"
	case res.ImageRef != "":
		return fmt.Sprintf("the template %q (%s), of the image %s,", res.TemplateName, res.TemplateID, res.ImageRef)
	}
	return fmt.Sprintf("the template %q (%s)", res.TemplateName, res.TemplateID)
}

// keepReady keeps Ready as it was while nothing is learnt about the VM, but for what the Node tells.
func (s *scope) keepReady(unlike string) {
	ready := meta.FindStatusCondition(s.m.Status.Conditions, infrav1.ConditionReady)
	if ready == nil || s.deleting() {
		return
	}
	switch {
	case unlike != "" && (ready.Status == metav1.ConditionTrue || ready.Reason == infrav1.ReasonKubeletVersionMismatch):
		s.put(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonKubeletVersionMismatch, unlike)
	case unlike == "" && ready.Reason == infrav1.ReasonKubeletVersionMismatch && s.is(infrav1.ConditionInstanceReady, metav1.ConditionTrue):
		s.put(infrav1.ConditionReady, metav1.ConditionTrue, infrav1.ReasonReady, "the VM "+s.m.Status.InstanceID+" runs")
	}
}
