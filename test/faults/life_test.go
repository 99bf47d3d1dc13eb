package faults_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/cluster"
	"github.com/capcat/capcat/controllers/machine"
)

// jobPause is when the end of a job is looked for, as the poller of jobs does.
const jobPause = 3 * time.Second

// manager is one life of the manager. It comes back to objects when their last reconcile asked for it, when they or what they
// hang on were edited, and when their job may have ended.
type manager struct {
	*city
	sessions *cloudstack.Sessions
	subjects []*subject
	trace    []string
	// reasons are those of all conditions Ready that were not true.
	reasons map[string]bool
}

// subject is an object with its reconciler.
type subject struct {
	reconciler reconcile.Reconciler
	object     object
	exists     bool
	due        time.Time
	failures   int
	never      bool // nothing but a change elsewhere brings it back
}

type object interface {
	client.Object
	GetConditions() []metav1.Condition
}

// start begins a life of the manager.
func (c *city) start() *manager {
	c.T.Helper()
	m := &manager{city: c, sessions: c.NewSessions(), reasons: map[string]bool{}}
	k := c.gate.mortal(c.Client)
	clusters, err := cluster.New(k, c.Client, &events.FakeRecorder{}, cluster.Options{Sessions: m.sessions, Clock: c.Clock})
	c.Must(err)
	machines, err := machine.New(k, c.Client, &events.FakeRecorder{}, machine.Options{Sessions: m.sessions, Clock: c.Clock})
	c.Must(err)
	m.subjects = []*subject{{reconciler: clusters, object: c.cluster.Infra.DeepCopy()}}
	for _, set := range c.machines {
		m.subjects = append(m.subjects, &subject{reconciler: machines, object: set.Infra.DeepCopy()})
	}
	m.wakeAll()
	return m
}

// wakeAll makes every object that exists due.
func (m *manager) wakeAll() {
	for _, s := range m.subjects {
		m.read(s)
		m.wake(s)
	}
}

func (m *manager) wake(s *subject) { s.due, s.never = m.Clock.Now(), false }

// read looks at an object and tells whether it was edited.
func (m *manager) read(s *subject) (edited bool) {
	m.T.Helper()
	before := s.object.DeepCopyObject().(object)
	err := m.Client.Get(m.T.Context(), client.ObjectKeyFromObject(s.object), s.object)
	if client.IgnoreNotFound(err) != nil {
		m.T.Fatal(err)
	}
	was := s.exists
	s.exists = !apierrors.IsNotFound(err)
	return was != s.exists || before.GetGeneration() != s.object.GetGeneration() ||
		fmt.Sprint(before.GetAnnotations(), before.GetFinalizers()) != fmt.Sprint(s.object.GetAnnotations(), s.object.GetFinalizers())
}

// maxSteps is how many times the clock is moved for anything to be reached.
const maxSteps = 400

// until works until something is true of the objects.
func (m *manager) until(what string, done func() bool) {
	m.T.Helper()
	for range maxSteps {
		m.poll()
		m.trouble.pass(m)
		if done() || m.gate.shut() {
			return
		}
		m.Clock.Step(m.pause())
	}
	m.T.Fatalf("%s: not reached; the last steps were:\n%s", what, m.lately())
}

// lately tells the last steps.
func (m *manager) lately() string { return strings.Join(m.trace[max(len(m.trace)-12, 0):], "\n") }

// poll does what is due.
func (m *manager) poll() {
	m.sessions.PollJobs(m.T.Context())
	m.sessions.PollMachines(m.T.Context())
	m.sessions.PollNetworks(m.T.Context())
	for range 30 {
		busy := false
		for _, s := range m.subjects {
			if s.exists && !s.never && !s.due.After(m.Clock.Now()) && !m.gate.shut() {
				busy = true
				m.work(s)
			}
		}
		if !busy {
			return
		}
	}
}

// work reconciles an object once.
func (m *manager) work(s *subject) {
	m.T.Helper()
	calls := len(m.Sim.Journal())
	result, err := s.reconciler.Reconcile(m.T.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s.object)})
	if errors.Is(err, reconcile.TerminalError(nil)) {
		m.T.Fatalf("%s is given up: %v", s.object.GetName(), err)
	}
	if err == nil {
		s.failures = 0
	}
	version := s.object.GetResourceVersion()
	edited := m.read(s)
	m.note(s, result, err)
	m.judge(s, calls)
	now := m.Clock.Now()
	switch {
	case err != nil:
		s.failures++
		s.due = now.Add(min(time.Second<<min(s.failures, 10), time.Minute))
	case edited || result.RequeueAfter > 0 && result.RequeueAfter < 10*time.Millisecond:
		s.due = now
	case result.RequeueAfter > 0:
		s.due = now.Add(result.RequeueAfter)
	default:
		s.never = true
	}
	if busy(s.object) && (s.never || s.due.After(now.Add(jobPause))) {
		s.due, s.never = now.Add(jobPause), false
	}
	if version != s.object.GetResourceVersion() || !s.exists {
		m.spread(s)
	}
}

// spread wakes what hangs on an object that changed, as the watches do.
func (m *manager) spread(s *subject) {
	for _, other := range m.subjects {
		switch s.object.(type) {
		case *infrav1.CloudStackCluster:
			if _, isMachine := other.object.(*infrav1.CloudStackMachine); isMachine {
				m.wake(other)
			}
		case *infrav1.CloudStackMachine:
			if _, isCluster := other.object.(*infrav1.CloudStackCluster); isCluster && !s.object.GetDeletionTimestamp().IsZero() {
				m.wake(other)
			}
		}
	}
}

// busy tells whether CloudStack works on something for an object.
func busy(o object) bool {
	switch o := o.(type) {
	case *infrav1.CloudStackCluster:
		return len(o.Status.Jobs) > 0
	case *infrav1.CloudStackMachine:
		return o.Status.Job != nil
	}
	return false
}

// note keeps what an object said of itself.
func (m *manager) note(s *subject, result ctrl.Result, err error) {
	if !s.exists {
		m.trace = append(m.trace, s.object.GetName()+" is gone")
		return
	}
	text := fmt.Sprintf("%s: requeue %s, error %v, busy %t", s.object.GetName(), result.RequeueAfter, err, busy(s.object))
	ready := meta.FindStatusCondition(s.object.GetConditions(), infrav1.ConditionReady)
	if ready != nil {
		text += fmt.Sprintf(", Ready=%s/%s %s", ready.Status, ready.Reason, ready.Message)
		if ready.Status != metav1.ConditionTrue {
			m.reasons[ready.Reason] = true
			if ready.Message == "" {
				m.T.Errorf("%s is not ready because of %s and says no more", s.object.GetName(), ready.Reason)
			}
		}
	}
	m.trace = append(m.trace, text)
}

// pause is how long nothing is due, a minute at most.
func (m *manager) pause() time.Duration {
	shortest := time.Minute
	for _, s := range m.subjects {
		if s.exists && !s.never {
			shortest = min(shortest, s.due.Sub(m.Clock.Now()))
		}
	}
	return max(shortest, time.Second)
}

func (m *manager) allReady() bool {
	for _, s := range m.subjects {
		if s.exists && !meta.IsStatusConditionTrue(s.object.GetConditions(), infrav1.ConditionReady) {
			return false
		}
	}
	return true
}

func (m *manager) allGone() bool {
	for _, s := range m.subjects {
		if s.exists {
			return false
		}
	}
	return true
}

// restTime is long enough for everything that is watched to be looked at.
const restTime = 5 * time.Minute

// rest lets time pass, as it does when nothing happens.
func (m *manager) rest() {
	const tick = 10 * time.Second
	for at := tick; at <= restTime && !m.gate.shut(); at += tick {
		m.Clock.Step(tick)
		if at%time.Minute == 0 {
			for _, s := range m.subjects {
				m.wake(s)
			}
		}
		m.poll()
		m.trouble.pass(m)
	}
}

// The stages of a life.
const (
	founding = "founding"
	peopling = "peopling"
	resting  = "resting"
	ending   = "ending"
)

// live takes the cluster from nothing to nothing. A manager that is killed is followed by another.
func (c *city) live() *manager {
	c.T.Helper()
	var m *manager
	reasons := map[string]bool{}
	stage := func(name string, do func(*manager)) {
		c.T.Helper()
		if o := c.outage; o != nil && o.stage == name {
			c.bring(o.trouble)
		}
		for {
			if m == nil || c.gate.shut() {
				c.gate.open()
				m = c.start()
				m.reasons = reasons
			}
			m.wakeAll()
			do(m)
			if !c.gate.shut() {
				return
			}
		}
	}
	c.found()
	stage(founding, func(m *manager) { m.until("a cluster without machines", m.allReady) })
	c.people()
	stage(peopling, func(m *manager) { m.until("its machines", m.allReady) })
	c.wantWhole()
	stage(resting, (*manager).rest)
	stage("", func(m *manager) { m.until("all in order again", m.allReady) })
	c.wantWhole()
	c.abandon()
	stage(ending, func(m *manager) { m.until("the end", m.allGone) })
	c.wantNothing()
	return m
}
