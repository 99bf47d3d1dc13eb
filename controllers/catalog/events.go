package catalog

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/imagecatalog"
)

// actionImport is what the controller was about when it tells of an event.
const (
	actionImport = "ImportImages"
	actionRetire = "RetireImage"
)

// announce tells of conditions that changed.
func (r *Reconciler) announce(s *scope) {
	for _, conditionType := range []string{infrav1.ConditionCredentialsAvailable, infrav1.ConditionReady} {
		c, changed := kube.Transition(s.before.Status.Conditions, s.catalog.Status.Conditions, conditionType)
		if !changed || conditionType == infrav1.ConditionCredentialsAvailable && c.Status == metav1.ConditionTrue {
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Status == metav1.ConditionFalse && !harmless(c.Reason) {
			kind = corev1.EventTypeWarning
		}
		r.recorder.Eventf(s.catalog, nil, kind, c.Reason, actionImport, "%s", c.Message)
	}
}

// harmless reasons keep a catalog from being ready although nothing is wrong.
func harmless(reason string) bool {
	switch reason {
	case infrav1.ReasonProgressing, infrav1.ReasonSuspended, infrav1.ReasonPaused, infrav1.ReasonDeleting:
		return true
	}
	return false
}

// announceRetirement tells why an image is deleted.
func (r *Reconciler) announceRetirement(s *scope, image *infrav1.CloudStackImage, retirement imagecatalog.Retirement) {
	r.recorder.Eventf(s.catalog, image, corev1.EventTypeNormal, infrav1.ReasonRetired, actionRetire,
		"image %s is retired: %s", image.Name, retirement.Message)
}
