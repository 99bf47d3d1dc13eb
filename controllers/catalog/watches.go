package catalog

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/kube"
)

// gather is how long changes of images are collected before their catalog looks at them: many change at once.
const gather = time.Second

// What the controller may do.
//
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=templatecatalogs,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=templatecatalogs/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=templatecatalogs/finalizers,verbs=update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackimages,verbs=create;delete;get;list;patch;update;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// SetupWithManager makes a Reconciler and has the manager run it. The manager's client must not cache Secrets.
func SetupWithManager(ctx context.Context, mgr manager.Manager, o Options) error {
	r, err := New(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("capcat-catalog"), o)
	if err != nil {
		return err
	}
	if err := kube.IndexBy(ctx, mgr.GetFieldIndexer(), &infrav1.TemplateCatalog{}, kube.IndexIdentity, identityName); err != nil {
		return err
	}
	filter := predicates.ResourceHasFilterLabel(mgr.GetScheme(), ctrl.LoggerFrom(ctx), o.WatchFilter)
	err = ctrl.NewControllerManagedBy(mgr).
		Named("templatecatalog").
		For(&infrav1.TemplateCatalog{}, builder.WithPredicates(filter)).
		Watches(&infrav1.CloudStackImage{}, imageEvents{}).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.catalogsOfSecret)).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.options.Concurrency}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the catalog controller: %w", err)
	}
	return nil
}

func identityName(c *infrav1.TemplateCatalog) string { return c.Spec.IdentityRef.Name }

// catalogsOfSecret wakes the catalogs that use a Secret when it changes.
func (r *Reconciler) catalogsOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	var list infrav1.TemplateCatalogList
	items := func() []*infrav1.TemplateCatalog { return kube.Pointers(list.Items) }
	every := func(*infrav1.TemplateCatalog) bool { return true }
	return kube.Requests(ctx, r.client, &list, items, every, client.InNamespace(o.GetNamespace()), client.MatchingFields{kube.IndexIdentity: o.GetName()})
}

// imageEvents wakes the catalog of an image when the image changes in a way that its catalog cares for.
type imageEvents struct{}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func (imageEvents) Create(_ context.Context, e event.CreateEvent, q queue) { wakeOwner(e.Object, q) }

func (imageEvents) Delete(_ context.Context, e event.DeleteEvent, q queue) { wakeOwner(e.Object, q) }

func (imageEvents) Generic(_ context.Context, e event.GenericEvent, q queue) { wakeOwner(e.Object, q) }

func (imageEvents) Update(_ context.Context, e event.UpdateEvent, q queue) {
	before, ok := e.ObjectOld.(*infrav1.CloudStackImage)
	now, ok2 := e.ObjectNew.(*infrav1.CloudStackImage)
	if ok && ok2 && !matters(before, now) {
		return
	}
	wakeOwner(e.ObjectNew, q)
}

// wakeOwner queues the catalog that controls an image.
func wakeOwner(image client.Object, q queue) {
	ref := metav1.GetControllerOf(image)
	if ref == nil || ref.Kind != "TemplateCatalog" {
		return
	}
	key := types.NamespacedName{Namespace: image.GetNamespace(), Name: ref.Name}
	q.AddAfter(reconcile.Request{NamespacedName: key}, gather)
}

// matters leaves out what changes all the time: progress.
func matters(before, now *infrav1.CloudStackImage) bool {
	return before.Generation != now.Generation ||
		!before.DeletionTimestamp.Equal(now.DeletionTimestamp) ||
		!maps.Equal(before.Labels, now.Labels) ||
		(before.Status.ContentDigest == "") != (now.Status.ContentDigest == "") ||
		phaseOf(before) != phaseOf(now) ||
		readyText(before) != readyText(now)
}

func phaseOf(image *infrav1.CloudStackImage) infrav1.ImagePhase {
	if image.Status.Progress == nil {
		return ""
	}
	return image.Status.Progress.Phase
}

func readyText(image *infrav1.CloudStackImage) string {
	ready := meta.FindStatusCondition(image.Status.Conditions, infrav1.ConditionReady)
	if ready == nil {
		return ""
	}
	return string(ready.Status) + " " + ready.Reason
}

var _ handler.EventHandler = imageEvents{}
