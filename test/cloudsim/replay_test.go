package cloudsim_test

import "testing"

// whole lists the transcripts that are to be equal in every step, with the steps that are not and why. A step that becomes equal must
// leave the list.
func whole() map[string]map[int]string {
	return map[string]map[int]string{
		"00-wire":                {},
		"01-discovery":           {},
		"02-templates":           {},
		"08-enforced-timestamps": {},
	}
}

// TestReplayWhole replays what the simulator answers completely.
func TestReplayWhole(t *testing.T) {
	for name, excused := range whole() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := newPlayer(t, "recorded").play(readTranscript(t, name))
			for n, text := range out.Unequal {
				if excused[n] == "" {
					t.Errorf("step %d: %s", n, text)
				}
			}
			for n, reason := range excused {
				if out.Unequal[n] == "" {
					t.Errorf("step %d is equal now, though listed as not: %s", n, reason)
				}
			}
			t.Logf("%d of %d equal", out.Equal(), out.Compared)
		})
	}
}
