package imagecatalog

import (
	"cmp"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// Candidate is an image that a version may resolve to.
type Candidate struct {
	// ID tells candidates apart; candidates of one ID are one. It is shown to people.
	ID string
	// Image is the name of the catalog's entry, by which a preview is named.
	Image string
	// Version of the image.
	Version Version
	// OS is the operating system.
	OS infrav1.OSName
	// Arch is the processor architecture.
	Arch infrav1.Arch
	// Hypervisor the image is for; empty fits every hypervisor.
	Hypervisor infrav1.Hypervisor
	// Zone the image is in, by name, id or both.
	Zone infrav1.ZoneReference
	// Life is the stage and the date of expiration.
	Life Life
	// Content is equal for copies of one image, such as its digest; empty means unlike any other.
	Content string
	// Imported is when the image was imported; zero when that is not known.
	Imported time.Time
}

// CandidateOf makes a candidate of an entry that has not been imported.
func CandidateOf(catalog string, e *Entry) Candidate {
	return Candidate{
		ID:         ObjectName(catalog, e),
		Image:      e.Image,
		Version:    e.Version,
		OS:         e.OS,
		Arch:       e.Arch,
		Hypervisor: e.Hypervisor,
		Zone:       e.Zone,
		Life:       e.Life,
		Content:    e.ContentKey(),
	}
}

// group is one image: all its copies, the preferred one first.
type group []Candidate

// groupCopies brings copies of one image together. Copies have equal content and are offered as the same thing.
func groupCopies(candidates []Candidate) []group {
	type key struct {
		content, version, os, arch, hypervisor string
	}
	groups := map[key]group{}
	var order []key
	for _, c := range candidates {
		k := key{c.Content, c.Version.String(), string(c.OS), string(c.Arch), string(c.Hypervisor)}
		if c.Content == "" {
			k.content = "only " + c.ID
		}
		if _, known := groups[k]; !known {
			order = append(order, k)
		}
		groups[k] = append(groups[k], c)
	}
	out := make([]group, 0, len(order))
	for _, k := range order {
		g := groups[k]
		slices.SortFunc(g, preferCopy)
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b group) int { return compareCandidates(a[0], b[0]) })
	return out
}

// preferCopy puts the supported before the deprecated, the newest import first and breaks ties by name.
func preferCopy(a, b Candidate) int {
	return cmp.Or(cmp.Compare(a.Life.rank(), b.Life.rank()), b.Imported.Compare(a.Imported), strings.Compare(a.ID, b.ID))
}

// compareCandidates orders candidates for people.
func compareCandidates(a, b Candidate) int {
	return cmp.Or(
		a.Version.Compare(b.Version),
		cmp.Compare(a.OS, b.OS),
		cmp.Compare(a.Arch, b.Arch),
		cmp.Compare(a.Hypervisor, b.Hypervisor),
		cmp.Compare(zoneKey(a.Zone), zoneKey(b.Zone)),
		cmp.Compare(a.Image, b.Image),
		cmp.Compare(a.ID, b.ID),
	)
}

// uniqueByID drops candidates whose ID was there before.
func uniqueByID(candidates []Candidate) []Candidate {
	seen := make(map[string]bool, len(candidates))
	out := make([]Candidate, 0, len(candidates))
	for _, c := range candidates {
		if c.ID != "" && seen[c.ID] {
			continue
		}
		seen[c.ID] = true
		out = append(out, c)
	}
	return out
}
