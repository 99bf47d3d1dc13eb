package imagecatalog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// BuildPolicy says what to do when several builds of a version fit a request that names none.
type BuildPolicy string

// The build policies.
const (
	// BuildsUnique refuses to choose between builds.
	BuildsUnique BuildPolicy = ""
	// BuildsNewest takes the newest build.
	BuildsNewest BuildPolicy = "NewestBuild"
)

// Request asks for an image. Empty fields ask for nothing in particular.
type Request struct {
	// Version that is wanted; required.
	Version Version
	// OS that is wanted.
	OS infrav1.OSName
	// Arch that is wanted.
	Arch infrav1.Arch
	// Hypervisor that is wanted.
	Hypervisor infrav1.Hypervisor
	// Zone that is wanted, by name or id.
	Zone string
	// ZoneName is what people call the zone; Zone when it is empty.
	ZoneName string
	// Image is the name of the entry that is wanted. Only so is a preview found.
	Image string
	// Builds is the policy for builds.
	Builds BuildPolicy
	// Now is the time by which images expire.
	Now time.Time
}

// Choice is the image that a request resolves to.
type Choice struct {
	// Candidate that was chosen.
	Candidate Candidate
	// Copies are all copies of the image that fit, the chosen one first.
	Copies []Candidate
	// Why says in words how the choice was made.
	Why string
	// Warnings are for people.
	Warnings []string
}

// Resolve chooses the image for a request. The error is a *NotFoundError or an *AmbiguousError.
//
// Among the images that are not expired and fit the request's operating system, architecture, hypervisor and zone: the
// exact version; else, when the request names no build, the only build of that version; never another version. Of several
// images the supported one comes before the deprecated, then the newest import; equally good ones are ambiguous.
func Resolve(candidates []Candidate, r Request) (Choice, error) {
	candidates = uniqueByID(candidates)
	fitting := slices.DeleteFunc(slices.Clone(candidates), func(c Candidate) bool { return r.misfit(c) != fits })
	matching, how, err := r.matchVersion(fitting)
	if err != nil {
		return Choice{}, err
	}
	if len(matching) == 0 {
		return Choice{}, notFound(candidates, r)
	}
	groups := groupCopies(matching)
	best, tie := bestGroups(groups)
	if len(best) > 1 {
		return Choice{}, &AmbiguousError{Request: r, Message: tieMessage(best), Candidates: firstOf(best)}
	}
	chosen := best[0]
	choice := Choice{Candidate: chosen[0], Copies: chosen, Why: how}
	if len(groups) > 1 {
		choice.Why += fmt.Sprintf("; of %d images %s", len(groups), tie)
	}
	if len(chosen) > 1 {
		choice.Why += fmt.Sprintf("; %d copies of it count as one", len(chosen))
	}
	choice.Warnings = warningsFor(chosen[0])
	return choice, nil
}

// matchVersion selects the candidates of the version and says by which rule.
func (r Request) matchVersion(fitting []Candidate) ([]Candidate, string, error) {
	if exact := r.ofVersion(fitting, r.Version.Equal); len(exact) > 0 {
		return exact, "exactly the version " + r.Version.String(), nil
	}
	if r.Version.Build() != "" {
		return nil, "", nil // a build that nobody has is never replaced by another one
	}
	builds := r.ofVersion(fitting, r.Version.sameRelease)
	versions := distinctVersions(builds)
	switch {
	case len(versions) == 0:
		return nil, "", nil
	case len(versions) == 1:
		return builds, "the only build of " + r.Version.String(), nil
	case r.Builds == BuildsNewest:
		newest := versions[len(versions)-1]
		return r.ofVersion(builds, newest.Equal), "the newest build of " + r.Version.String(), nil
	}
	message := fmt.Sprintf("%s has several builds (%s): ask for one of them", r.Version, joinVersions(versions))
	return nil, "", &AmbiguousError{Request: r, Message: message, Candidates: firstOf(groupCopies(builds))}
}

func (r Request) ofVersion(candidates []Candidate, match func(Version) bool) []Candidate {
	var out []Candidate
	for _, c := range candidates {
		if match(c.Version) {
			out = append(out, c)
		}
	}
	return out
}

// bestGroups gives the images none of which is better than another, and says what made them so.
func bestGroups(groups []group) ([]group, string) {
	best := groups[:1:1]
	for _, g := range groups[1:] {
		switch c := compareGoodness(g[0], best[0][0]); {
		case c > 0:
			best = []group{g}
		case c == 0:
			best = append(best, g)
		}
	}
	for _, g := range groups {
		if g[0].Life.rank() != best[0][0].Life.rank() {
			return best, "the one in the better stage"
		}
	}
	return best, "the newest import"
}

func compareGoodness(a, b Candidate) int {
	if d := b.Life.rank() - a.Life.rank(); d != 0 {
		return d
	}
	return a.Imported.Compare(b.Imported)
}

func firstOf(groups []group) []Candidate {
	out := make([]Candidate, 0, len(groups))
	for _, g := range groups {
		out = append(out, g[0])
	}
	return out
}

func warningsFor(c Candidate) []string {
	var warnings []string
	switch c.Life.Stage {
	case infrav1.StageDeprecated:
		warnings = append(warnings, fmt.Sprintf("image %s is deprecated", c.Image))
	case infrav1.StagePreview:
		warnings = append(warnings, fmt.Sprintf("image %s is a preview", c.Image))
	}
	if !c.Life.Expires.IsZero() && len(warnings) > 0 {
		warnings[0] += " and expires on " + c.Life.Expires.UTC().Format(time.RFC3339)
	}
	return warnings
}

// distinctVersions gives each version once, in order.
func distinctVersions(candidates []Candidate) []Version {
	versions := make([]Version, 0, len(candidates))
	for _, c := range candidates {
		versions = append(versions, c.Version)
	}
	slices.SortFunc(versions, Version.Compare)
	return slices.CompactFunc(versions, Version.Equal)
}

func joinVersions(versions []Version) string {
	texts := make([]string, 0, len(versions))
	for _, v := range versions {
		texts = append(texts, v.String())
	}
	return strings.Join(texts, ", ")
}
