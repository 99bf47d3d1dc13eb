package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// machineCount is what cluster.yaml asks for: a control plane and two workers.
const machineCount = 3

func phaseOf(img *infrav1.CloudStackImage) infrav1.ImagePhase {
	switch {
	case meta.IsStatusConditionTrue(img.Status.Conditions, infrav1.ConditionReady):
		return infrav1.PhaseReady
	case img.Status.Progress == nil:
		return infrav1.PhasePending
	}
	return img.Status.Progress.Phase
}

// settled tells whether every catalog has made its images, the good ones are ready and the hostile one is refused. An image that
// failed although it is good ends the demo at once.
func (s *scene) settled() (bool, error) {
	made := map[string]int{}
	all := true
	for i := range s.images {
		img := &s.images[i]
		catalog := img.Labels[infrav1.LabelCatalog]
		made[catalog]++
		phase := phaseOf(img)
		switch {
		case catalog != hostileCatalog && phase == infrav1.PhaseFailed:
			return false, fmt.Errorf("%s failed: %s", img.Name, verdict(img))
		case catalog == hostileCatalog && phase == infrav1.PhaseReady:
			return false, fmt.Errorf("%s is ready, but it must be refused", img.Name)
		case phase != infrav1.PhaseReady && phase != infrav1.PhaseFailed:
			all = false
		}
	}
	for _, c := range s.catalogs {
		all = all && made[c.Name] > 0
	}
	return all && len(s.catalogs) > 0, nil
}

// runs tells whether the cluster is available with all its machines, and only them, in the version.
func (s *scene) runs(version string) bool {
	if len(s.clusters) != 1 || len(s.machines) != machineCount || len(s.vms) != machineCount {
		return false
	}
	for i := range s.machines {
		m := &s.machines[i]
		if m.Status.NodeInfo == nil || m.Status.NodeInfo.KubeletVersion != version || !meta.IsStatusConditionTrue(m.Status.Conditions, clusterv1.MachineReadyCondition) {
			return false
		}
	}
	return meta.IsStatusConditionTrue(s.clusters[0].Status.Conditions, clusterv1.ClusterAvailableCondition)
}

// conditioned is an object of ours.
type conditioned interface {
	GetName() string
	GetConditions() []metav1.Condition
}

// reason is why an object is ready or not, in one word.
func reason(o conditioned) string {
	if ready := meta.FindStatusCondition(o.GetConditions(), infrav1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return ""
}

// verdict is the reason why an image is not ready, for people.
func verdict(img *infrav1.CloudStackImage) string {
	c := meta.FindStatusCondition(img.Status.Conditions, infrav1.ConditionReady)
	if c == nil {
		return "nothing has been said about it"
	}
	reason := c.Reason
	if code := img.Status.ContentCode; code != "" && !strings.Contains(c.Message, code) {
		reason += "/" + code
	}
	return reason + ": " + c.Message
}
