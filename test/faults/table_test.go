package faults_test

import (
	"fmt"
	"testing"

	"github.com/capcat/capcat/test/faults"
)

// lifeOf lists the commands of a whole life in which nothing goes wrong.
func lifeOf(t *testing.T) []string {
	t.Helper()
	c := newCity(t)
	c.live()
	return c.commands()
}

// TestEveryCallFails fails every CloudStack call of the life of a cluster, of its control-plane machine and of its worker: before,
// during and after it took effect, one at a time.
func TestEveryCallFails(t *testing.T) {
	commands := lifeOf(t)
	all := faults.Points(commands)
	some := faults.Select(all)
	for _, p := range some {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			c := newCity(t)
			c.Must(c.Sim.AddFault(p.Fault))
			c.live()
		})
	}
	faults.Tell(t, fmt.Sprintf("%d of %d points were tried at %d calls", len(some), len(all), len(commands)))
}

// TestKilledAfterEveryCall kills the manager after each CloudStack call of that life: what it would have saved then is lost.
func TestKilledAfterEveryCall(t *testing.T) {
	commands := lifeOf(t)
	tried := 0
	for n := 0; n < len(commands); n += faults.Every(6) {
		command := commands[n]
		tried++
		t.Run(fmt.Sprintf("%03d-%s", n, command), func(t *testing.T) {
			t.Parallel()
			c := newCity(t)
			c.gate.closeAfter(n + 1)
			c.live()
		})
	}
	faults.Tell(t, fmt.Sprintf("%d of %d points were tried", tried, len(commands)))
}
