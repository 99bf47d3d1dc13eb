package machine

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

func TestVMName(t *testing.T) {
	tests := map[string]struct {
		machine string
		kept    bool
	}{
		"a name that fits stays":           {"c1-md-0-abcde-x7k2p", true},
		"63 characters stay":               {strings.Repeat("a", 63), true},
		"64 characters are shortened":      {strings.Repeat("a", 64), false},
		"no digit begins a name":           {"1st", false},
		"dots become hyphens":              {"a.b", false},
		"capitals become small":            {"Node", false},
		"a cut does not end on a hyphen":   {strings.Repeat("a", 53) + "-" + strings.Repeat("b", 20), false},
		"nothing that may be kept is left": {"...", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := vmName(tc.machine)
			if errs := validation.IsDNS1035Label(got); len(errs) > 0 {
				t.Errorf("vmName(%q) = %q: %v", tc.machine, got, errs)
			}
			if kept := got == tc.machine; kept != tc.kept {
				t.Errorf("vmName(%q) = %q, kept %t", tc.machine, got, kept)
			}
		})
	}
	if a, b := vmName("a.b"), vmName("a-b"); a == b {
		t.Errorf("two names became one: %q", a)
	}
	if a, b := vmName(strings.Repeat("a", 70)), vmName(strings.Repeat("a", 71)); a == b {
		t.Errorf("two long names became one: %q", a)
	}
}

func TestSpread(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	domains := []string{"c", "a", "b"}
	tests := map[string]struct {
		domains []string
		group   []member
		name    string
		want    string
	}{
		"no domain":          {nil, nil, "x", ""},
		"the first":          {domains, []member{{"x", at(1), ""}}, "x", "a"},
		"the emptiest":       {domains, []member{{"x", at(3), ""}, {"p", at(1), "a"}, {"q", at(2), "b"}}, "x", "c"},
		"after older ones":   {domains, []member{{"x", at(3), ""}, {"p", at(1), ""}, {"q", at(2), ""}}, "x", "c"},
		"before younger":     {domains, []member{{"x", at(1), ""}, {"p", at(2), ""}, {"q", at(3), ""}}, "x", "a"},
		"equal age, by name": {domains, []member{{"x", at(1), ""}, {"p", at(1), ""}}, "x", "b"},
		"domains that are gone do not count": {
			domains, []member{{"x", at(3), ""}, {"p", at(1), "z"}, {"q", at(1), "z"}}, "x", "a",
		},
		"not in the group": {domains, []member{{"p", at(1), "a"}}, "x", "b"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := spread(tc.domains, tc.group, tc.name); got != tc.want {
				t.Errorf("spread() = %q, want %q", got, tc.want)
			}
		})
	}
}

// TestSpreadAgreesWithItself: all of a group who compute at the same time come to an even result.
func TestSpreadAgreesWithItself(t *testing.T) {
	domains := []string{"a", "b", "c"}
	var group []member
	for _, name := range strings.Split("abcdefghijkl", "") {
		group = append(group, member{name: name, created: time.Unix(1, 0)})
	}
	count := map[string]int{}
	for _, m := range group {
		count[spread(domains, group, m.name)]++
	}
	if diff := cmp.Diff(map[string]int{"a": 4, "b": 4, "c": 4}, count); diff != "" {
		t.Errorf("machines by domain (-want +got):\n%s", diff)
	}
}

func TestOpen(t *testing.T) {
	now := time.Unix(10000, 0)
	ago := func(domain, reason string, d time.Duration) infrav1.FailureDomainRefusal {
		at := metav1.NewTime(now.Add(-d))
		return infrav1.FailureDomainRefusal{FailureDomain: domain, Reason: reason, At: &at}
	}
	full := infrav1.ReasonOutOfCapacity
	tests := map[string]struct {
		refusals []infrav1.FailureDomainRefusal
		want     []string
	}{
		"nothing refused":                {nil, []string{"a", "b"}},
		"one refused":                    {[]infrav1.FailureDomainRefusal{ago("a", full, time.Minute)}, []string{"b"}},
		"long ago":                       {[]infrav1.FailureDomainRefusal{ago("a", full, time.Hour)}, []string{"a", "b"}},
		"a taken name is not the domain": {[]infrav1.FailureDomainRefusal{ago("a", infrav1.ReasonNameTaken, time.Minute)}, []string{"a", "b"}},
		"all refused: the one of longest ago": {
			[]infrav1.FailureDomainRefusal{ago("a", full, time.Minute), ago("b", full, 2*time.Minute)}, []string{"b"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, open([]string{"a", "b"}, tc.refusals, now)); diff != "" {
				t.Errorf("open domains (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefusedKeepsOneOfADomain(t *testing.T) {
	first := refused(nil, "b", infrav1.ReasonDeployFailed, time.Unix(1, 0))
	second := refused(refused(first, "a", infrav1.ReasonOutOfCapacity, time.Unix(2, 0)), "b", infrav1.ReasonQuotaExceeded, time.Unix(3, 0))
	if len(second) != 2 || second[0].FailureDomain != "a" || second[1].Reason != infrav1.ReasonQuotaExceeded {
		t.Errorf("refusals %+v", second)
	}
	if got := lastTry(second); got.Unix() != 3 {
		t.Errorf("last try %s", got)
	}
}

func TestPauseGrowsToABound(t *testing.T) {
	var last time.Duration
	for attempts := range int32(40) {
		pause := pauseAfter(attempts)
		if pause < last || pause > pauseLongest {
			t.Errorf("pause after %d attempts is %s, after %s", attempts, pause, last)
		}
		last = pause
	}
	if last != pauseLongest {
		t.Errorf("the longest pause is %s, want %s", last, pauseLongest)
	}
}

func TestUserData(t *testing.T) {
	cloudConfig := "## template: jinja\n#cloud-config\nruncmd: []\n"
	tests := map[string]struct {
		data, format string
		compress     bool
		compressed   bool
	}{
		"cloud-config":                {cloudConfig, "cloud-config", true, true},
		"cloud-config, not wanted":    {cloudConfig, "cloud-config", false, false},
		"ignition":                    {`{"ignition": {}}`, "ignition", true, false},
		"no format, a cloud-config":   {cloudConfig, "", true, true},
		"no format, something else":   {"#!/bin/sh\n", "", true, false},
		"the format goes before text": {cloudConfig, "ignition", true, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := userData([]byte(tc.data), tc.format, tc.compress)
			if err != nil {
				t.Fatal(err)
			}
			if !tc.compressed {
				if string(got) != tc.data {
					t.Errorf("user data %q, want them verbatim", got)
				}
				return
			}
			r, err := gzip.NewReader(bytes.NewReader(got))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(r)
			if err != nil || string(plain) != tc.data {
				t.Errorf("user data %q, %v", plain, err)
			}
			again, _ := userData([]byte(tc.data), tc.format, tc.compress)
			if !bytes.Equal(got, again) {
				t.Error("the same data compress differently")
			}
		})
	}
	if text := tooLarge(40000, 32768); !strings.Contains(text, "40000") || !strings.Contains(text, "32768") {
		t.Errorf("message %q lacks a number", text)
	}
}

func TestWaitingRoom(t *testing.T) {
	room := newWaitingRoom()
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	old, other := shelf{"ns", "v1.32.0", "zone"}, shelf{"ns", "v1.33.0", "zone"}
	room.wait(a, old)
	room.wait(b, other)
	room.wait(a, other)
	if got := room.at(old); len(got) != 0 {
		t.Errorf("%v wait for the old version, want nobody", got)
	}
	if got := room.at(other); len(got) != 2 {
		t.Errorf("%v wait for the new version, want both", got)
	}
	room.leave(a)
	room.leave(b)
	if len(room.shelves)+len(room.of) != 0 {
		t.Errorf("the room keeps %v and %v", room.shelves, room.of)
	}
}

func TestSameVersion(t *testing.T) {
	tests := map[string]struct {
		there, asked string
		want         bool
	}{
		"equal":                     {"v1.33.1", "v1.33.1", true},
		"without the letter":        {"1.33.1", "v1.33.1", true},
		"any build":                 {"v1.33.1+k3s1", "v1.33.1", true},
		"another build":             {"v1.33.1+k3s1", "v1.33.1+k3s2", false},
		"a build that is not there": {"v1.33.1", "v1.33.1+k3s2", false},
		"another patch":             {"v1.33.2", "v1.33.1", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := sameVersion(tc.there, tc.asked); got != tc.want {
				t.Errorf("sameVersion(%q, %q) = %t", tc.there, tc.asked, got)
			}
		})
	}
}

// TestPlacementsAreRemembered: machines that are placed in the same moment do not see each other's status.
func TestPlacementsAreRemembered(t *testing.T) {
	key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "n", Name: name} }
	group := []member{{name: "own"}, {name: "placed"}, {name: "moved", domain: "a"}, {name: "new"}}
	remember(group, key("own"), map[types.NamespacedName]*memo{
		key("own"): {domain: "x"}, key("placed"): {domain: "b"}, key("moved"): {domain: "b"}, {Namespace: "other", Name: "new"}: {domain: "b"},
	})
	want := []member{{name: "own"}, {name: "placed", domain: "b"}, {name: "moved", domain: "a"}, {name: "new"}}
	if !slices.Equal(group, want) {
		t.Errorf("got %+v, want %+v", group, want)
	}
}
