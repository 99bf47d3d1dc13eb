package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/topology"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-cloudstackmachinetemplate,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=cloudstackmachinetemplates,verbs=create;update,versions=v1beta2,name=validation.cloudstackmachinetemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,matchPolicy=Equivalent
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-cloudstackclustertemplate,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=cloudstackclustertemplates,verbs=create;update,versions=v1beta2,name=validation.cloudstackclustertemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,matchPolicy=Equivalent

// Template validates a kind of templates: that the metadata for what is made of them is usable, and that they stay as
// they are, but for the dry runs by which a topology finds out whether it needs a new one.
type Template[T client.Object] struct {
	kind string
	// parts gives the metadata for what is made of a template, and all of its spec.
	parts func(T) (clusterv1.ObjectMeta, any)
	// idle names the fields of a template that are set and have no effect; may be nil.
	idle func(T) admission.Warnings
}

// MachineTemplates validates CloudStackMachineTemplates.
func MachineTemplates() *Template[*infrav1.CloudStackMachineTemplate] {
	return &Template[*infrav1.CloudStackMachineTemplate]{
		kind: "CloudStackMachineTemplate",
		parts: func(t *infrav1.CloudStackMachineTemplate) (clusterv1.ObjectMeta, any) {
			return t.Spec.Template.ObjectMeta, t.Spec
		},
		idle: func(t *infrav1.CloudStackMachineTemplate) admission.Warnings {
			var out admission.Warnings
			if t.Spec.Template.Spec.Name != "" {
				out = append(out, "spec.template.spec.name has no effect: a VM is named after its Machine")
			}
			if t.Spec.Template.Spec.ID != "" {
				out = append(out, "spec.template.spec.id has no effect: every Machine gets a VM of its own")
			}
			return out
		},
	}
}

// ClusterTemplates validates CloudStackClusterTemplates.
func ClusterTemplates() *Template[*infrav1.CloudStackClusterTemplate] {
	return &Template[*infrav1.CloudStackClusterTemplate]{
		kind: "CloudStackClusterTemplate",
		parts: func(t *infrav1.CloudStackClusterTemplate) (clusterv1.ObjectMeta, any) {
			return t.Spec.Template.ObjectMeta, t.Spec
		},
	}
}

// ValidateCreate refuses labels and annotations that nothing could carry, and warns of fields without effect.
func (w *Template[T]) ValidateCreate(_ context.Context, t T) (admission.Warnings, error) {
	metadata, _ := w.parts(t)
	var warnings admission.Warnings
	if w.idle != nil {
		warnings = w.idle(t)
	}
	return warnings, invalid(w.kind, t, metadata.Validate(field.NewPath("spec", "template", "metadata")))
}

// ValidateUpdate refuses any change of the spec. The dry runs of a topology and what is being deleted pass.
func (w *Template[T]) ValidateUpdate(ctx context.Context, old, t T) (admission.Warnings, error) {
	if !t.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	metadata, spec := w.parts(t)
	_, before := w.parts(old)
	if equality.Semantic.DeepEqual(before, spec) {
		return nil, nil
	}
	errs := metadata.Validate(field.NewPath("spec", "template", "metadata"))
	if !topology.IsDryRunRequest(req, t) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "a template cannot be changed: create a new one and refer to that"))
	}
	return nil, invalid(w.kind, t, errs)
}

// ValidateDelete lets every template go.
func (w *Template[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }
