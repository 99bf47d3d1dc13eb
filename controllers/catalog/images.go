package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/step"
	"github.com/capcat/capcat/imagecatalog"
)

const (
	// fieldOwner is who the API server takes the fields to belong to that the catalog sets.
	fieldOwner = client.FieldOwner("capcat-catalog")
	// writesPerPass bounds the writes of one reconcile, so that a large catalog does not keep the others waiting.
	writesPerPass = 200
	// nextPass is the pause until the rest is written.
	nextPass = time.Second
	// zoneRetry is the pause until a zone that could not be resolved is tried again.
	zoneRetry = 2 * time.Minute
)

// readImages lists the images that the catalog made.
func (r *Reconciler) readImages(ctx context.Context, s *scope) error {
	return s.readImages(ctx, r.client)
}

// readImagesLive leaves nothing behind: a cache may not know yet what was made a moment ago.
func (r *Reconciler) readImagesLive(ctx context.Context, s *scope) error {
	return s.readImages(ctx, r.live)
}

func (s *scope) readImages(ctx context.Context, from client.Reader) error {
	var list infrav1.CloudStackImageList
	labels := client.MatchingLabels{infrav1.LabelCatalog: s.catalog.Name}
	if err := from.List(ctx, &list, client.InNamespace(s.catalog.Namespace), labels); err != nil {
		return fmt.Errorf("listing the images of the catalog: %w", err)
	}
	s.images = make(map[string]*infrav1.CloudStackImage, len(list.Items))
	for i := range list.Items {
		if image := &list.Items[i]; s.owns(image) {
			s.images[image.Name] = image
		}
	}
	return nil
}

// owns says whether an image belongs to the catalog: a label alone proves nothing.
func (s *scope) owns(image *infrav1.CloudStackImage) bool {
	return metav1.IsControlledBy(image, s.catalog)
}

// plan decides what to make, to keep and to retire. Images of zones that could not be resolved are left alone.
func (r *Reconciler) plan(_ context.Context, s *scope) error {
	if errs := imagecatalog.ValidateOfferings(&s.catalog.Spec); len(errs) > 0 {
		return &step.Terminal{Reason: infrav1.ReasonInvalidSpec, Message: errs.ToAggregate().Error()}
	}
	spec := s.catalog.Spec.DeepCopy()
	spec.Zones = s.zones
	in := imagecatalog.PlanInput{Catalog: s.catalog.Name, Now: s.now}
	if len(spec.Zones) > 0 {
		entries, errs := imagecatalog.Expand(spec)
		if len(errs) > 0 {
			return &step.Terminal{Reason: infrav1.ReasonInvalidSpec, Message: errs.ToAggregate().Error()}
		}
		in.Desired = entries
	}
	if keep := spec.Retention.KeepPatchesPerMinor; keep != nil {
		in.KeepPatchesPerMinor = *keep
	}
	for _, image := range s.images {
		if _, unresolved := s.unresolved[image.Spec.Zone]; !unresolved {
			in.Existing = append(in.Existing, imagecatalog.ExistingOf(image))
		}
	}
	s.planned = imagecatalog.MakePlan(in)
	s.plannedAll = true
	return nil
}

// applyImages makes what is missing and brings the rest up to date. While the catalog is suspended nothing is made.
func (r *Reconciler) applyImages(ctx context.Context, s *scope) error {
	items := s.planned.Wanted()
	if s.catalog.Spec.Suspend {
		items = slices.Concat(s.planned.Keep, s.planned.Changed)
	}
	for i := range items {
		have := s.images[items[i].Name]
		if have != nil && !have.DeletionTimestamp.IsZero() {
			continue // it is made anew when it is gone
		}
		want := s.desired(&items[i], have)
		if have != nil && upToDate(have, want) {
			continue
		}
		if s.applied >= writesPerPass {
			return &step.Waiting{Reason: infrav1.ReasonProgressing, Message: "more images are about to be made", After: nextPass}
		}
		if err := r.apply(ctx, want); err != nil {
			return err
		}
		s.applied++
	}
	return nil
}

// desired is the object of an item. The content of an image that was imported stays as it is.
func (s *scope) desired(item *imagecatalog.Item, have *infrav1.CloudStackImage) *infrav1.CloudStackImage {
	spec := &s.catalog.Spec
	e := item.Entry
	if have != nil && slices.ContainsFunc(s.planned.Changed, func(c imagecatalog.Item) bool { return c.Name == item.Name }) {
		life := e.Life
		e = imagecatalog.ExistingOf(have).Entry
		e.Life = life
	}
	image := &infrav1.CloudStackImage{}
	image.SetGroupVersionKind(infrav1.GroupVersion.WithKind("CloudStackImage"))
	image.Name, image.Namespace = item.Name, s.catalog.Namespace
	image.Labels = s.labels(&e)
	image.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.catalog, infrav1.GroupVersion.WithKind("TemplateCatalog"))}
	image.Spec = infrav1.CloudStackImageSpec{
		IdentityRef: spec.IdentityRef, Owner: spec.Owner, Zone: e.Zone, Hypervisor: e.Hypervisor, KubernetesVersion: e.Version.API(),
		OS: e.OS, Arch: e.Arch, Source: &e.Source, Delivery: spec.Delivery, Limits: spec.Limits, Template: e.Options, Stage: e.Life.Stage,
		DeletePolicy: spec.Retention.DeletePolicy, Suspend: spec.Suspend,
	}
	if !e.Life.Expires.IsZero() {
		expires := metav1.NewTime(e.Life.Expires)
		image.Spec.ExpirationDate = &expires
	}
	return image
}

func (s *scope) labels(e *imagecatalog.Entry) map[string]string {
	labels := map[string]string{
		infrav1.LabelCatalog:           s.catalog.Name,
		infrav1.LabelCatalogImage:      e.Image,
		infrav1.LabelKubernetesVersion: infrav1.LabelVersion(e.Version.API()),
		infrav1.LabelManagedBy:         infrav1.ManagedByCatalog,
	}
	if filter, ok := s.catalog.Labels[clusterv1.WatchLabel]; ok {
		labels[clusterv1.WatchLabel] = filter
	}
	return labels
}

// upToDate says whether an object has everything that is wanted of it.
func upToDate(have, want *infrav1.CloudStackImage) bool {
	for key, value := range want.Labels {
		if have.Labels[key] != value {
			return false
		}
	}
	return equality.Semantic.DeepEqual(have.Spec, want.Spec)
}

// apply writes an object server-side: only the fields that the catalog sets, whoever else set them.
func (r *Reconciler) apply(ctx context.Context, image *infrav1.CloudStackImage) error {
	data, err := json.Marshal(image)
	if err != nil {
		return fmt.Errorf("encoding the image %s: %w", image.Name, err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		return fmt.Errorf("encoding the image %s: %w", image.Name, err)
	}
	unstructured.RemoveNestedField(u.Object, "status")
	err = r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), fieldOwner, client.ForceOwnership)
	if apierrors.IsInvalid(err) {
		return &step.Failed{Reason: infrav1.ReasonInvalidSpec, Message: fmt.Sprintf("the API server refuses the image %s: %v", image.Name, err), Err: err}
	}
	if err != nil {
		return fmt.Errorf("applying the image %s: %w", image.Name, err)
	}
	return nil
}

// retireImages deletes what is not wanted any more. The objects stay until nothing uses them.
func (r *Reconciler) retireImages(ctx context.Context, s *scope) error {
	if s.catalog.Spec.Suspend {
		return nil
	}
	for _, retirement := range s.planned.Retire {
		image := s.images[retirement.Name]
		if !image.DeletionTimestamp.IsZero() {
			continue
		}
		if s.retired >= writesPerPass {
			return &step.Waiting{Reason: infrav1.ReasonProgressing, Message: "more images are about to be retired", After: nextPass}
		}
		if err := r.delete(ctx, image); err != nil {
			return err
		}
		s.retired++
		r.announceRetirement(s, image, retirement)
	}
	return nil
}

// delete deletes exactly the object that was seen.
func (r *Reconciler) delete(ctx context.Context, image *infrav1.CloudStackImage) error {
	err := r.client.Delete(ctx, image, client.Preconditions{UID: &image.UID})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting the image %s: %w", image.Name, err)
	}
	return nil
}

// deleteImages deletes all images of a catalog that is being deleted and waits until they are gone.
func (r *Reconciler) deleteImages(ctx context.Context, s *scope) error {
	if s.catalog.Spec.Suspend && len(s.images) > 0 {
		return &step.Waiting{Reason: infrav1.ReasonSuspended, Message: "the catalog is suspended: set spec.suspend to false to have its images deleted"}
	}
	for _, image := range s.images {
		if !image.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.delete(ctx, image); err != nil {
			return err
		}
	}
	if len(s.images) > 0 {
		return &step.Waiting{Reason: infrav1.ReasonDeleting, Message: s.remaining()}
	}
	return nil
}
