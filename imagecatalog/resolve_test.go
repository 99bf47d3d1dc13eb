package imagecatalog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}

// image makes a candidate: a valid one with the ID as its image's name and content, changed by the options.
func image(t *testing.T, id, text string, options ...func(*imagecatalog.Candidate)) imagecatalog.Candidate {
	t.Helper()
	c := imagecatalog.Candidate{
		ID: id, Image: id, Version: version(t, text), OS: "ubuntu-24.04", Arch: infrav1.ArchX8664, Hypervisor: infrav1.HypervisorKVM,
		Zone: infrav1.ZoneReference{Name: "zone-a"}, Life: imagecatalog.LifeOf("", nil), Content: id,
	}
	for _, option := range options {
		option(&c)
	}
	return c
}

func onOS(os infrav1.OSName) func(*imagecatalog.Candidate) {
	return func(c *imagecatalog.Candidate) { c.OS = os }
}

func onArch(arch infrav1.Arch) func(*imagecatalog.Candidate) {
	return func(c *imagecatalog.Candidate) { c.Arch = arch }
}

func on(h infrav1.Hypervisor) func(*imagecatalog.Candidate) {
	return func(c *imagecatalog.Candidate) { c.Hypervisor = h }
}

func in(zone string) func(*imagecatalog.Candidate) {
	return func(c *imagecatalog.Candidate) { c.Zone = infrav1.ZoneReference{Name: zone, ID: "id-of-" + zone} }
}

func at(stage infrav1.Stage) func(*imagecatalog.Candidate) {
	return func(c *imagecatalog.Candidate) { c.Life.Stage = stage }
}

func until(expires time.Time) func(*imagecatalog.Candidate) {
	return func(c *imagecatalog.Candidate) { c.Life.Expires = expires }
}

func content(digest string) func(*imagecatalog.Candidate) {
	return func(c *imagecatalog.Candidate) { c.Content = digest }
}

func imported(hours int) func(*imagecatalog.Candidate) {
	return func(c *imagecatalog.Candidate) { c.Imported = now.Add(time.Duration(hours-1000) * time.Hour) }
}

func TestResolve(t *testing.T) {
	type candidates = []imagecatalog.Candidate
	tests := map[string]struct {
		reason     string
		candidates candidates
		version    string
		request    imagecatalog.Request
		want       string   // ID of the chosen image
		notFound   string   // cause, when nothing is found
		ambiguous  []string // IDs, when several fit
		message    string   // part of the error or of why
		warning    string   // part of the only warning
	}{
		"exact version": {
			candidates: candidates{image(t, "a", "v1.32.3"), image(t, "b", "v1.32.4")},
			version:    "1.32.3", want: "a", message: "exactly the version v1.32.3",
		},
		"exact version before one with a build": {
			candidates: candidates{image(t, "a", "v1.32.3+k3s1"), image(t, "b", "v1.32.3")},
			version:    "v1.32.3", want: "b",
		},
		"exact build": {
			candidates: candidates{image(t, "a", "v1.32.3+k3s1"), image(t, "b", "v1.32.3+k3s2")},
			version:    "v1.32.3+k3s2", want: "b",
		},
		"no version is a prefix of another": {
			reason:     "1.30.10 begins with 1.30.1",
			candidates: candidates{image(t, "a", "v1.30.10")},
			version:    "v1.30.1", notFound: "VersionUnknown", message: "of this minor version there is v1.30.10",
		},
		"the patch version counts": {
			reason:     "a node of v1.15.0 must not serve a Machine of v1.15.1",
			candidates: candidates{image(t, "a", "v1.15.0")},
			version:    "v1.15.1", notFound: "VersionUnknown",
		},
		"only build": {
			candidates: candidates{image(t, "a", "v1.32.3+k3s1"), image(t, "b", "v1.32.4+k3s1")},
			version:    "v1.32.3", want: "a", message: "the only build of v1.32.3",
		},
		"several builds": {
			candidates: candidates{image(t, "a", "v1.32.3+k3s1"), image(t, "b", "v1.32.3+k3s2")},
			version:    "v1.32.3", ambiguous: []string{"a", "b"}, message: "v1.32.3+k3s1, v1.32.3+k3s2",
		},
		"several builds and a policy": {
			candidates: candidates{image(t, "a", "v1.32.3+k3s10"), image(t, "b", "v1.32.3+k3s9")},
			version:    "v1.32.3", request: imagecatalog.Request{Builds: imagecatalog.BuildsNewest}, want: "a", message: "newest build",
		},
		"one build, imported twice": {
			candidates: candidates{image(t, "a", "v1.32.3+k3s1", imported(1)), image(t, "b", "v1.32.3+k3s1", imported(2))},
			version:    "v1.32.3", want: "b", message: "newest import",
		},
		"builds told apart by the operating system": {
			candidates: candidates{image(t, "a", "v1.32.3+k3s1", onOS("rocky-9")), image(t, "b", "v1.32.3+k3s2")},
			version:    "v1.32.3", request: imagecatalog.Request{OS: "rocky-9"}, want: "a",
		},
		"a build that nobody has": {
			candidates: candidates{image(t, "a", "v1.32.3"), image(t, "b", "v1.32.3+k3s1")},
			version:    "v1.32.3+k3s9", notFound: "BuildUnknown", message: "there is v1.32.3, v1.32.3+k3s1",
		},
		"a pre-release is no release": {
			candidates: candidates{image(t, "a", "v1.33.0-rc.1")},
			version:    "v1.33.0", notFound: "VersionUnknown",
		},
		"a pre-release by its name": {
			candidates: candidates{image(t, "a", "v1.33.0-rc.1"), image(t, "b", "v1.33.0")},
			version:    "v1.33.0-rc.1", want: "a",
		},
		"a pre-release with the only build": {
			candidates: candidates{image(t, "a", "v1.33.0-rc.1+b"), image(t, "b", "v1.33.0-rc.2+b")},
			version:    "v1.33.0-rc.1", want: "a",
		},
		"an empty catalog": {
			version: "v1.33.0", notFound: "VersionUnknown", message: "the catalog is empty",
		},
		"another minor version only": {
			candidates: candidates{image(t, "a", "v1.31.1")},
			version:    "v1.33.0", notFound: "VersionUnknown", message: "there is v1.31.1",
		},
		"operating system": {
			candidates: candidates{image(t, "a", "v1.32.3"), image(t, "b", "v1.32.3", onOS("rocky-9"))},
			version:    "v1.32.3", request: imagecatalog.Request{OS: "rocky-9"}, want: "b",
		},
		"operating system that has no image": {
			candidates: candidates{image(t, "a", "v1.32.3"), image(t, "b", "v1.32.4", onOS("rocky-9"))},
			version:    "v1.32.3", request: imagecatalog.Request{OS: "rocky-9"}, notFound: "NotForOS", message: "it is for ubuntu-24.04",
		},
		"operating system by a part of its name": {
			candidates: candidates{image(t, "a", "v1.32.3")},
			version:    "v1.32.3", request: imagecatalog.Request{OS: "ubuntu"}, notFound: "NotForOS",
		},
		"several operating systems": {
			candidates: candidates{image(t, "a", "v1.32.3"), image(t, "b", "v1.32.3", onOS("rocky-9"))},
			version:    "v1.32.3", ambiguous: []string{"a", "b"}, message: "ask for an operating system (rocky-9, ubuntu-24.04)",
		},
		"architecture": {
			candidates: candidates{image(t, "a", "v1.32.3"), image(t, "b", "v1.32.3", onArch(infrav1.ArchAArch64))},
			version:    "v1.32.3", request: imagecatalog.Request{Arch: infrav1.ArchAArch64}, want: "b",
		},
		"architecture that has no image": {
			candidates: candidates{image(t, "a", "v1.32.3")},
			version:    "v1.32.3", request: imagecatalog.Request{Arch: infrav1.ArchAArch64}, notFound: "NotForArch",
		},
		"hypervisor": {
			candidates: candidates{image(t, "a", "v1.32.3"), image(t, "b", "v1.32.3", on(infrav1.HypervisorVMware))},
			version:    "v1.32.3", request: imagecatalog.Request{Hypervisor: infrav1.HypervisorVMware}, want: "b",
		},
		"hypervisor that has no image": {
			candidates: candidates{image(t, "a", "v1.32.3")},
			version:    "v1.32.3", request: imagecatalog.Request{Hypervisor: infrav1.HypervisorVMware}, notFound: "NotForHypervisor",
		},
		"image that does not tell its hypervisor": {
			candidates: candidates{image(t, "a", "v1.32.3", on(""))},
			version:    "v1.32.3", request: imagecatalog.Request{Hypervisor: infrav1.HypervisorVMware}, want: "a",
		},
		"zone by name": {
			candidates: candidates{image(t, "a", "v1.32.3", in("z1")), image(t, "b", "v1.32.3", in("z2"))},
			version:    "v1.32.3", request: imagecatalog.Request{Zone: "z2"}, want: "b",
		},
		"zone by id": {
			candidates: candidates{image(t, "a", "v1.32.3", in("z1")), image(t, "b", "v1.32.3", in("z2"))},
			version:    "v1.32.3", request: imagecatalog.Request{Zone: "id-of-z1"}, want: "a",
		},
		"version known, not in zone": {
			candidates: candidates{image(t, "a", "v1.32.3", in("z1")), image(t, "b", "v1.32.4", in("z2"))},
			version:    "v1.32.3", request: imagecatalog.Request{Zone: "z2"}, notFound: "NotInZone", message: "known, but not in zone z2: it is in z1",
		},
		"of two obstacles the last one is told": {
			candidates: candidates{image(t, "a", "v1.32.3", onOS("rocky-9")), image(t, "b", "v1.32.3", in("z1"))},
			version:    "v1.32.3", request: imagecatalog.Request{OS: "ubuntu-24.04", Zone: "z2"}, notFound: "NotInZone", message: "it is in z1",
		},
		"copies in several zones": {
			candidates: candidates{image(t, "b", "v1.32.3", in("z2"), content("x")), image(t, "a", "v1.32.3", in("z1"), content("x"))},
			version:    "v1.32.3", want: "a", message: "2 copies of it count as one",
		},
		"copies in one zone": {
			candidates: candidates{image(t, "b", "v1.32.3", content("x")), image(t, "a", "v1.32.3", content("x"))},
			version:    "v1.32.3", want: "a",
		},
		"the newest copy is taken": {
			candidates: candidates{image(t, "a", "v1.32.3", content("x"), imported(1)), image(t, "b", "v1.32.3", content("x"), imported(2))},
			version:    "v1.32.3", want: "b",
		},
		"copies of unknown content are none": {
			candidates: candidates{image(t, "a", "v1.32.3", content("")), image(t, "b", "v1.32.3", content(""))},
			version:    "v1.32.3", ambiguous: []string{"a", "b"}, message: "ask for an image (a, b)",
		},
		"one template that is listed once for each zone": {
			candidates: candidates{image(t, "a", "v1.32.3", content("")), image(t, "a", "v1.32.3", content(""))},
			version:    "v1.32.3", want: "a",
		},
		"newest import": {
			candidates: candidates{image(t, "a", "v1.32.3", imported(1)), image(t, "b", "v1.32.3", imported(3)), image(t, "c", "v1.32.3", imported(2))},
			version:    "v1.32.3", want: "b", message: "of 3 images the newest import",
		},
		"imported at the same time": {
			candidates: candidates{image(t, "b", "v1.32.3", imported(3)), image(t, "a", "v1.32.3", imported(3)), image(t, "c", "v1.32.3", imported(2))},
			version:    "v1.32.3", ambiguous: []string{"a", "b"},
		},
		"expired": {
			candidates: candidates{image(t, "a", "v1.32.3", until(now))},
			version:    "v1.32.3", notFound: "Expired",
		},
		"expires later": {
			candidates: candidates{image(t, "a", "v1.32.3", until(now.Add(time.Second)))},
			version:    "v1.32.3", want: "a",
		},
		"expired even when it is named": {
			candidates: candidates{image(t, "a", "v1.32.3", until(now))},
			version:    "v1.32.3", request: imagecatalog.Request{Image: "a"}, notFound: "Expired",
		},
		"preview": {
			candidates: candidates{image(t, "a", "v1.32.3", at(infrav1.StagePreview))},
			version:    "v1.32.3", notFound: "PreviewOnly", message: "name the image to have it (a)",
		},
		"preview that is named": {
			candidates: candidates{image(t, "a", "v1.32.3", at(infrav1.StagePreview)), image(t, "b", "v1.32.3")},
			version:    "v1.32.3", request: imagecatalog.Request{Image: "a"}, want: "a", warning: "is a preview",
		},
		"preview beside a supported image": {
			candidates: candidates{image(t, "a", "v1.32.3", at(infrav1.StagePreview)), image(t, "b", "v1.32.3")},
			version:    "v1.32.3", want: "b",
		},
		"image that is named and unknown": {
			candidates: candidates{image(t, "a", "v1.32.3")},
			version:    "v1.32.3", request: imagecatalog.Request{Image: "b"}, notFound: "NotThatImage", message: "it is in a",
		},
		"deprecated": {
			candidates: candidates{image(t, "a", "v1.32.3", at(infrav1.StageDeprecated), until(now.Add(time.Hour)))},
			version:    "v1.32.3", want: "a", warning: "is deprecated and expires on 2026-03-01T13:00:00Z",
		},
		"deprecated beside a supported image": {
			candidates: candidates{image(t, "a", "v1.32.3", at(infrav1.StageDeprecated), imported(9)), image(t, "b", "v1.32.3", imported(1))},
			version:    "v1.32.3", want: "b", message: "better stage",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			request := tc.request
			request.Version, request.Now = version(t, tc.version), now
			choice, err := imagecatalog.Resolve(tc.candidates, request)
			if tc.want != "" {
				if err != nil {
					t.Fatalf("Resolve: %v", err)
				}
				expectChoice(t, choice, tc.want, tc.message, tc.warning)
				return
			}
			if err == nil {
				t.Fatalf("Resolve chose %s: %s", choice.Candidate.ID, choice.Why)
			}
			expectFailure(t, err, tc.notFound, tc.ambiguous, tc.message)
		})
	}
}

func expectChoice(t *testing.T, choice imagecatalog.Choice, want, why, warning string) {
	t.Helper()
	if choice.Candidate.ID != want {
		t.Errorf("Chose %s, want %s", choice.Candidate.ID, want)
	}
	if !strings.Contains(choice.Why, why) {
		t.Errorf("Why = %q, want %q in it", choice.Why, why)
	}
	if got := strings.Join(choice.Warnings, "; "); warning == "" && got != "" || !strings.Contains(got, warning) {
		t.Errorf("Warnings = %q, want %q", got, warning)
	}
}

func expectFailure(t *testing.T, err error, cause string, ambiguous []string, message string) {
	t.Helper()
	var notFound *imagecatalog.NotFoundError
	var several *imagecatalog.AmbiguousError
	switch {
	case errors.As(err, &notFound):
		if string(notFound.Cause) != cause {
			t.Errorf("Cause = %q (%v), want %q", notFound.Cause, err, cause)
		}
	case errors.As(err, &several):
		var ids []string
		for _, c := range several.Candidates {
			ids = append(ids, c.ID)
		}
		if diff := cmp.Diff(ambiguous, sorted(ids)); diff != "" {
			t.Errorf("Candidates (-want +got):\n%s", diff)
		}
	default:
		t.Fatalf("Error = %v, want one of the two kinds", err)
	}
	if !strings.Contains(err.Error(), message) {
		t.Errorf("Error = %q, want %q in it", err, message)
	}
}

// TestResolveDoesNotDependOnOrder resolves every rotation of the candidates.
func TestResolveDoesNotDependOnOrder(t *testing.T) {
	candidates := []imagecatalog.Candidate{
		image(t, "d", "v1.32.3", in("z2"), content("x"), imported(5)),
		image(t, "a", "v1.32.3", in("z1"), content("x"), imported(5)),
		image(t, "b", "v1.32.3", in("z1"), imported(4)),
		image(t, "c", "v1.32.3", in("z1"), at(infrav1.StageDeprecated), imported(9)),
	}
	for range candidates {
		candidates = append(candidates[1:], candidates[0])
		choice, err := imagecatalog.Resolve(candidates, imagecatalog.Request{Version: version(t, "v1.32.3"), Now: now})
		if err != nil || choice.Candidate.ID != "a" {
			t.Errorf("Resolve chose %q, %v, want a", choice.Candidate.ID, err)
		}
	}
}
