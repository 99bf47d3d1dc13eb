package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/imagecatalog"
)

// What the controller may do.
//
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackmachines,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackmachines/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackmachines/finalizers,verbs=update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=cloudstackclusters;templatecatalogs;cloudstackimages,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch

// SetupWithManager makes a Reconciler and has the manager run it. The manager's client must not cache Secrets, and Cluster
// API's kinds must be served.
func SetupWithManager(ctx context.Context, mgr manager.Manager, o Options) error {
	r, err := New(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("capcat-machine"), o)
	if err != nil {
		return err
	}
	filter := predicates.ResourceHasFilterLabel(mgr.GetScheme(), ctrl.LoggerFrom(ctx), o.WatchFilter)
	machines := util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("CloudStackMachine"))
	err = ctrl.NewControllerManagedBy(mgr).
		Named("cloudstackmachine").
		For(&infrav1.CloudStackMachine{}, builder.WithPredicates(filter, kube.Edited())).
		Watches(&clusterv1.Machine{}, r.filtered(machines)).
		Watches(&clusterv1.Cluster{}, r.filtered(r.machinesOfCluster)).
		Watches(&infrav1.CloudStackCluster{}, r.filtered(r.machinesOfInfra)).
		Watches(&infrav1.CloudStackImage{}, handler.EnqueueRequestsFromMapFunc(r.machinesOfImage)).
		Watches(&infrav1.TemplateCatalog{}, r.filtered(r.machinesUndecided)).
		WatchesMetadata(&corev1.Secret{}, r.filtered(r.machinesOfSecret)).
		WatchesRawSource(r.waker).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.options.Concurrency}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the machine controller: %w", err)
	}
	return nil
}

// filtered leaves out the machines of another manager.
func (r *Reconciler) filtered(find handler.MapFunc) handler.EventHandler {
	fresh := func() *infrav1.CloudStackMachine { return &infrav1.CloudStackMachine{} }
	return kube.Wakes(r.client, fresh, r.options.WatchFilter, find)
}

// machinesWhere lists the machines of a namespace that something holds for.
func (r *Reconciler) machinesWhere(ctx context.Context, namespace string, labels client.MatchingLabels, holds func(*infrav1.CloudStackMachine) bool) []reconcile.Request {
	var list infrav1.CloudStackMachineList
	items := func() []*infrav1.CloudStackMachine { return kube.Pointers(list.Items) }
	return kube.Requests(ctx, r.client, &list, items, holds, client.InNamespace(namespace), labels, client.UnsafeDisableDeepCopy)
}

func every(*infrav1.CloudStackMachine) bool { return true }

// machinesOfCluster wakes the machines of a Cluster: it was paused, or its infrastructure is provisioned.
func (r *Reconciler) machinesOfCluster(ctx context.Context, o client.Object) []reconcile.Request {
	return r.machinesWhere(ctx, o.GetNamespace(), client.MatchingLabels{clusterv1.ClusterNameLabel: o.GetName()}, every)
}

// machinesOfInfra wakes the machines of a CloudStackCluster: its load balancer or its failure domains changed.
func (r *Reconciler) machinesOfInfra(ctx context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[clusterv1.ClusterNameLabel]
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == "Cluster" {
			name = ref.Name
		}
	}
	if name == "" {
		return nil
	}
	return r.machinesWhere(ctx, o.GetNamespace(), client.MatchingLabels{clusterv1.ClusterNameLabel: name}, every)
}

// machinesUndecided wakes the machines that something may be missing for.
func (r *Reconciler) machinesUndecided(ctx context.Context, o client.Object) []reconcile.Request {
	return r.machinesWhere(ctx, o.GetNamespace(), nil, func(m *infrav1.CloudStackMachine) bool { return m.Status.Resolved == nil })
}

// machinesOfSecret wakes the machines that are reached with the credentials of a Secret, and those that nothing is decided of.
func (r *Reconciler) machinesOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	return r.machinesWhere(ctx, o.GetNamespace(), nil, func(m *infrav1.CloudStackMachine) bool {
		return m.Status.Resolved == nil || m.Status.Resolved.IdentityRef.Name == o.GetName()
	})
}

// machinesOfImage wakes the machines that wait for an image when it has become ready.
func (r *Reconciler) machinesOfImage(_ context.Context, o client.Object) []reconcile.Request {
	img, ok := o.(*infrav1.CloudStackImage)
	if !ok || !imagecatalog.Deployable(img) {
		return nil
	}
	version, err := imagecatalog.ParseVersion(string(img.Spec.KubernetesVersion))
	if err != nil {
		return nil
	}
	var requests []reconcile.Request
	for _, key := range r.waiting.at(shelfOf(img.Namespace, version, img.Status.ZoneID)) {
		requests = append(requests, reconcile.Request{NamespacedName: key})
	}
	return requests
}
