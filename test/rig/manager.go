package rig

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/capcat/capcat/controllers/cloudstack"
)

// Object is a pointer to an object with conditions.
type Object interface {
	comparable
	client.Object
	GetConditions() []metav1.Condition
}

// Manager is one life of a manager with one controller, reconciling when the test says so.
type Manager[T Object] struct {
	In         World
	Reconciler reconcile.Reconciler
	Sessions   *cloudstack.Sessions
	// Queue takes the wake-ups.
	Queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	// Fresh makes an empty object.
	Fresh func() T
	// Longest is the longest pause that Drive lets pass at once.
	Longest time.Duration
}

// Start begins to take the wake-ups of a source, until Stop or the end of the test.
func (m *Manager[T]) Start(wakes source.Source) {
	m.In.T.Helper()
	m.Queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	m.In.Must(wakes.Start(m.In.T.Context(), m.Queue))
	m.In.T.Cleanup(m.Stop)
}

// Stop ends this life.
func (m *Manager[T]) Stop() { m.Queue.ShutDown() }

// NewSessions makes sessions without a bound on calls, which nobody polls but Poll.
func (w *World) NewSessions() *cloudstack.Sessions {
	w.T.Helper()
	sessions, err := cloudstack.NewSessions(cloudstack.Options{Clock: w.Time(), CallsPerSecond: -1})
	w.Must(err)
	return sessions
}

// Get reads an object; nil when it is gone.
func (m *Manager[T]) Get(o T) T {
	m.In.T.Helper()
	return Get(&m.In, o, m.Fresh())
}

// Get reads an object into an empty one; nil when it is gone.
func Get[T Object](w *World, o, into T) T {
	w.T.Helper()
	err := w.Client.Get(w.T.Context(), client.ObjectKeyFromObject(o), into)
	if client.IgnoreNotFound(err) != nil {
		w.T.Fatal(err)
	}
	if err != nil {
		var gone T
		return gone
	}
	return into
}

// Once reconciles an object one time.
func (m *Manager[T]) Once(o T) (ctrl.Result, error) {
	return m.Reconciler.Reconcile(m.In.T.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)})
}

// Poll does what runs beside the reconciles.
func (m *Manager[T]) Poll() {
	m.Sessions.PollJobs(m.In.T.Context())
	m.Sessions.PollMachines(m.In.T.Context())
	m.Sessions.PollNetworks(m.In.T.Context())
}

// MaxSteps is how many reconciles an object is given.
const MaxSteps = 300

// Drive reconciles an object, moving the clock as time would pass, until what is asked for is true of it. until is asked
// with nil for one that is gone.
func (m *Manager[T]) Drive(o T, until func(T) bool) T {
	m.In.T.Helper()
	var trace []string
	for range MaxSteps {
		m.Poll()
		result, err := m.Once(o)
		now := m.Get(o)
		if until(now) {
			return now
		}
		trace = append(trace, describe(now, result, err))
		if errors.Is(err, reconcile.TerminalError(nil)) {
			m.In.T.Fatalf("the object is given up:\n%s", strings.Join(trace, "\n"))
		}
		pause := result.RequeueAfter
		if err != nil || pause == 0 || pause > m.Longest {
			pause = 3 * time.Second
		}
		m.In.Clock.Step(pause)
	}
	m.In.T.Fatalf("not reached within %d steps; the last were:\n%s", MaxSteps, strings.Join(trace[max(len(trace)-12, 0):], "\n"))
	return o
}

func describe[T Object](o T, result ctrl.Result, err error) string {
	if Gone(o) {
		return "gone"
	}
	text := fmt.Sprintf("requeue %s, error %v", result.RequeueAfter, err)
	if ready := meta.FindStatusCondition(o.GetConditions(), "Ready"); ready != nil {
		text += fmt.Sprintf(", Ready=%s/%s %s", ready.Status, ready.Reason, ready.Message)
	}
	return text
}

// Gone tells whether an object is gone.
func Gone[T Object](o T) bool {
	var none T
	return o == none
}

// Ready tells whether an object is there and ready.
func Ready[T Object](o T) bool {
	return !Gone(o) && meta.IsStatusConditionTrue(o.GetConditions(), "Ready")
}

// Because tells whether an object is there and not ready for a reason.
func Because[T Object](o T, reason string) bool {
	if Gone(o) {
		return false
	}
	found := meta.FindStatusCondition(o.GetConditions(), "Ready")
	return found != nil && found.Status == metav1.ConditionFalse && found.Reason == reason
}

// Live lets time pass for an object, reconciling only when it is woken, and tells how many calls that took.
func (m *Manager[T]) Live(d time.Duration) int {
	m.In.T.Helper()
	const tick = 3 * time.Second
	from := m.In.Calls("")
	for range int(d / tick) {
		m.In.Clock.Step(tick)
		m.Poll()
		for m.Queue.Len() > 0 {
			request, _ := m.Queue.Get()
			m.Queue.Forget(request)
			m.Queue.Done(request)
			for range 20 {
				result, err := m.Reconciler.Reconcile(m.In.T.Context(), request)
				if err == nil && (result.RequeueAfter == 0 || result.RequeueAfter > time.Second) {
					break
				}
			}
		}
	}
	return m.In.Calls("") - from
}
