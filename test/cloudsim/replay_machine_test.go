package cloudsim_test

import (
	"maps"
	"slices"
	"testing"
)

// machineTranscript is a transcript about machines and what belongs to them.
type machineTranscript struct {
	name    string
	preset  string         // "recorded" if empty
	excused map[int]string // the steps that are not equal, with the reason
	chance  map[int]string // the steps that chance makes equal or not, with what it decides
}

const (
	unknownNIC = "the step that changed the default NIC names an id that no step showed"
	collected  = "the recording server collected the use of its hosts at another second of the minute"
	reserved   = "reservations that refused deploys leave behind are not kept"
	accepted   = "how many of the deploys of one name that were sent together got through"
	attaching  = "which of two jobs that attached one disk at the same time came first"
)

func machineTranscripts() []machineTranscript {
	return []machineTranscript{
		{name: "04-tenancy", excused: map[int]string{91: "a machine that earlier use had left", 138: "networks of projects write no events", 143: "the first machine of a list of everything"}},
		{name: "05-kubernetes-service", excused: map[int]string{78: "the machine was expunged later than expunge.delay and expunge.interval say"}},
		{name: "06-account-states", excused: map[int]string{40: "the calls that gave the role its rules were not recorded", 43: "as step 40"}},
		{name: "07-server-states"},
		{name: "26-security-groups", preset: "recorded-netsg"},
		{name: "30-deploy-validation", excused: map[int]string{263: "addresses are drawn at random there, and this one was taken", 276: "as step 263"}},
		{name: "31-deploy-jobs", excused: map[int]string{19: "whether a starting machine has its VLAN already is a matter of tenths of a second"},
			chance: map[int]string{91: accepted, 100: accepted, 106: accepted, 112: accepted}},
		{name: "32-vm-lifecycle", excused: map[int]string{170: collected, 173: "machines of earlier use wrote events", 178: collected,
			226: unknownNIC, 259: unknownNIC, 262: unknownNIC}},
		{name: "33-volumes", excused: map[int]string{16: "the job ended between two calls of the same tenth of a second"},
			chance: map[int]string{99: attaching, 100: attaching, 101: attaching, 208: attaching}},
		{name: "34-tags"},
		{name: "36-ssh-keys"},
		{name: "37-owner-marks"},
		{name: "38-limits", excused: map[int]string{35: reserved, 36: reserved, 37: reserved}},
		{name: "40-guest-addresses"},
		{name: "41-lost-replies"},
	}
}

// TestReplayMachines replays them: a step that is not equal must be excused, and one that is equal must not.
func TestReplayMachines(t *testing.T) {
	for _, r := range machineTranscripts() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			preset := r.preset
			if preset == "" {
				preset = "recorded"
			}
			p := newPlayer(t, preset)
			p.prepare(r.name)
			out := p.play(readTranscript(t, r.name))
			for _, n := range slices.Sorted(maps.Keys(out.Unequal)) {
				if r.excused[n] == "" && r.chance[n] == "" {
					t.Errorf("step %d: %s", n, out.Unequal[n])
				}
			}
			for n, reason := range r.excused {
				if out.Unequal[n] == "" {
					t.Errorf("step %d is equal now, though listed as not: %s", n, reason)
				}
			}
			if len(r.excused)*100 > 3*out.Compared {
				t.Errorf("%d of %d steps are excused, more than 3 in 100", len(r.excused), out.Compared)
			}
			t.Logf("%d of %d equal", out.Equal(), out.Compared)
		})
	}
}
