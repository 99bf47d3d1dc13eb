package faults_test

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/faults"
)

// blow is what ends a life early.
type blow struct {
	name string
	// killed has the manager die, so that what it would have saved last is lost, and forgotten has the status of all objects lost.
	killed, forgotten bool
	// abandoned has everything deleted there and then, not after all has become whole.
	abandoned bool
}

func blows() []blow {
	return []blow{
		{name: "deleted", abandoned: true},
		{name: "killed and deleted", killed: true, abandoned: true},
		{name: "forgotten and deleted", forgotten: true, abandoned: true},
		{name: "killed, forgotten and deleted", killed: true, forgotten: true, abandoned: true},
		{name: "forgotten", forgotten: true},
		{name: "killed and forgotten", killed: true, forgotten: true},
	}
}

// TestEndsAfterEveryCall deletes everything after each CloudStack call of the life of a cluster and its machines, or takes the
// status of all objects away, as a move to another management cluster does.
func TestEndsAfterEveryCall(t *testing.T) {
	for _, layout := range []plan{onNetwork(), inVPC(), inProject()} {
		t.Run(layout.name, func(t *testing.T) {
			commands := growth(t, layout)
			every, tried := faults.Every(layout.apart*2), 0
			for i, b := range blows() {
				for n := i % every; n < len(commands); n += every {
					tried++
					t.Run(fmt.Sprintf("%s/%03d-%s", b.name, n, commands[n]), func(t *testing.T) {
						t.Parallel()
						newCity(t, layout).cutShort(n+1, b)
					})
				}
			}
			faults.Tell(t, fmt.Sprintf("%d of %d points were tried", tried, len(commands)*len(blows())))
		})
	}
}

// growth are the commands of a life up to where everything is there.
func growth(t *testing.T, p plan) []string {
	t.Helper()
	c := newCity(t, p)
	c.grow(c.start(), func() bool { return false })
	return c.commands()
}

// grow lets a cluster and its machines come to be, until something is true.
func (c *city) grow(m *manager, until func() bool) {
	c.T.Helper()
	c.found()
	m.wakeAll()
	m.until("a cluster without machines", func() bool { return until() || m.allReady() })
	if until() {
		return
	}
	c.people()
	m.wakeAll()
	m.until("its machines", func() bool { return until() || m.allReady() })
}

// cutShort lives until so many calls were made, strikes the blow, and ends without leaving anything.
func (c *city) cutShort(calls int, b blow) {
	c.T.Helper()
	if b.killed {
		c.gate.closeAfter(calls)
	}
	m := c.start()
	c.grow(m, func() bool { return c.gate.shut() || len(c.commands()) >= calls })
	c.gate.open()
	if b.forgotten {
		c.forget()
	}
	if b.killed || b.forgotten {
		m = c.start()
	}
	if !b.abandoned {
		m.until("all in order again", m.allReady)
	}
	c.abandon()
	m.wakeAll()
	m.until("the end", m.allGone)
	c.wantNothing()
}

// forget takes the status of all objects away.
func (c *city) forget() {
	c.T.Helper()
	infra := &infrav1.CloudStackCluster{}
	c.Must(c.Client.Get(c.T.Context(), client.ObjectKeyFromObject(c.cluster.Infra), infra))
	infra.Status = infrav1.CloudStackClusterStatus{}
	c.Must(c.Client.Status().Update(c.T.Context(), infra))
	for _, set := range c.machines {
		m := &infrav1.CloudStackMachine{}
		err := c.Client.Get(c.T.Context(), client.ObjectKeyFromObject(set.Infra), m)
		if client.IgnoreNotFound(err) == nil && err != nil {
			continue // it has not been made yet
		}
		c.Must(err)
		m.Status = infrav1.CloudStackMachineStatus{}
		c.Must(c.Client.Status().Update(c.T.Context(), m))
	}
}
