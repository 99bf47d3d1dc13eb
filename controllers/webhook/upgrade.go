package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/capcat/capcat/controllers/upgrade"
)

// upgradePath is where changes of a version are looked at.
const upgradePath = "/warn-upgrade"

// +kubebuilder:webhook:path=/warn-upgrade,mutating=false,failurePolicy=ignore,sideEffects=None,timeoutSeconds=3,groups=cluster.x-k8s.io,resources=clusters,verbs=update,versions=v1beta2,name=upgrade.cluster.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,matchPolicy=Equivalent
// +kubebuilder:webhook:path=/warn-upgrade,mutating=false,failurePolicy=ignore,sideEffects=None,timeoutSeconds=3,groups=cluster.x-k8s.io,resources=machinedeployments,verbs=update,versions=v1beta2,name=upgrade.machinedeployment.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,matchPolicy=Equivalent
// +kubebuilder:webhook:path=/warn-upgrade,mutating=false,failurePolicy=ignore,sideEffects=None,timeoutSeconds=3,groups=controlplane.cluster.x-k8s.io,resources=kubeadmcontrolplanes,verbs=update,versions=v1beta2,name=upgrade.kubeadmcontrolplane.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,matchPolicy=Equivalent

// Upgrade warns of versions that no image is there for. It refuses nothing, whatever happens.
type Upgrade struct {
	// Gate knows what an upgrade would wait for.
	Gate *upgrade.Gate
}

// Handle looks at a change of a Cluster, a MachineDeployment or a control plane.
func (w *Upgrade) Handle(ctx context.Context, req admission.Request) admission.Response {
	allowed := admission.Allowed("")
	warnings, err := w.warnings(ctx, req)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("Cannot tell what an upgrade waits for", "cause", err.Error())
	}
	return allowed.WithWarnings(warnings...)
}

func (w *Upgrade) warnings(ctx context.Context, req admission.Request) ([]string, error) {
	before, err := changeIn(req.OldObject.Raw)
	if err != nil {
		return nil, err
	}
	now, err := changeIn(req.Object.Raw)
	if err != nil || !now.Rolls(before) {
		return nil, err
	}
	return w.Gate.Warnings(ctx, now)
}

func changeIn(raw []byte) (upgrade.Change, error) {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(raw); err != nil {
		return upgrade.Change{}, fmt.Errorf("reading the object: %w", err)
	}
	return upgrade.ChangeOf(obj)
}
