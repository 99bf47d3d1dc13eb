package cluster

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
)

// Reconciler reconciles CloudStackCluster. What it keeps in memory only saves calls: everything needed after a restart is
// in the object or in CloudStack.
type Reconciler struct {
	client      client.Client
	credentials *kube.Credentials
	recorder    events.EventRecorder
	options     Options
	waker       *kube.Waker
	memos       *kube.Memos[memo]
}

// memo is what is remembered of a cluster between two reconciles.
type memo struct {
	// networks are facts by id, which do not change.
	networks map[string]cloudstack.Network
	// fresh are networks that were just made, so that nothing can be on them.
	fresh map[string]bool
	// decided are networks whose egress rules somebody else decides.
	decided map[string]bool
	// untagged are the kinds of things, by id, that lack their tags, in the failure domain.
	untagged map[string]untagged
	// touched is when something was last changed in a failure domain: what the watch saw before does not count.
	touched map[string]time.Time
	// shown is what CloudStack's own Kubernetes service showed.
	shown shown
	// serviceTrouble is why it does not show the cluster, and serviceRest when that is tried again.
	serviceTrouble service
	serviceRest    time.Time
	// rest is when a deletion that was refused is tried again, by failure domain.
	rest map[string]time.Time
	// recalled are the failure domains in which everything that a deletion needs to know is known.
	recalled map[string]bool
}

func newMemo() *memo {
	return &memo{
		networks: map[string]cloudstack.Network{}, fresh: map[string]bool{}, decided: map[string]bool{},
		untagged: map[string]untagged{}, touched: map[string]time.Time{}, rest: map[string]time.Time{}, recalled: map[string]bool{},
	}
}

// New makes a Reconciler. live reads Secrets, which c should not cache.
func New(c client.Client, live client.Reader, recorder events.EventRecorder, o Options) (*Reconciler, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	return &Reconciler{
		client: c, credentials: kube.NewCredentials(c, live, o.Sessions.Forget), recorder: recorder, options: o,
		waker: kube.NewWaker(), memos: kube.NewMemos(newMemo),
	}, nil
}

// Reconcile moves one cluster one step on.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &infrav1.CloudStackCluster{}
	if err := r.client.Get(ctx, req.NamespacedName, c); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading the cluster: %w", err)
	}
	if annotations.IsExternallyManaged(c) {
		return ctrl.Result{}, nil // object and status are somebody else's
	}
	s := newScope(r.client, c, r.options.Clock.Now())
	if err := r.findOwner(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	err := step.Run(ctx, s, r.phases(s)...)
	return kube.Conclude(err, r.save(ctx, s, err))
}

// phases is the order of work.
func (r *Reconciler) phases(s *scope) []step.Func[*scope] {
	switch {
	case s.paused():
		return []step.Func[*scope]{r.rest}
	case s.deleting():
		return []step.Func[*scope]{
			r.admitDeletion, r.connect, r.resolve, r.awaitMachines, r.awaitJobs, r.recall, r.hide, r.unbalance, r.closeEgress,
			r.removeNetworks, r.removeVPCs, r.release,
		}
	}
	return []step.Func[*scope]{
		r.admit, r.connect, r.resolve, r.protect, r.look, r.awaitJobs, r.networks, r.egress,
		r.address, r.publish, r.balance, r.admitClients, r.tag, r.retire, r.synchronise, r.settle,
	}
}

// rest does nothing: the cluster is paused.
func (r *Reconciler) rest(_ context.Context, s *scope) error {
	message := "the annotation cluster.x-k8s.io/paused stops all work"
	if s.cluster != nil && isTrue(s.cluster.Spec.Paused) {
		message = fmt.Sprintf("the Cluster %s is paused", s.cluster.Name)
	}
	return &step.Waiting{Reason: infrav1.ReasonPaused, Message: message}
}

// save writes what the phases and their outcome changed: first the finalizer, then the status.
func (r *Reconciler) save(ctx context.Context, s *scope, outcome error) error {
	if apierrors.IsConflict(outcome) {
		return nil // it was computed from an object that is no more
	}
	observe(s, outcome)
	if s.released {
		r.announce(s, outcome)
		err := s.saver.Metadata(ctx, s.c)
		if err == nil || apierrors.IsNotFound(err) {
			r.forget(s.key)
		}
		return client.IgnoreNotFound(err)
	}
	if err := s.saver.All(ctx, s.c); err != nil {
		return err
	}
	r.announce(s, outcome)
	return nil
}

// memo runs f on what is remembered of a cluster.
func (r *Reconciler) memo(key types.NamespacedName, f func(*memo)) { r.memos.With(key, f) }

// forget drops everything that is remembered of a cluster.
func (r *Reconciler) forget(key types.NamespacedName) { r.memos.Forget(key) }

// wake is what CloudStack's jobs and listings call when there is something new about a cluster.
func (r *Reconciler) wake(s *scope) func() { return r.waker.Of(s.key) }
