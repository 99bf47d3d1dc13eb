package image

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
	"github.com/capcat/capcat/controllers/internal/task"
	"github.com/capcat/capcat/imagecatalog/importer"
)

// Reconciler reconciles CloudStackImage. What it keeps in memory only saves work: everything needed after a restart is in
// the object or in CloudStack.
type Reconciler struct {
	client      client.Client
	credentials *kube.Credentials
	recorder    events.EventRecorder
	options     Options
	metrics     *metrics
	waker       *kube.Waker

	imports *task.Runner[types.NamespacedName, importer.Progress, importer.Result]
	uploads *task.Runner[types.NamespacedName, sent, struct{}]

	memos *kube.Memos[objectMemo]
}

// objectMemo is what is remembered of an object between two reconciles.
type objectMemo struct {
	// firstSeen is when this life of the manager saw the object first.
	firstSeen time.Time
	// jobs are the running deletions by template id.
	jobs map[string]deletion
	// progressAt is when progress was last written.
	progressAt time.Time
	// lease keeps the blob that CloudStack downloads from us.
	lease releaser
	// onItsWay is the id of the zone that a template is being delivered into; empty when none is.
	onItsWay string
	// waitsFor is the id of the zone that has no place for this image, and waitsSince when it asked first.
	waitsFor   string
	waitsSince time.Time
	// tagged is the id of the template that was given tags.
	tagged string
}

// deletion is a job that deletes a template.
type deletion struct {
	job   cloudstack.Job
	since time.Time
}

type releaser interface{ Release() error }

// New makes a Reconciler. live reads objects that c should not cache: Secrets.
func New(c client.Client, live client.Reader, recorder events.EventRecorder, o Options) (*Reconciler, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	r := &Reconciler{
		client: c, credentials: kube.NewCredentials(c, live, o.Sessions.Forget), recorder: recorder, options: o, metrics: m,
		waker: kube.NewWaker(),
		memos: kube.NewMemos(func() *objectMemo { return &objectMemo{jobs: map[string]deletion{}, firstSeen: o.Clock.Now()} }),
	}
	r.imports = task.NewRunner[types.NamespacedName, importer.Progress, importer.Result](
		task.Options[types.NamespacedName]{Workers: o.Workers, Wake: r.waker.Wake})
	r.uploads = task.NewRunner[types.NamespacedName, sent, struct{}](
		task.Options[types.NamespacedName]{Workers: o.Uploads, Wake: r.waker.Wake})
	return r, nil
}

// SetupWithManager makes a Reconciler and has the manager run it. The manager's client must not cache Secrets.
func SetupWithManager(ctx context.Context, mgr manager.Manager, o Options) error {
	r, err := New(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("capcat-image"), o)
	if err != nil {
		return err
	}
	for _, tasks := range []manager.Runnable{r.imports, r.uploads} {
		if err := mgr.Add(tasks); err != nil {
			return fmt.Errorf("adding the tasks of images: %w", err)
		}
	}
	if err := kube.IndexBy(ctx, mgr.GetFieldIndexer(), &infrav1.CloudStackImage{}, kube.IndexIdentity, identityName); err != nil {
		return err
	}
	filter := predicates.ResourceHasFilterLabel(mgr.GetScheme(), ctrl.LoggerFrom(ctx), o.WatchFilter)
	err = ctrl.NewControllerManagedBy(mgr).
		Named("cloudstackimage").
		For(&infrav1.CloudStackImage{}, builder.WithPredicates(filter)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.imagesOfSecret)).
		WatchesRawSource(r.waker).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.options.Concurrency}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the image controller: %w", err)
	}
	return nil
}

func identityName(i *infrav1.CloudStackImage) string { return i.Spec.IdentityRef.Name }

// imagesOfSecret wakes the images that use a Secret when it changes.
func (r *Reconciler) imagesOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	var list infrav1.CloudStackImageList
	items := func() []*infrav1.CloudStackImage { return kube.Pointers(list.Items) }
	every := func(*infrav1.CloudStackImage) bool { return true }
	return kube.Requests(ctx, r.client, &list, items, every, client.InNamespace(o.GetNamespace()), client.MatchingFields{kube.IndexIdentity: o.GetName()})
}

// Reconcile moves one image one step on.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	img := &infrav1.CloudStackImage{}
	if err := r.client.Get(ctx, req.NamespacedName, img); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading the image: %w", err)
	}
	if !kube.Watched(img, r.options.WatchFilter) {
		r.forget(req.NamespacedName) // another manager may be at work by now
		return ctrl.Result{}, nil
	}
	r.memo(req.NamespacedName, func(*objectMemo) {}) // notes the time of the first look
	s := newScope(r.client, img, r.options.Clock.Now())
	err := step.Run(ctx, s, r.phases(s)...)
	return kube.Conclude(err, r.save(ctx, s, err))
}

// phases is the order of work.
func (r *Reconciler) phases(s *scope) []step.Func[*scope] {
	switch {
	case s.paused():
		return []step.Func[*scope]{r.rest}
	case s.deleting():
		return []step.Func[*scope]{r.halt, r.connectToRetire, r.survey, r.sweep, r.protect, r.retire, r.release}
	case s.img.Spec.Suspend:
		return []step.Func[*scope]{r.halt, r.rest}
	case s.img.Spec.ExistingTemplate != nil:
		return []step.Func[*scope]{r.connect, r.resolve, r.adoptNamed, r.confirm}
	}
	return []step.Func[*scope]{
		r.connect, r.resolve, r.survey, r.sweep, r.adopt, r.cool, r.fetch, r.register, r.await, r.mark, r.confirm,
	}
}

// save writes what the phases and their outcome changed: first the finalizer, then the status.
func (r *Reconciler) save(ctx context.Context, s *scope, outcome error) error {
	observe(s, outcome)
	r.thinProgress(s)
	if err := s.saver.Metadata(ctx, s.img); err != nil {
		return client.IgnoreNotFound(err)
	}
	if s.released {
		r.announce(s, outcome)
		r.forget(s.key)
		return nil
	}
	if s.saver.Changed(s.img) {
		r.memo(s.key, func(m *objectMemo) { m.progressAt = s.now })
	}
	if err := s.saver.Status(ctx, s.img); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.announce(s, outcome)
	return nil
}

const (
	// progressEvery and progressStep bound how often mere progress is written: every 10 seconds or 5 percent.
	progressEvery = 10 * time.Second
	progressStep  = 5
)

// thinProgress takes back progress that is not worth a write.
func (r *Reconciler) thinProgress(s *scope) {
	before, now := s.before.Status.Progress, s.img.Status.Progress
	if before == nil || now == nil || before.Phase != now.Phase {
		return
	}
	var at time.Time
	r.memo(s.key, func(m *objectMemo) { at = m.progressAt })
	if s.now.Sub(at) < progressEvery && percentOf(now)-percentOf(before) < progressStep {
		s.img.Status.Progress = before.DeepCopy()
	}
}

func percentOf(p *infrav1.ImageProgress) int32 {
	if p == nil || p.Percent == nil {
		return 0
	}
	return *p.Percent
}

// memo runs f on what is remembered of the object.
func (r *Reconciler) memo(key types.NamespacedName, f func(*objectMemo)) { r.memos.With(key, f) }

// forget drops everything that is remembered or at work for an object.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.imports.Cancel(key)
	r.leaveZone(key)
	r.memos.Forget(key)
}

func (m *objectMemo) releaseLease() {
	if m.lease == nil {
		return
	}
	// A lease is an open file; there is nothing to do about one that cannot be closed.
	_ = m.lease.Release()
	m.lease = nil
}

// rest does nothing: the image is suspended or paused.
func (r *Reconciler) rest(_ context.Context, s *scope) error {
	if s.paused() {
		return &step.Waiting{Reason: infrav1.ReasonPaused, Message: "the annotation " + pausedAnnotation + " stops all work"}
	}
	return &step.Waiting{Reason: infrav1.ReasonSuspended, Message: "spec.suspend stops all work"}
}

// halt stops tasks whose result is not wanted.
func (r *Reconciler) halt(_ context.Context, s *scope) error {
	r.imports.Cancel(s.key)
	r.uploads.Cancel(s.key)
	r.vacate(s.key)
	return nil
}
