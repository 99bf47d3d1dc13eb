package machine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/rig"
)

// TestCallsOfManyWorkers counts the calls of a crowd of workers from nothing to running, and until they are gone.
func TestCallsOfManyWorkers(t *testing.T) {
	const workers = 20
	w := newWorld(t)
	m := w.start(w.Client)
	before := w.Calls("")
	all := make([]*infrav1.CloudStackMachine, 0, workers)
	for n := range workers {
		all = append(all, w.machine(fmt.Sprintf("w-%d", n)))
	}
	m.crowd(all, ready)
	w.wantVMs(workers)
	if n := w.Calls("") - before; n > workers*5/2 {
		t.Errorf("%d calls for %d workers, want 2.5 a worker at most:\n%s", n, workers, w.census(before))
	}
	before = w.Calls("")
	for _, cm := range all {
		w.Must(w.Client.Delete(t.Context(), w.get(cm)))
	}
	m.crowd(all, gone)
	w.wantVMs(0)
	if n := w.Calls("") - before; n > 3*workers {
		t.Errorf("%d calls to delete %d workers, want 3 a worker at most:\n%s", n, workers, w.census(before))
	}
}

// crowd reconciles machines as their queue would: first all of them, then those that something wakes or that wanted to come
// back, a second at a time.
func (m *manager) crowd(all []*infrav1.CloudStackMachine, until func(*infrav1.CloudStackMachine) bool) {
	m.T.Helper()
	due := make(map[string]time.Time, len(all))
	there := make(map[string]bool, len(all))
	for range rig.MaxSteps {
		m.Poll()
		for m.Queue.Len() > 0 {
			item, _ := m.Queue.Get()
			m.Queue.Done(item)
			delete(due, item.Name)
		}
		for _, cm := range all {
			for now := m.Clock.Now(); !due[cm.Name].After(now); {
				result, err := m.Once(cm)
				switch {
				case err != nil:
					due[cm.Name] = now.Add(time.Second)
				case result.RequeueAfter == 0:
					due[cm.Name] = now.Add(time.Hour)
				case result.RequeueAfter > 10*time.Millisecond:
					due[cm.Name] = now.Add(result.RequeueAfter)
				}
				if until(m.get(cm)) {
					there[cm.Name] = true
				}
			}
		}
		if len(there) == len(all) {
			return
		}
		m.Clock.Step(time.Second)
	}
	m.T.Fatalf("%d of %d machines got there", len(there), len(all))
}

// census tells which calls were made.
func (w *world) census(since int) string {
	count := map[string]int{}
	for _, e := range w.Sim.Journal()[since:] {
		count[e.Command]++
	}
	var lines []string
	for command, n := range count {
		lines = append(lines, fmt.Sprintf("%4d %s", n, command))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
