package faults

import (
	"fmt"
	"os"
	"strings"

	"github.com/capcat/capcat/test/cloudsim"
)

// Env is the environment variable that, with the value "all", has every point tried. Without it a run tries a selection.
const Env = "CAPCAT_FAULTS"

// All tells whether every point is to be tried.
func All() bool { return os.Getenv(Env) == "all" }

// Point is one call of a life and what happens to it.
type Point struct {
	// Call is the number of the call in the life, from 0.
	Call int
	// Fault strikes that call and no other, in a life that is lived in the same order.
	Fault cloudsim.Fault
}

// String names the point.
func (p Point) String() string {
	return fmt.Sprintf("%03d-%s/%s/%s", p.Call, p.Fault.Command, p.Fault.Phase, p.Fault.Kind)
}

// row is what a point is of, whatever call it strikes.
func (p Point) row() string {
	return fmt.Sprintf("%t/%s/%s", reads(p.Fault.Command), p.Fault.Phase, p.Fault.Kind)
}

func reads(command string) bool {
	return strings.HasPrefix(command, "list") || strings.HasPrefix(command, "query")
}

// Points are everything that can happen to the calls of a life, whose commands are given in their order.
func Points(commands []string) []Point {
	var all []Point
	earlier := map[string]int{}
	for i, command := range commands {
		for _, f := range of(command) {
			f.Command, f.Skip = command, earlier[command]
			all = append(all, Point{Call: i, Fault: f})
		}
		earlier[command]++
	}
	return all
}

// of are the faults of one call. To a command that only reads it makes no difference whether a fault strikes before or after.
func of(command string) []cloudsim.Fault {
	var all []cloudsim.Fault
	for _, kind := range []string{cloudsim.FaultError, cloudsim.FaultReset, cloudsim.Fault429, cloudsim.Fault401, cloudsim.Fault502} {
		all = append(all, cloudsim.Fault{Phase: cloudsim.PhaseBefore, Kind: kind})
		if !reads(command) {
			all = append(all, cloudsim.Fault{Phase: cloudsim.PhaseAfter, Kind: kind})
		}
	}
	all = append(all, cloudsim.Fault{Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultReset})
	if !reads(command) {
		all = append(all, cloudsim.Fault{Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultError},
			cloudsim.Fault{Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultJob})
	}
	return all
}

// Select gives all points when that is asked for, and otherwise a selection, always the same for the same points: one for every
// command, another kind from command to command, and at least one of every kind and phase for reading and for changing commands.
func Select(all []Point) []Point {
	if All() {
		return all
	}
	var commands []string
	by := map[string][]Point{}
	for _, p := range all {
		if by[p.Fault.Command] == nil {
			commands = append(commands, p.Fault.Command)
		}
		by[p.Fault.Command] = append(by[p.Fault.Command], p)
	}
	const stride = 5 // has no divisor in common with the number of faults of a call, so that all of them get their turn
	var some []Point
	rows := map[string]bool{}
	keep := func(p Point) {
		some = append(some, p)
		rows[p.row()] = true
	}
	for turn, command := range commands {
		keep(by[command][turn*stride%len(by[command])])
	}
	for _, p := range all {
		if !rows[p.row()] {
			keep(p)
		}
	}
	return some
}

// Every is how many kills apart the manager is killed: at each chance when everything is to be tried.
func Every(selection int) int {
	if All() {
		return 1
	}
	return selection
}
