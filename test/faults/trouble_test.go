package faults_test

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/faults"
)

// trouble is what goes wrong in a life, and what the objects said of it. A nil one is none.
type trouble struct {
	fault cloudsim.Fault
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
	// Tags are put right again without a word, and stay where they may not be taken off.
	silent := t.fault.Command == "createTags" || t.fault.Command == "deleteTags" && t.fault.Kind == cloudsim.Fault432
	if !t.told && !silent {
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
	if faults.Concerns(t.fault, made) && t.since.IsZero() {
		t.since = m.Clock.Now()
	}
	ready := meta.FindStatusCondition(s.object.GetConditions(), infrav1.ConditionReady)
	right, wrong := faults.Judge(t.fault, made, ready)
	t.told = t.told || right
	if wrong != "" {
		m.T.Errorf("%s %s", s.object.GetName(), wrong)
	}
}
