package machinetemplate

import (
	"context"
	"fmt"

	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
)

// Reconciler reconciles CloudStackMachineTemplate. It keeps nothing in memory but credentials, and changes nothing in CloudStack.
type Reconciler struct {
	client      client.Client
	credentials *kube.Credentials
	options     Options
}

// New makes a Reconciler. live reads Secrets, which must not come from a cache.
func New(c client.Client, live client.Reader, o Options) (*Reconciler, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	return &Reconciler{client: c, credentials: kube.NewCredentials(c, live, o.Sessions.Forget), options: o}, nil
}

// Reconcile brings the status of one template up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	template := &infrav1.CloudStackMachineTemplate{}
	if err := r.client.Get(ctx, req.NamespacedName, template); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading the template: %w", err)
	}
	s := newScope(r.client, template, r.options.Clock.Now())
	if !template.DeletionTimestamp.IsZero() || !kube.Watched(template, r.options.WatchFilter) || s.known() {
		return ctrl.Result{}, nil
	}
	if err := r.findCluster(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if s.cluster != nil && s.cluster.Spec.Paused != nil && *s.cluster.Spec.Paused || annotations.HasPaused(template) {
		return ctrl.Result{}, nil
	}
	err := step.Run(ctx, s, r.readCatalogs, r.findPlace, r.open, r.chooseSize, r.findArch, r.conclude)
	observe(s, err)
	return kube.Conclude(err, client.IgnoreNotFound(s.saver.Status(ctx, template)))
}

// findCluster finds the cluster that Cluster API made the owner of the template, and its infrastructure. A template that
// nobody owns yet has none.
func (r *Reconciler) findCluster(ctx context.Context, s *scope) error {
	cluster, err := util.GetOwnerCluster(ctx, r.client, s.template.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the cluster of the template: %w", err)
	}
	if err != nil || cluster == nil {
		return nil
	}
	s.cluster = cluster
	infra, err := kube.Infrastructure(ctx, r.client, cluster)
	if err == nil {
		s.infra = infra
	}
	return client.IgnoreNotFound(err)
}

// conclude says that everything was found.
func (r *Reconciler) conclude(_ context.Context, s *scope) error {
	s.done = true
	return nil
}
