package catalog

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
)

// Reconciler reconciles TemplateCatalog. It keeps nothing in memory but credentials.
type Reconciler struct {
	client      client.Client
	live        client.Reader
	credentials *kube.Credentials
	recorder    events.EventRecorder
	options     Options
}

// New makes a Reconciler. live reads what must not come from a cache: Secrets, and whether anything is left to clean up.
func New(c client.Client, live client.Reader, recorder events.EventRecorder, o Options) (*Reconciler, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	return &Reconciler{client: c, live: live, credentials: kube.NewCredentials(c, live, o.Sessions.Forget), recorder: recorder, options: o}, nil
}

// Reconcile brings the images of one catalog up to date with it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	catalog := &infrav1.TemplateCatalog{}
	if err := r.client.Get(ctx, req.NamespacedName, catalog); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading the catalog: %w", err)
	}
	if !kube.Watched(catalog, r.options.WatchFilter) {
		return ctrl.Result{}, nil
	}
	s := newScope(r.client, catalog, r.options.Clock.Now())
	err := step.Run(ctx, s, r.phases(s)...)
	result, err := kube.Conclude(err, r.save(ctx, s, err))
	return s.wakeInTime(result), err
}

// phases is the order of work.
func (r *Reconciler) phases(s *scope) []step.Func[*scope] {
	switch {
	case s.paused(), s.movedAway():
		return []step.Func[*scope]{r.rest}
	case s.deleting():
		return []step.Func[*scope]{r.readImagesLive, r.deleteImages, r.release}
	}
	return []step.Func[*scope]{
		r.protect, r.readImages, r.checkCredentials, r.resolveHypervisors, r.plan, r.applyImages, r.retireImages, r.judge,
	}
}

// rest does nothing: somebody else is at work, or nobody may be.
func (r *Reconciler) rest(_ context.Context, s *scope) error {
	if s.movedAway() {
		return &step.Waiting{Reason: infrav1.ReasonDeleting, Message: "the catalog has been moved to another cluster"}
	}
	return &step.Waiting{Reason: infrav1.ReasonPaused, Message: "the annotation " + pausedAnnotation + " stops all work"}
}

// protect sets the finalizer, and saves it before anything is made that would have to be cleaned up.
func (r *Reconciler) protect(ctx context.Context, s *scope) error {
	if !controllerutil.AddFinalizer(s.catalog, infrav1.FinalizerCatalog) {
		return nil
	}
	return s.saver.Metadata(ctx, s.catalog)
}

// release lets the catalog go.
func (r *Reconciler) release(_ context.Context, s *scope) error {
	controllerutil.RemoveFinalizer(s.catalog, infrav1.FinalizerCatalog)
	s.released = true
	return nil
}

// save writes what the phases and their outcome changed.
func (r *Reconciler) save(ctx context.Context, s *scope, outcome error) error {
	if s.movedAway() {
		return nil
	}
	if s.released {
		return client.IgnoreNotFound(s.saver.Metadata(ctx, s.catalog))
	}
	observe(s, outcome)
	if err := s.saver.Status(ctx, s.catalog); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.announce(s)
	return nil
}

// longestSleep bounds the time until the next look. A timer is not a promise: clocks are set, and jitter grows with the wait.
const longestSleep = time.Hour

// wakeInTime has the catalog looked at again when time alone changes what it wants.
func (s *scope) wakeInTime(result ctrl.Result) ctrl.Result {
	if s.planned.Next.IsZero() {
		return result
	}
	after := min(max(s.planned.Next.Sub(s.now), time.Second), longestSleep)
	if result.RequeueAfter == 0 || after < result.RequeueAfter {
		result.RequeueAfter = after
	}
	return result
}
