package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/imagecatalog"
)

// longestMessage keeps conditions readable.
const longestMessage = 4096

// Options is what the controller works with.
type Options struct {
	// Concurrency is how many clusters are looked at at the same time; 0 means 4.
	Concurrency int
	// WatchFilter, if not empty, is the value of the watch-filter label that a CloudStackCluster must have.
	WatchFilter string
	// Clock is the real one if nil.
	Clock clock.PassiveClock
}

func (o *Options) complete() {
	if o.Concurrency <= 0 {
		o.Concurrency = 4
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
}

// Reconciler tells at each CloudStackCluster whether the versions that its Cluster asks for can be had. It owns that one
// condition and nothing else, and keeps nothing in memory.
type Reconciler struct {
	client   client.Client
	surveyor surveyor
	options  Options
	// follow has the control planes of a kind watched; nil does not.
	follow func(ctx context.Context, cluster *clusterv1.Cluster) error
}

// New makes a Reconciler. live reads the objects of kinds that are not known beforehand.
func New(c client.Client, live client.Reader, o Options) *Reconciler {
	o.complete()
	return &Reconciler{client: c, surveyor: surveyor{client: c, live: live, clock: o.Clock}, options: o}
}

// Reconcile brings the condition of the CloudStackCluster of one Cluster up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.Cluster{}
	if err := r.client.Get(ctx, req.NamespacedName, cluster); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading the Cluster: %w", err)
	}
	if !cluster.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if r.follow != nil {
		if err := r.follow(ctx, cluster); err != nil {
			return ctrl.Result{}, err
		}
	}
	s, err := r.surveyor.survey(ctx, cluster)
	switch {
	case errors.Is(err, errNotOurs):
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, err
	case !r.tells(s):
		return ctrl.Result{}, nil
	}
	return r.save(ctx, s.infra, availability(s))
}

// tells leaves alone what is not ours to write: what is paused, being deleted, managed externally or another manager's.
func (r *Reconciler) tells(s *survey) bool {
	return s.infra.DeletionTimestamp.IsZero() && !annotations.IsPaused(s.cluster, s.infra) && !annotations.IsExternallyManaged(s.infra) &&
		kube.Watched(s.infra, r.options.WatchFilter)
}

func (r *Reconciler) save(ctx context.Context, infra *infrav1.CloudStackCluster, condition metav1.Condition) (ctrl.Result, error) {
	saver := kube.NewSaver(r.client, infra, func(c *infrav1.CloudStackCluster) any { return &c.Status })
	condition.Type, condition.ObservedGeneration = infrav1.ConditionVersionsAvailable, infra.Generation
	condition.LastTransitionTime = metav1.NewTime(r.options.Clock.Now().Truncate(time.Second))
	meta.SetStatusCondition(&infra.Status.Conditions, condition)
	err := saver.Status(ctx, infra)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: kube.ConflictPause}, nil // the cluster controller wrote meanwhile
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// availability computes the condition: the versions that each pool asks for, and that of the topology, which all come to.
func availability(s *survey) metav1.Condition {
	if len(s.pools) == 0 {
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.ReasonNotNeeded, Message: "no machine is made of a CloudStackMachineTemplate"}
	}
	if len(s.infra.Status.Resolved) == 0 {
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: infrav1.ReasonWaitingForInfrastructure, Message: "the zones of the cluster are not found yet"}
	}
	var lacks []imagecatalog.Lack
	for _, p := range s.pools {
		lacks = append(lacks, s.stock.Lacking([]imagecatalog.Pool{p.Pool}, wanted(p, s.cluster)...)...)
	}
	message := imagecatalog.DescribeLacks(lacks)
	if len(lacks) == 0 {
		way := obstructed(s)
		if way == nil {
			return metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.ReasonReady}
		}
		lacks, message = way.Lacks, way.Error()
	}
	reason := infrav1.ReasonImageNotReady
	if len(lacks) == 0 || slices.ContainsFunc(lacks, func(l imagecatalog.Lack) bool { return !l.Coming }) {
		reason = infrav1.ReasonImageNotFound
	}
	if len(message) > longestMessage {
		message = strings.ToValidUTF8(message[:longestMessage-3], "") + "..."
	}
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// obstructed tells what is in the way of a control plane to the version of its topology, which it comes to one minor version after
// the other; nil is nothing.
func obstructed(s *survey) *imagecatalog.PathError {
	last, err := imagecatalog.ParseVersion(s.cluster.Spec.Topology.Version)
	pools := all(lookedUp(s.pools))
	if err != nil || len(pools) == 0 {
		return nil
	}
	for _, p := range ofControlPlane(s.pools, true) {
		first, err := imagecatalog.ParseVersion(p.version)
		if err != nil || last.Compare(first) <= 0 {
			continue
		}
		var way *imagecatalog.PathError
		if _, err := s.stock.Path(pools, first, last); errors.As(err, &way) {
			return way
		}
	}
	return nil
}

// wanted are the versions that are asked for the machines of a pool, now and at the end of an upgrade of the topology. A pool
// that is bound to a template may be bound to another one by then.
func wanted(p pool, cluster *clusterv1.Cluster) []imagecatalog.Version {
	texts := []string{p.version}
	if cluster.Spec.Topology.Version != "" && p.Template == nil {
		texts = append(texts, cluster.Spec.Topology.Version)
	}
	var versions []imagecatalog.Version
	for _, text := range texts {
		if v, err := imagecatalog.ParseVersion(text); err == nil {
			versions = append(versions, v)
		}
	}
	return versions
}
