package kube

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capcat/capcat/controllers/internal/step"
)

// Conclude answers the work queue for a reconcile that ended with an outcome and was then saved. Where either was a conflict
// somebody else changed the object, or the cache is behind: it is run again on what is there then.
func Conclude(outcome, saved error) (ctrl.Result, error) {
	switch {
	case apierrors.IsConflict(outcome), apierrors.IsConflict(saved):
		return ctrl.Result{RequeueAfter: ConflictPause}, nil
	case saved != nil:
		return ctrl.Result{}, saved
	}
	return step.Conclude(outcome)
}
