package imagecatalog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// planSpec has one zone and an image for the given versions; fields are further ones of the image.
func planSpec(versions, fields string) string {
	return fmt.Sprintf(`
zones: [{name: z, hypervisor: KVM}]
images:
- {name: u, os: o, kubernetesVersions: [%s], url: "http://h/{{.Version}}", checksum: {insecureSkip: true} %s}
`, versions, fields)
}

func expand(t *testing.T, text string) []imagecatalog.Entry {
	t.Helper()
	entries, errs := imagecatalog.Expand(specOf(t, text))
	if len(errs) > 0 {
		t.Fatalf("Expand: %v", errs.ToAggregate())
	}
	return entries
}

func existing(t *testing.T, text string, imported bool) []imagecatalog.Existing {
	t.Helper()
	var out []imagecatalog.Existing
	for _, e := range expand(t, text) {
		out = append(out, imagecatalog.Existing{Name: imagecatalog.ObjectName("c", &e), Entry: e, Imported: imported})
	}
	return out
}

func TestMakePlan(t *testing.T) {
	const future = `, expirationDate: "2026-04-01T00:00:00Z"`
	tests := map[string]struct {
		desired, existing string // specs
		imported          bool
		keep              int32
		want              []string
		next              time.Time
	}{
		"all is new": {
			desired: planSpec("v1.32.3, v1.33.1", ""),
			want:    []string{"create v1.32.3", "create v1.33.1"},
		},
		"all is there": {
			desired:  planSpec("v1.32.3", ""),
			existing: planSpec("v1.32.3", ""), imported: true,
			want: []string{"keep v1.32.3"},
		},
		"one came, one went": {
			desired:  planSpec("v1.33.1", ""),
			existing: planSpec("v1.32.3", ""), imported: true,
			want: []string{"create v1.33.1", "retire v1-32-3 Removed"},
		},
		"the catalog is empty now": {
			desired:  "zones: [{name: z, hypervisor: KVM}]",
			existing: planSpec("v1.32.3", ""),
			want:     []string{"retire v1-32-3 Removed"},
		},
		"it expires in the future": {
			desired: planSpec("v1.32.3", future),
			want:    []string{"create v1.32.3"},
			next:    time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC),
		},
		"it expires at this moment": {
			desired:  planSpec("v1.32.3", `, expirationDate: "2026-03-01T12:00:00Z"`),
			existing: planSpec("v1.32.3", ""), imported: true,
			want: []string{"retire v1-32-3 Expired"},
		},
		"it had expired before it was made": {
			desired: planSpec("v1.32.3", `, expirationDate: "2020-03-01T12:00:00Z"`),
		},
		"the stage is no content": {
			desired:  planSpec("v1.32.3", ", stage: Deprecated"),
			existing: planSpec("v1.32.3", ""), imported: true,
			want: []string{"keep v1.32.3"},
		},
		"content changed before the import": {
			desired:  strings.Replace(planSpec("v1.32.3", ""), "http://h/", "http://i/", 1),
			existing: planSpec("v1.32.3", ""),
			want:     []string{"keep v1.32.3"},
		},
		"content changed after the import": {
			desired:  strings.Replace(planSpec("v1.32.3", ""), "http://h/", "http://i/", 1),
			existing: planSpec("v1.32.3", ""), imported: true,
			want: []string{"changed v1.32.3"},
		},
		"options changed after the import": {
			desired:  planSpec("v1.32.3", ", template: {passwordEnabled: true}"),
			existing: planSpec("v1.32.3", ""), imported: true,
			want: []string{"changed v1.32.3"},
		},
		"beyond retention is not made and not kept": {
			desired:  planSpec("v1.32.1, v1.32.2, v1.32.10, v1.33.0, v1.33.1", ""),
			existing: planSpec("v1.32.2, v1.32.10", ""), imported: true,
			keep: 1,
			want: []string{"create v1.33.1", "keep v1.32.10", "retire v1-32-2 BeyondRetention"},
		},
		"builds and pre-releases count with their patch": {
			desired: planSpec("v1.32.1, v1.32.2-rc.1, v1.32.2+a, v1.32.2+b", ""),
			keep:    1,
			want:    []string{"create v1.32.2+a", "create v1.32.2+b", "create v1.32.2-rc.1"},
		},
		"other systems are counted on their own": {
			desired: planSpec("v1.32.1", "") + `- {name: w, os: other, kubernetesVersions: [v1.32.9], url: "http://h/w", checksum: {insecureSkip: true}}`,
			keep:    1,
			want:    []string{"create v1.32.1", "create v1.32.9"},
		},
		"the expired do not push others out": {
			desired: planSpec("v1.32.1", "") + `- {name: w, os: o, expirationDate: "2020-01-01T00:00:00Z", kubernetesVersions: [v1.32.9], url: "http://h/w", checksum: {insecureSkip: true}}`,
			keep:    1,
			want:    []string{"create v1.32.1"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := imagecatalog.PlanInput{Catalog: "c", Desired: expand(t, tc.desired), KeepPatchesPerMinor: tc.keep, Now: now}
			if tc.existing != "" {
				in.Existing = existing(t, tc.existing, tc.imported)
			}
			plan := imagecatalog.MakePlan(in)
			if diff := cmp.Diff(tc.want, describe(&plan)); diff != "" {
				t.Errorf("Plan (-want +got):\n%s", diff)
			}
			if !plan.Next.Equal(tc.next) {
				t.Errorf("Next = %v, want %v", plan.Next, tc.next)
			}
		})
	}
}

// describe gives a plan in words; a retirement is known only by the name of its object.
func describe(plan *imagecatalog.Plan) []string {
	var out []string
	add := func(verb string, items []imagecatalog.Item) {
		var lines []string
		for _, item := range items {
			lines = append(lines, verb+" "+item.Entry.Version.String())
		}
		out = append(out, sorted(lines)...)
	}
	add("create", plan.Create)
	add("keep", plan.Keep)
	add("changed", plan.Changed)
	for _, r := range plan.Retire {
		out = append(out, "retire "+strings.TrimPrefix(r.Name[:strings.LastIndex(r.Name, "-z-")], "u-")+" "+string(r.Cause))
	}
	return out
}

// TestPlanOfManyImages proves that a large catalog is planned in no time: 200 images in 3 zones, all of them there.
func TestPlanOfManyImages(t *testing.T) {
	spec := specOf(t, "zones: [{name: a, hypervisor: KVM}, {name: b, hypervisor: KVM}, {name: c, hypervisor: VMware}]")
	for i := range 200 {
		spec.Images = append(spec.Images, infrav1.CatalogImage{
			Name: fmt.Sprint("i", i), OS: "o", URL: "http://h/{{.Version}}", Checksum: &infrav1.Checksum{InsecureSkip: true},
			KubernetesVersions: []infrav1.KubernetesVersion{infrav1.KubernetesVersion(fmt.Sprintf("v1.30.%d", i))},
		})
	}
	entries, errs := imagecatalog.Expand(spec)
	if len(errs) > 0 || len(entries) != 600 {
		t.Fatalf("Expand gave %d entries and %v", len(entries), errs.ToAggregate())
	}
	in := imagecatalog.PlanInput{Catalog: "c", Desired: entries, Now: now, KeepPatchesPerMinor: 150}
	for i := range entries {
		in.Existing = append(in.Existing, imagecatalog.Existing{Name: imagecatalog.ObjectName("c", &entries[i]), Entry: entries[i]})
	}
	plan := imagecatalog.MakePlan(in)
	if len(plan.Keep) != 450 || len(plan.Retire) != 150 || len(plan.Create) != 0 {
		t.Errorf("Plan keeps %d, retires %d, creates %d, want 450, 150, 0", len(plan.Keep), len(plan.Retire), len(plan.Create))
	}
}
