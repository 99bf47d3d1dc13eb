package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/kube"
)

// What the controller may do.
//
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackclusters,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackclusters/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackmachines,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=templatecatalogs;cloudstackimages,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch;update

// SetupWithManager makes a Reconciler and a Keeper and has the manager run them. The manager's client must not cache
// Secrets, and Cluster API's kinds must be served.
func SetupWithManager(ctx context.Context, mgr manager.Manager, o Options) error {
	r, err := New(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("capcat-cluster"), o)
	if err != nil {
		return err
	}
	filter := predicates.ResourceHasFilterLabel(mgr.GetScheme(), ctrl.LoggerFrom(ctx), o.WatchFilter)
	err = ctrl.NewControllerManagedBy(mgr).
		Named("cloudstackcluster").
		For(&infrav1.CloudStackCluster{}, builder.WithPredicates(filter, kube.Edited())).
		Watches(&clusterv1.Cluster{}, r.filtered(clusterOfOwner)).
		Watches(&infrav1.CloudStackMachine{}, r.filtered(r.clustersOfMachine)).
		WatchesMetadata(&corev1.Secret{}, r.filtered(r.clustersOfSecret)).
		WatchesRawSource(r.waker).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.options.Concurrency}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the cluster controller: %w", err)
	}
	edited := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	err = ctrl.NewControllerManagedBy(mgr).
		Named("cloudstackidentity").
		WatchesMetadata(&corev1.Secret{}, &handler.EnqueueRequestForObject{}).
		Watches(&infrav1.CloudStackCluster{}, handler.EnqueueRequestsFromMapFunc(secretsOfUser)).
		Watches(&infrav1.TemplateCatalog{}, handler.EnqueueRequestsFromMapFunc(secretsOfUser), edited).
		Watches(&infrav1.CloudStackImage{}, handler.EnqueueRequestsFromMapFunc(secretsOfUser), edited).
		Complete(NewKeeper(mgr.GetClient()))
	if err != nil {
		return fmt.Errorf("setting up the keeper of Secrets: %w", err)
	}
	return nil
}

// filtered leaves out the clusters of another manager.
func (r *Reconciler) filtered(find handler.MapFunc) handler.EventHandler {
	fresh := func() *infrav1.CloudStackCluster { return &infrav1.CloudStackCluster{} }
	return kube.Wakes(r.client, fresh, r.options.WatchFilter, find)
}

// clusterOfOwner wakes the cluster that a Cluster refers to.
func clusterOfOwner(_ context.Context, o client.Object) []reconcile.Request {
	c, ok := o.(*clusterv1.Cluster)
	if !ok || c.Spec.InfrastructureRef.APIGroup != infrav1.GroupName || c.Spec.InfrastructureRef.Kind != "CloudStackCluster" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: c.Namespace, Name: c.Spec.InfrastructureRef.Name}}}
}

func (r *Reconciler) clustersWhere(ctx context.Context, namespace string, holds func(*infrav1.CloudStackCluster) bool) []reconcile.Request {
	var list infrav1.CloudStackClusterList
	items := func() []*infrav1.CloudStackCluster { return kube.Pointers(list.Items) }
	return kube.Requests(ctx, r.client, &list, items, holds, client.InNamespace(namespace))
}

// clustersOfMachine wakes the clusters that a change of a machine may matter to: those that are being deleted or have given up
// a failure domain, when the machine goes and may have been the last there, and those that show their machines in CloudStack's
// own Kubernetes service.
func (r *Reconciler) clustersOfMachine(ctx context.Context, o client.Object) []reconcile.Request {
	goes, of := !o.GetDeletionTimestamp().IsZero(), o.GetLabels()[clusterv1.ClusterNameLabel]
	return r.clustersWhere(ctx, o.GetNamespace(), func(c *infrav1.CloudStackCluster) bool {
		return goes && (!c.DeletionTimestamp.IsZero() || len(c.Status.Resolved) > max(len(c.Spec.FailureDomains), 1)) ||
			isTrue(c.Spec.SyncWithACS) && c.Labels[clusterv1.ClusterNameLabel] == of
	})
}

// clustersOfSecret wakes the clusters that need a Secret.
func (r *Reconciler) clustersOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	return r.clustersWhere(ctx, o.GetNamespace(), func(c *infrav1.CloudStackCluster) bool { return needs(c, o.GetName()) })
}

// secretsOfUser wakes the Keeper for the Secrets that an object of ours needs.
func secretsOfUser(_ context.Context, o client.Object) []reconcile.Request {
	var names []string
	switch o := o.(type) {
	case *infrav1.CloudStackCluster:
		names = secretsOf(o)
	case *infrav1.TemplateCatalog:
		names = []string{o.Spec.IdentityRef.Name}
	case *infrav1.CloudStackImage:
		names = []string{o.Spec.IdentityRef.Name}
	}
	var requests []reconcile.Request
	for _, name := range names {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}})
	}
	return requests
}
