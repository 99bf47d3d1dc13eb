package machinetemplate

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
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackmachinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackmachinetemplates/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackclusters;templatecatalogs;cloudstackimages,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machinedeployments,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch

// SetupWithManager makes a Reconciler and has the manager run it. The manager's client must not cache Secrets.
func SetupWithManager(ctx context.Context, mgr manager.Manager, o Options) error {
	r, err := New(mgr.GetClient(), mgr.GetAPIReader(), o)
	if err != nil {
		return err
	}
	filter := predicates.ResourceHasFilterLabel(mgr.GetScheme(), ctrl.LoggerFrom(ctx), o.WatchFilter)
	edited := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	err = ctrl.NewControllerManagedBy(mgr).
		Named("cloudstackmachinetemplate").
		For(&infrav1.CloudStackMachineTemplate{}, builder.WithPredicates(filter)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.unsettled), edited).
		Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(templateOf), edited).
		Watches(&infrav1.CloudStackCluster{}, handler.EnqueueRequestsFromMapFunc(r.unsettled), edited).
		Watches(&infrav1.TemplateCatalog{}, handler.EnqueueRequestsFromMapFunc(r.unsettled), edited).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.unsettled)).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.options.Concurrency}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of machine templates: %w", err)
	}
	return nil
}

// unsettled wakes the templates of a namespace of which something is not known, or may change.
func (r *Reconciler) unsettled(ctx context.Context, o client.Object) []reconcile.Request {
	var list infrav1.CloudStackMachineTemplateList
	items := func() []*infrav1.CloudStackMachineTemplate { return kube.Pointers(list.Items) }
	open := func(t *infrav1.CloudStackMachineTemplate) bool { return !(&scope{template: t}).known() }
	return kube.Requests(ctx, r.client, &list, items, open, client.InNamespace(o.GetNamespace()))
}

// templateOf wakes the template that a MachineDeployment uses.
func templateOf(_ context.Context, o client.Object) []reconcile.Request {
	d, ok := o.(*clusterv1.MachineDeployment)
	if !ok || !uses(d, d.Spec.Template.Spec.InfrastructureRef.Name) {
		return nil
	}
	key := client.ObjectKey{Namespace: d.Namespace, Name: d.Spec.Template.Spec.InfrastructureRef.Name}
	return []reconcile.Request{{NamespacedName: key}}
}
