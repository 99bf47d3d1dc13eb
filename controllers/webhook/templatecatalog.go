package webhook

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-templatecatalog,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=templatecatalogs,verbs=create;update,versions=v1beta2,name=validation.templatecatalog.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,matchPolicy=Equivalent

// TemplateCatalog validates catalogs: that they expand, and that content stays once it was imported.
type TemplateCatalog struct {
	// Images reads the images of a catalog; a cache will do, because the controller checks again.
	Images client.Reader
}

// ValidateCreate refuses a catalog that does not expand.
func (w *TemplateCatalog) ValidateCreate(_ context.Context, c *infrav1.TemplateCatalog) (admission.Warnings, error) {
	warnings, errs := imagecatalog.Validate(&c.Spec)
	return warnings, invalid("TemplateCatalog", c, errs)
}

// ValidateUpdate refuses a catalog that does not expand or that changes imported images. A catalog that is being deleted
// may be changed in any way.
func (w *TemplateCatalog) ValidateUpdate(ctx context.Context, _, c *infrav1.TemplateCatalog) (admission.Warnings, error) {
	if !c.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	warnings, errs := imagecatalog.Validate(&c.Spec)
	if len(errs) > 0 {
		return nil, invalid("TemplateCatalog", c, errs)
	}
	existing, err := w.existing(ctx, c)
	if err != nil {
		return nil, err
	}
	if changed := imagecatalog.ChangedContent(c.Name, &c.Spec, existing); len(changed) > 0 {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "images"), imagecatalog.DescribeChanged(changed)))
	}
	return warnings, invalid("TemplateCatalog", c, errs)
}

// ValidateDelete lets every catalog go.
func (w *TemplateCatalog) ValidateDelete(context.Context, *infrav1.TemplateCatalog) (admission.Warnings, error) {
	return nil, nil
}

// existing lists the images that the catalog made.
func (w *TemplateCatalog) existing(ctx context.Context, c *infrav1.TemplateCatalog) ([]imagecatalog.Existing, error) {
	var list infrav1.CloudStackImageList
	err := w.Images.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels{infrav1.LabelCatalog: c.Name})
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("listing the images of the catalog: %w", err))
	}
	var out []imagecatalog.Existing
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], c) {
			out = append(out, imagecatalog.ExistingOf(&list.Items[i]))
		}
	}
	return out, nil
}
