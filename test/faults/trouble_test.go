package faults_test

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/faults"
)

// trouble is what goes wrong in a life, and what the objects said of it. A nil one is none.
type trouble struct {
	fault cloudsim.Fault
	// usual are the reasons of a life in which nothing goes wrong.
	usual map[string]bool
	// stands is how long a fault without end strikes before it is lifted; since is when it struck first.
	stands time.Duration
	since  time.Time
	// told is set once an object gave the right reason.
	told bool
}

// outage is trouble that begins with a stage of the life.
type outage struct {
	stage string
	trouble
}

// bring has a fault strike the rest of the life.
func (c *city) bring(t trouble) {
	c.T.Helper()
	c.trouble = &t
	c.Must(c.Sim.AddFault(t.fault))
}

// pass lifts a fault that stood long enough. By then somebody must have told of it.
func (t *trouble) pass(m *manager) {
	m.T.Helper()
	if t == nil || t.fault.Count >= 0 || t.since.IsZero() || m.Clock.Since(t.since) < t.stands {
		return
	}
	m.Sim.ClearFaults()
	if !t.told && t.fault.Command != "createTags" { // tags are put right again without a word
		m.T.Errorf("nobody told of %s at %s for %s; the last steps were:\n%s", t.fault.Kind, t.fault.Command, t.stands, m.lately())
	}
	m.trouble = nil
}

// judge looks at an object after a reconcile: what it gives as its reason for not being ready must be true.
func (m *manager) judge(s *subject, calls int) {
	m.T.Helper()
	t := m.trouble
	if t == nil || !s.exists {
		return
	}
	made := m.Sim.Journal()[calls:]
	struck := slices.ContainsFunc(made, func(e cloudsim.Entry) bool { return strings.HasPrefix(e.Text, "fault ") })
	inJob := slices.ContainsFunc(made, func(e cloudsim.Entry) bool { return e.Command == t.fault.Command })
	if (struck || inJob) && t.since.IsZero() {
		t.since = m.Clock.Now()
	}
	ready := meta.FindStatusCondition(s.object.GetConditions(), infrav1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return
	}
	right := slices.Contains(faults.Reasons(t.fault), ready.Reason)
	t.told = t.told || right
	switch {
	case right:
	case struck && !sentAgain(t.fault) && !doneWithout(t.fault):
		m.T.Errorf("%s at %s: %s is not ready because of %s (%s), want one of %v", t.fault.Kind, t.fault.Command, s.object.GetName(), ready.Reason, ready.Message, faults.Reasons(t.fault))
	case !t.usual[ready.Reason]:
		m.T.Errorf("%s at %s: %s is not ready because of %s (%s), which it never was before", t.fault.Kind, t.fault.Command, s.object.GetName(), ready.Reason, ready.Message)
	}
}

// doneWithout tells whether a manager does without the answer: one that may not ask what it may do takes it that it may not
// expunge, and whoever waits for a job does so when it could not be asked for once.
func doneWithout(f cloudsim.Fault) bool {
	switch f.Command {
	case "queryAsyncJobResult", "listAsyncJobs":
		return true
	case "listCapabilities":
		return f.Kind == cloudsim.Fault432
	}
	return false
}

// sentAgain tells whether the HTTP client may make a call again by itself: one that only looks, when a connection that was open
// already turns out to be dead.
func sentAgain(f cloudsim.Fault) bool {
	return f.Kind == cloudsim.FaultReset && f.Phase == cloudsim.PhaseBefore && faults.Reads(f.Command)
}
