package imagecatalog

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// maxVersionLength bounds the text of a version.
const maxVersionLength = 63

// Version is a parsed Kubernetes version. The zero value is not a version.
type Version struct{ sem *semver.Version }

// VersionError says why a text is not a Kubernetes version.
type VersionError struct {
	// Text is what was given, shortened.
	Text string
	// Hint says what to write instead.
	Hint string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%q is not a Kubernetes version: %s", e.Text, e.Hint)
}

// ParseVersion reads a strict semantic version of three numbers after one optional leading v. The error is a *VersionError.
func ParseVersion(text string) (Version, error) {
	if hint := versionHint(text); hint != "" {
		return Version{}, &VersionError{Text: shorten(text), Hint: hint}
	}
	parsed, err := semver.StrictNewVersion(strings.TrimPrefix(text, "v"))
	if err != nil {
		return Version{}, &VersionError{Text: shorten(text), Hint: "write three numbers such as v1.33.1, optionally with a pre-release (-rc.1) or a build (+k3s1)"}
	}
	if first, _, _ := strings.Cut(parsed.Prerelease(), "."); first != "" && strings.Trim(first, "0123456789") == "" {
		hint := fmt.Sprintf("-%s looks like the revision of a package; write v%d.%d.%d", parsed.Prerelease(), parsed.Major(), parsed.Minor(), parsed.Patch())
		return Version{}, &VersionError{Text: text, Hint: hint}
	}
	return Version{sem: parsed}, nil
}

// versionHint recognises common mistakes.
func versionHint(text string) string {
	switch {
	case text == "":
		return "it is empty"
	case len(text) > maxVersionLength:
		return fmt.Sprintf("it is longer than %d characters", maxVersionLength)
	case strings.TrimSpace(text) != text:
		return "it begins or ends with a blank"
	case strings.HasPrefix(text, "V"):
		return "write a small v"
	case strings.Contains(text, "_"):
		return "write the build after a plus sign instead of an underscore"
	case strings.ContainsAny(text, "<>=~^*|, "):
		return "ranges are not looked up, name one version"
	}
	return ""
}

// shorten bounds a text that goes into a message.
func shorten(text string) string {
	if len(text) > maxVersionLength {
		return strings.ToValidUTF8(text[:maxVersionLength], "") + "..."
	}
	return text
}

// String is the canonical form, with a leading v.
func (v Version) String() string {
	if v.sem == nil {
		return ""
	}
	return "v" + v.sem.String()
}

// API is the canonical form as the API spells it.
func (v Version) API() infrav1.KubernetesVersion { return infrav1.KubernetesVersion(v.String()) }

// Equal compares everything, builds included.
func (v Version) Equal(o Version) bool { return v.String() == o.String() }

// Build is what follows the plus sign.
func (v Version) Build() string { return v.sem.Metadata() }

// release is the version without its build.
func (v Version) release() Version {
	bare, err := v.sem.SetMetadata("")
	if err != nil {
		return v // an empty build is always one
	}
	return Version{sem: &bare}
}

// Holds tells whether something that has the version serves a request for another: for exactly that one, or for any build of
// it when the request names none.
func (v Version) Holds(asked Version) bool {
	return v.Equal(asked) || asked.Build() == "" && v.sameRelease(asked)
}

// sameRelease compares everything but the build.
func (v Version) sameRelease(o Version) bool { return v.sem.Compare(o.sem) == 0 }

// sameMinor compares the first two numbers.
func (v Version) sameMinor(o Version) bool {
	return v.sem.Major() == o.sem.Major() && v.sem.Minor() == o.sem.Minor()
}

// Compare orders versions by precedence and equal ones by their builds, so that the order is total.
func (v Version) Compare(o Version) int {
	return cmp.Or(v.sem.Compare(o.sem), compareBuilds(v.Build(), o.Build()))
}

// compareBuilds orders runs of digits as numbers and the rest as text: k3s2 comes before k3s10, nothing comes first.
func compareBuilds(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		var left, right string
		left, x = cutRun(x)
		right, y = cutRun(y)
		if c := compareRuns(left, right); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// cutRun cuts off the longest start that is all digits or has none.
func cutRun(s string) (run, rest string) {
	digit := isDigit(s[0])
	for i := range len(s) {
		if isDigit(s[i]) != digit {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func compareRuns(a, b string) int {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
}
