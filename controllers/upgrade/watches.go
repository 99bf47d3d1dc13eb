package upgrade

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

// What the controller, the hooks and the warnings may do.
//
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackclusters;cloudstackmachinetemplates;cloudstackimages,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackclusters/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machinedeployments,verbs=get;list;watch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=*,verbs=get;list;watch

// controlPlaneGroup is the group of the control planes that the manager may watch.
const controlPlaneGroup = "controlplane.cluster.x-k8s.io"

// SetupWithManager makes a Reconciler and has the manager run it. Cluster API's kinds must be served.
func SetupWithManager(mgr manager.Manager, o Options) error {
	r := New(mgr.GetClient(), mgr.GetAPIReader(), o)
	edited := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("cloudstackupgrade").
		For(&clusterv1.Cluster{}, edited).
		Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(clusterOfWorkers), edited).
		Watches(&infrav1.CloudStackCluster{}, handler.EnqueueRequestsFromMapFunc(clusterOfInfra), builder.WithPredicates(placesChanged())).
		Watches(&infrav1.CloudStackMachineTemplate{}, handler.EnqueueRequestsFromMapFunc(r.clustersOfNamespace), edited).
		Watches(&infrav1.CloudStackImage{}, handler.EnqueueRequestsFromMapFunc(r.clustersOfNamespace), builder.WithPredicates(offerChanged())).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.options.Concurrency}).
		Build(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of upgrades: %w", err)
	}
	logger := mgr.GetLogger()
	tracker := &external.ObjectTracker{Controller: c, Cache: mgr.GetCache(), Scheme: mgr.GetScheme(), PredicateLogger: &logger}
	owners := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &clusterv1.Cluster{})
	r.follow = func(ctx context.Context, cluster *clusterv1.Cluster) error {
		obj, err := kindOf(mgr.GetRESTMapper(), cluster.Spec.ControlPlaneRef)
		if obj == nil || err != nil {
			return err
		}
		return tracker.Watch(ctrl.LoggerFrom(ctx), obj, owners, predicate.GenerationChangedPredicate{})
	}
	return nil
}

// kindOf gives an empty object of the kind of a control plane; nil when it has none that can be watched.
func kindOf(mapper meta.RESTMapper, ref clusterv1.ContractVersionedObjectReference) (*unstructured.Unstructured, error) {
	if ref.APIGroup != controlPlaneGroup {
		return nil, nil
	}
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: ref.APIGroup, Kind: ref.Kind})
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("finding the kind %s: %w", ref.Kind, err)
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(mapping.GroupVersionKind)
	return obj, nil
}

// placesChanged passes what changes where machines may be placed, and what is offered to them.
func placesChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*infrav1.CloudStackCluster)
		now, same := e.ObjectNew.(*infrav1.CloudStackCluster)
		return !ok || !same || before.Generation != now.Generation || !reflect.DeepEqual(before.Status.Resolved, now.Status.Resolved) ||
			!reflect.DeepEqual(before.Annotations, now.Annotations) || !reflect.DeepEqual(before.OwnerReferences, now.OwnerReferences) ||
			meta.FindStatusCondition(now.Status.Conditions, infrav1.ConditionVersionsAvailable) == nil
	}}
}

// offerChanged passes what changes whether machines can be made of an image. Its progress does not.
func offerChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*infrav1.CloudStackImage)
		now, same := e.ObjectNew.(*infrav1.CloudStackImage)
		return !ok || !same || before.Generation != now.Generation || imagecatalog.Deployable(before) != imagecatalog.Deployable(now) ||
			before.Status.ZoneID != now.Status.ZoneID || before.Status.Hypervisor != now.Status.Hypervisor ||
			before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero()
	}}
}

func clusterOfWorkers(_ context.Context, o client.Object) []reconcile.Request {
	d, ok := o.(*clusterv1.MachineDeployment)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: d.Namespace, Name: d.Spec.ClusterName}}}
}

func clusterOfInfra(_ context.Context, o client.Object) []reconcile.Request {
	infra, ok := o.(*infrav1.CloudStackCluster)
	if !ok {
		return nil
	}
	name := infra.Labels[clusterv1.ClusterNameLabel]
	for _, ref := range infra.OwnerReferences {
		if ref.Kind == "Cluster" {
			name = ref.Name
		}
	}
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: infra.Namespace, Name: name}}}
}

// clustersOfNamespace wakes the Clusters that an image or a template may be for.
func (r *Reconciler) clustersOfNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	var list clusterv1.ClusterList
	if err := r.client.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing the Clusters of a namespace failed")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if list.Items[i].Spec.InfrastructureRef.Kind == "CloudStackCluster" {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
