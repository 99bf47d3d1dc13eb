package faults

import (
	"slices"
	"testing"
)

func TestPoints(t *testing.T) {
	all := Points([]string{"listZones", "deployVirtualMachine", "listZones"})
	if n := len(all); n != 8+18+8 {
		t.Errorf("%d points", n)
	}
	last := all[len(all)-1]
	if last.Call != 2 || last.Fault.Skip != 1 || last.String() != "002-listZones/before/432" {
		t.Errorf("the last point is %+v", last)
	}
}

func TestSelection(t *testing.T) {
	var life []string
	for range 10 {
		life = append(life, "listZones", "deployVirtualMachine", "createTags", "listNetworks", "queryAsyncJobResult")
	}
	all := Points(life)
	t.Setenv(Env, "all")
	if n := len(Select(all)); n != len(all) {
		t.Errorf("%d of %d points although all were asked for", n, len(all))
	}
	t.Setenv(Env, "")
	some := Select(all)
	if len(some) > len(all)/5 {
		t.Errorf("%d of %d points are no selection", len(some), len(all))
	}
	commands, rows := map[string]bool{}, map[string]bool{}
	for _, p := range some {
		commands[p.Fault.Command], rows[p.row()] = true, true
	}
	if len(commands) != 5 {
		t.Errorf("only %d commands are struck", len(commands))
	}
	for _, p := range all {
		if !rows[p.row()] {
			t.Errorf("nothing like %s is tried", p)
		}
	}
	if again := Select(all); !slices.Equal(some, again) {
		t.Error("another selection of the same points")
	}
}
