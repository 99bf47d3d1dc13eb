package imagecatalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Cause says in one word why nothing was found.
type Cause string

// The causes. All but the first two say that the version is known.
const (
	// CauseVersionUnknown: no image has the version.
	CauseVersionUnknown Cause = "VersionUnknown"
	// CauseBuildUnknown: the version is known, but not with that build.
	CauseBuildUnknown Cause = "BuildUnknown"
	// CauseNotThatImage: the version is known, but not of the named image.
	CauseNotThatImage = Cause(misImage)
	// CauseNotForOS: the version is known, but not for the operating system.
	CauseNotForOS = Cause(misOS)
	// CauseNotForArch: the version is known, but not for the architecture.
	CauseNotForArch = Cause(misArch)
	// CauseNotForHypervisor: the version is known, but not for the hypervisor.
	CauseNotForHypervisor = Cause(misHypervisor)
	// CauseNotInZone: the version is known, but not in the zone.
	CauseNotInZone = Cause(misZone)
	// CauseAllExpired: the version is known, but its images have expired.
	CauseAllExpired = Cause(misExpired)
	// CausePreviewOnly: the version is known, but only as a preview, which has to be named.
	CausePreviewOnly = Cause(misPreview)
)

// NotFoundError says that no image fits a request.
type NotFoundError struct {
	// Request that found nothing.
	Request Request
	// Cause in one word.
	Cause Cause
	// Message in words: what is missing and what comes near.
	Message string
	// Near are the images that come nearest.
	Near []Candidate
}

func (e *NotFoundError) Error() string { return "no image found: " + e.Message }

// AmbiguousError says that several images fit a request equally well.
type AmbiguousError struct {
	// Request that fits several images.
	Request Request
	// Message in words: what to ask for.
	Message string
	// Candidates are the images, one of each copy.
	Candidates []Candidate
}

func (e *AmbiguousError) Error() string { return "ambiguous: " + e.Message }

// maxNear bounds the near misses of an error.
const maxNear = 10

// notFound explains why nothing fits.
func notFound(candidates []Candidate, r Request) *NotFoundError {
	known := r.ofVersion(candidates, func(v Version) bool {
		return v.Equal(r.Version) || r.Version.Build() == "" && v.sameRelease(r.Version)
	})
	if len(known) > 0 {
		return r.versionKnown(known)
	}
	if others := r.ofVersion(candidates, r.Version.sameRelease); len(others) > 0 {
		return &NotFoundError{Request: r, Cause: CauseBuildUnknown, Near: nearest(others), Message: fmt.Sprintf(
			"%s is not there with this build; there is %s", r.Version, joinVersions(distinctVersions(others)))}
	}
	near := r.ofVersion(candidates, r.Version.sameMinor)
	text := "of this minor version there is "
	if len(near) == 0 {
		near, text = candidates, "there is "
	}
	message := fmt.Sprintf("version %s is unknown; the catalog is empty", r.Version)
	if versions := distinctVersions(near); len(versions) > 0 {
		message = fmt.Sprintf("version %s is unknown; %s%s", r.Version, text, joinVersions(lastVersions(versions)))
	}
	return &NotFoundError{Request: r, Cause: CauseVersionUnknown, Near: nearest(near), Message: message}
}

// versionKnown explains what keeps the images of the version from the request: of several obstacles the one that the
// nearest image meets last.
func (r Request) versionKnown(known []Candidate) *NotFoundError {
	order := []misfit{misImage, misOS, misArch, misHypervisor, misZone, misExpired, misPreview}
	obstacle := misImage
	for _, c := range known {
		if m := r.misfit(c); slices.Index(order, m) > slices.Index(order, obstacle) {
			obstacle = m
		}
	}
	near := slices.DeleteFunc(slices.Clone(known), func(c Candidate) bool { return r.misfit(c) != obstacle })
	message := fmt.Sprintf("version %s is known, but %s", r.Version, r.describe(obstacle, near))
	return &NotFoundError{Request: r, Cause: Cause(obstacle), Near: nearest(near), Message: message}
}

func (r Request) describe(obstacle misfit, near []Candidate) string {
	list := func(of func(Candidate) string) string {
		var texts []string
		for _, c := range near {
			texts = append(texts, of(c))
		}
		slices.Sort(texts)
		return strings.Join(slices.Compact(texts), ", ")
	}
	image := func(c Candidate) string { return c.Image }
	switch obstacle {
	case misImage:
		return fmt.Sprintf("not of image %s: it is in %s", r.Image, list(image))
	case misOS:
		return fmt.Sprintf("not for the operating system %s: it is for %s", r.OS, list(func(c Candidate) string { return string(c.OS) }))
	case misArch:
		return fmt.Sprintf("not for the architecture %s: it is for %s", r.Arch, list(func(c Candidate) string { return string(c.Arch) }))
	case misHypervisor:
		return fmt.Sprintf("not for the hypervisor %s: it is for %s", r.Hypervisor, list(func(c Candidate) string { return string(c.Hypervisor) }))
	case misZone:
		return fmt.Sprintf("not in zone %s: it is in %s", cmp.Or(r.ZoneName, r.Zone), list(func(c Candidate) string { return zoneKey(c.Zone) }))
	case misExpired:
		return fmt.Sprintf("expired: %s", list(image))
	}
	return fmt.Sprintf("only as a preview: name the image to have it (%s)", list(image))
}

// nearest gives one of each image, newest first, and not too many.
func nearest(candidates []Candidate) []Candidate {
	near := firstOf(groupCopies(candidates))
	slices.Reverse(near)
	return near[:min(len(near), maxNear)]
}

// lastVersions gives the newest versions and not too many.
func lastVersions(versions []Version) []Version { return versions[max(0, len(versions)-maxNear):] }

// tieMessage says what tells equally good images apart, so that a person can ask for it.
func tieMessage(best []group) string {
	differ := func(name string, of func(Candidate) string) string {
		values := make([]string, 0, len(best))
		for _, g := range best {
			values = append(values, of(g[0]))
		}
		slices.Sort(values)
		if values = slices.Compact(values); len(values) > 1 {
			return fmt.Sprintf("%s (%s)", name, strings.Join(values, ", "))
		}
		return ""
	}
	ask := cmp.Or(
		differ("an operating system", func(c Candidate) string { return string(c.OS) }),
		differ("an architecture", func(c Candidate) string { return string(c.Arch) }),
		differ("a hypervisor", func(c Candidate) string { return string(c.Hypervisor) }),
		differ("an image", func(c Candidate) string { return c.Image }),
		differ("a zone", func(c Candidate) string { return zoneKey(c.Zone) }),
	)
	if ask == "" {
		return fmt.Sprintf("%d images fit equally well and nothing tells them apart", len(best))
	}
	return fmt.Sprintf("%d images fit equally well: ask for %s", len(best), ask)
}
