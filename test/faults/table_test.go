package faults_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/faults"
)

// lives are the commands of lives in which nothing goes wrong, by the name of the plan: each is lived once.
var lives sync.Map

// lifeOf lists the commands of such a life, in which no reason for not being ready is given but that work is underway.
func lifeOf(t *testing.T, p plan) (commands []string) {
	t.Helper()
	if known, ok := lives.Load(p.name); ok {
		return known.([]string)
	}
	c := newCity(t, p)
	for reason := range c.live().reasons {
		if !slices.Contains(faults.Underway(), reason) {
			t.Errorf("%s: something is not ready because of %s, though nothing went wrong", p.name, reason)
		}
	}
	lives.Store(p.name, c.commands())
	return c.commands()
}

// TestEveryCallFails fails every CloudStack call of the life of a cluster, of its control-plane machine and of its worker: before,
// during and after it took effect, one at a time. Meanwhile no object gives a reason for not being ready that is none, and one
// whose own call failed gives the right one.
func TestEveryCallFails(t *testing.T) {
	commands := lifeOf(t, onNetwork())
	all := faults.Points(commands)
	strike(t, onNetwork(), faults.Select(all))
	faults.Tell(t, fmt.Sprintf("%d of %d points were tried at %d calls", len(faults.Select(all)), len(all), len(commands)))
}

// TestEveryCallInAVPCFails is about the calls that the life of a cluster in a VPC has beside those.
func TestEveryCallInAVPCFails(t *testing.T) {
	usually := lifeOf(t, onNetwork())
	commands := lifeOf(t, inVPC())
	var all []faults.Point
	for _, p := range faults.Points(commands) {
		if !slices.Contains(usually, p.Fault.Command) {
			all = append(all, p)
		}
	}
	some := faults.Few(all, 8)
	strike(t, inVPC(), some)
	faults.Tell(t, fmt.Sprintf("%d of %d points were tried at %d calls", len(some), len(all), len(commands)))
}

// TestEveryChangeInTwoDomainsFails is about the calls that change something for a cluster in two failure domains.
func TestEveryChangeInTwoDomainsFails(t *testing.T) {
	commands := lifeOf(t, inTwoDomains())
	var all []faults.Point
	for _, p := range faults.Points(commands) {
		if !faults.Reads(p.Fault.Command) {
			all = append(all, p)
		}
	}
	some := faults.Few(all, 8)
	strike(t, inTwoDomains(), some)
	faults.Tell(t, fmt.Sprintf("%d of %d points were tried at %d calls", len(some), len(all), len(commands)))
}

// strike lives a life with each of the points.
func strike(t *testing.T, layout plan, points []faults.Point) {
	for _, p := range points {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			c := newCity(t, layout)
			c.bring(trouble{fault: p.Fault})
			c.live()
		})
	}
}

// standingTime is how long a fault stands that is not over with one call.
const standingTime = 4 * time.Minute

// TestCallKeepsFailing has one command fail for minutes, whoever calls it: it is waited with the right reason, and afterwards all
// is well.
func TestCallKeepsFailing(t *testing.T) {
	commands := lifeOf(t, onNetwork())
	all := faults.Standing(commands)
	some := faults.Few(all, 8)
	for _, p := range some {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			c := newCity(t, onNetwork())
			c.bring(trouble{fault: p.Fault, stands: standingTime})
			c.live()
		})
	}
	faults.Tell(t, fmt.Sprintf("%d of %d points were tried", len(some), len(all)))
}

// TestCloudIsOut has every call fail for minutes, from each stage of the life on.
func TestCloudIsOut(t *testing.T) {
	var all []outage
	for _, kind := range []string{cloudsim.Fault401, cloudsim.Fault429, cloudsim.Fault502, cloudsim.FaultError, cloudsim.FaultReset} {
		for _, stage := range []string{founding, peopling, resting, ending} {
			all = append(all, outage{stage: stage, trouble: trouble{fault: cloudsim.Fault{Kind: kind, Count: -1}, stands: standingTime}})
		}
	}
	some := faults.Few(all, 5)
	for _, o := range some {
		t.Run(o.stage+"/"+o.fault.Kind, func(t *testing.T) {
			t.Parallel()
			c := newCity(t, onNetwork())
			c.outage = &o
			c.live()
		})
	}
	faults.Tell(t, fmt.Sprintf("%d of %d outages were tried", len(some), len(all)))
}

// TestKilledAfterEveryCall kills the manager after each CloudStack call of that life: what it would have saved then is lost.
func TestKilledAfterEveryCall(t *testing.T) {
	for _, layout := range []plan{onNetwork(), inVPC(), inTwoDomains()} {
		t.Run(layout.name, func(t *testing.T) {
			commands := lifeOf(t, layout)
			every := faults.Every(layout.apart)
			tried := 0
			for n := 0; n < len(commands); n += every {
				tried++
				t.Run(fmt.Sprintf("%03d-%s", n, commands[n]), func(t *testing.T) {
					t.Parallel()
					c := newCity(t, layout)
					c.gate.closeAfter(n + 1)
					c.live()
				})
			}
			faults.Tell(t, fmt.Sprintf("%d of %d points were tried", tried, len(commands)))
		})
	}
}
