package management

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	containerName = "manager"
	// askUnready and askReady are how often a manager is asked whether it is ready.
	askUnready = 250 * time.Millisecond
	askReady   = 5 * time.Second
	deployers  = 4
)

// kubelet runs the container "manager" of each Deployment as a process.
type kubelet struct {
	client client.Client
	pods   *pods
}

func addKubelet(m ctrl.Manager, p *pods) error {
	k := &kubelet{client: m.GetClient(), pods: p}
	return ctrl.NewControllerManagedBy(m).Named("kubelet").For(&appsv1.Deployment{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: deployers}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(k.inNamespace)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(k.inNamespace)).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(k.inNamespace)).
		WatchesRawSource(source.Channel(p.ended, &handler.EnqueueRequestForObject{})).
		Complete(k)
}

// inNamespace are the Deployments beside an object: they are few, and each knows what it mounts and who selects it.
func (k *kubelet) inNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	var list appsv1.DeploymentList
	if err := k.client.List(ctx, &list, client.InNamespace(o.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Deployments that may depend on an object are not found")
		return nil
	}
	var all []reconcile.Request
	for i := range list.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return all
}

func (k *kubelet) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	d := &appsv1.Deployment{}
	err := k.client.Get(ctx, req.NamespacedName, d)
	switch {
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, errors.Join(k.pods.remove(req.NamespacedName), k.withdraw(ctx, req.NamespacedName))
	case err != nil:
		return ctrl.Result{}, err
	case !d.DeletionTimestamp.IsZero() || (d.Spec.Replicas != nil && *d.Spec.Replicas == 0):
		err := errors.Join(k.pods.remove(req.NamespacedName), k.withdraw(ctx, req.NamespacedName), k.report(ctx, d, state{}))
		return ctrl.Result{}, err
	}
	p, now, err := k.run(ctx, d)
	if err != nil {
		return ctrl.Result{}, errors.Join(err, k.report(ctx, d, state{replicas: 1, message: err.Error()}))
	}
	err = errors.Join(k.publish(ctx, d, p, now.ready > 0), k.report(ctx, d, now))
	return ctrl.Result{RequeueAfter: now.after}, err
}

// run sees to it that the pod of a Deployment runs as its template says.
func (k *kubelet) run(ctx context.Context, d *appsv1.Deployment) (*pod, state, error) {
	spec := &d.Spec.Template.Spec
	program, container, err := k.pods.program(spec.Containers)
	if err != nil {
		return nil, state{}, err
	}
	p, err := k.pods.of(d, container, program)
	if err != nil {
		return nil, state{}, err
	}
	if err := k.mount(ctx, p, spec.Volumes); err != nil {
		return nil, state{}, err
	}
	if err := k.login(ctx, p, spec.ServiceAccountName); err != nil {
		return nil, state{}, err
	}
	if err := p.replaceIfStale(d); err != nil {
		return nil, state{}, err
	}
	if !p.alive() {
		p.bury()
		if wait := p.restartIn(); wait > 0 {
			return p, state{replicas: 1, message: p.lastWords(), after: wait}, nil
		}
		env, err := k.environment(ctx, p, d, container)
		if err != nil {
			return nil, state{}, err
		}
		if err := k.pods.launch(ctx, p, d, container, env); err != nil {
			return nil, state{}, err
		}
	}
	now := state{replicas: 1, after: askUnready, message: "the container is not ready"}
	if p.ready(ctx) {
		now = state{replicas: 1, ready: 1, after: min(askReady, time.Until(p.renew))}
	}
	return p, now, nil
}
