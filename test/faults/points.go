package faults

import (
	"fmt"
	"os"
	"slices"

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
	return fmt.Sprintf("%t/%s/%s", Reads(p.Fault.Command), p.Fault.Phase, p.Fault.Kind)
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
		if !Reads(command) {
			all = append(all, cloudsim.Fault{Phase: cloudsim.PhaseAfter, Kind: kind})
		}
	}
	all = append(all, cloudsim.Fault{Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultReset})
	if !Reads(command) {
		all = append(all, cloudsim.Fault{Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultError},
			cloudsim.Fault{Phase: cloudsim.PhaseBefore, Kind: cloudsim.FaultJob}, cloudsim.Fault{Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultJob})
	}
	for _, kind := range refusals(command) {
		all = append(all, cloudsim.Fault{Phase: cloudsim.PhaseBefore, Kind: kind})
	}
	return all
}

// refusals are the kinds by which the server itself may turn a call down, so that nothing of it took effect.
func refusals(command string) []string {
	if creates(command) {
		return []string{cloudsim.Fault431, cloudsim.Fault432, cloudsim.Fault533, cloudsim.Fault535}
	}
	return []string{cloudsim.Fault431, cloudsim.Fault432}
}

// Standing are the faults of the commands of a life that change something, each without end, from its first call on.
func Standing(commands []string) []Point {
	var all []Point
	for i, command := range commands {
		if Reads(command) || slices.Contains(commands[:i], command) {
			continue
		}
		for _, kind := range append([]string{cloudsim.FaultError, cloudsim.FaultRefuse}, refusals(command)...) {
			if kind == cloudsim.FaultRefuse && !asks(command) {
				continue
			}
			all = append(all, Point{Call: i, Fault: cloudsim.Fault{Command: command, Phase: cloudsim.PhaseBefore, Kind: kind, Count: -1}})
		}
	}
	return all
}

// asks tells whether the job of a command asks a router, a host or a storage, which may refuse.
func asks(command string) bool {
	return has(command, "deploy", "destroy", "assign", "removeFrom", "createFirewall", "createEgress", "deleteNetwork")
}

// Few gives so many of them, or all when that is asked for, always the same and apart from each other.
func Few[T any](all []T, few int) []T {
	if All() || len(all) <= few {
		return all
	}
	var some []T
	for i := range few {
		some = append(some, all[(i*len(all)+i)/few])
	}
	return some
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
