package machine

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
)

// Reconciler reconciles CloudStackMachine. What it keeps in memory only saves work: everything needed after a restart is in
// the object or in CloudStack.
type Reconciler struct {
	client client.Client
	// live reads Secrets, which are not cached.
	live        client.Reader
	credentials *kube.Credentials
	recorder    events.EventRecorder
	options     Options
	waker       *kube.Waker
	waiting     *waitingRoom
	departures  *departures
	memos       *kube.Memos[memo]
}

// memo is what is remembered of a machine between two reconciles.
type memo struct {
	// attached is when the VM was made a member of a rule: what was seen of the rule before does not count.
	attached map[string]time.Time
	// seen is when the VM was asked for by itself: what listings showed before does not count.
	seen time.Time
	// domain is where the machine was placed last.
	domain string
	// plain is set when the account was not allowed to expunge although it seemed to be.
	plain bool
	// disbanding is the job that deletes the affinity group.
	disbanding cloudstack.Job
}

// New makes a Reconciler. live reads objects that c should not cache: Secrets.
func New(c client.Client, live client.Reader, recorder events.EventRecorder, o Options) (*Reconciler, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	return &Reconciler{
		client: c, live: live, credentials: kube.NewCredentials(c, live, o.Sessions.Forget), recorder: recorder, options: o,
		waker: kube.NewWaker(), waiting: newWaitingRoom(), departures: newDepartures(),
		memos: kube.NewMemos(func() *memo { return &memo{attached: map[string]time.Time{}} }),
	}, nil
}

// Reconcile moves one machine one step on.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	m := &infrav1.CloudStackMachine{}
	if err := r.client.Get(ctx, req.NamespacedName, m); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.forget(req.NamespacedName)
			r.departures.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading the machine: %w", err)
	}
	s := newScope(r.client, m, r.options.Clock.Now())
	if err := r.findOwners(ctx, s); err != nil {
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
		return []step.Func[*scope]{r.connect, r.detach, r.destroy, r.disband, r.release}
	}
	return []step.Func[*scope]{r.admit, r.resolve, r.gather, r.deploy, r.awaitRunning, r.expose, r.settle}
}

// rest does nothing: the machine is paused.
func (r *Reconciler) rest(_ context.Context, s *scope) error {
	message := "the annotation cluster.x-k8s.io/paused stops all work"
	if s.cluster != nil && s.cluster.Spec.Paused != nil && *s.cluster.Spec.Paused {
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
		err := s.saver.Metadata(ctx, s.m)
		if err == nil || apierrors.IsNotFound(err) {
			r.forget(s.key)
		}
		return client.IgnoreNotFound(err)
	}
	if err := s.saver.All(ctx, s.m); err != nil {
		return err
	}
	r.announce(s, outcome)
	return nil
}

// memo runs f on what is remembered of a machine.
func (r *Reconciler) memo(key types.NamespacedName, f func(*memo)) { r.memos.With(key, f) }

// forget drops everything that is remembered of a machine, but that it has departed.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.waiting.leave(key)
	r.memos.Forget(key)
}

// wake is what CloudStack's jobs and listings call when there is something new about a machine.
func (r *Reconciler) wake(s *scope) func() { return r.waker.Of(s.key) }
