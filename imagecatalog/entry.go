package imagecatalog

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// Entry is one image that a catalog wants in one zone.
type Entry struct {
	// Image is the name of the catalog's entry.
	Image string
	// Zone the image is wanted in.
	Zone infrav1.ZoneReference
	// Hypervisor the image is for. It is empty when the zone does not tell and the source does not depend on it.
	Hypervisor infrav1.Hypervisor
	// Version of the image.
	Version Version
	// OS is the operating system.
	OS infrav1.OSName
	// Arch is the processor architecture.
	Arch infrav1.Arch
	// Source has its URLs filled in, and the format unless the hypervisor is unknown.
	Source infrav1.ImageSource
	// Options say how the image is registered.
	Options infrav1.TemplateOptions
	// Life is the stage and the date of expiration.
	Life Life
}

// ZoneKey is the name of the zone, or its id where only that is known.
func (e Entry) ZoneKey() string { return zoneKey(e.Zone) }

func zoneKey(z infrav1.ZoneReference) string {
	if z.Name != "" {
		return z.Name
	}
	return z.ID
}

// identity tells entries of one catalog apart. Content is no part of it: an image keeps its object when its stage changes.
func (e *Entry) identity() string {
	return strings.Join([]string{e.Image, e.Version.String(), string(e.Hypervisor), e.Zone.Name, e.Zone.ID}, "\x00")
}

// SameContent says whether two entries would register the same bytes in the same way.
func (e *Entry) SameContent(o *Entry) bool {
	return e.Version.Equal(o.Version) && e.OS == o.OS && e.Arch == o.Arch && e.Hypervisor == o.Hypervisor && e.Zone == o.Zone &&
		equality.Semantic.DeepEqual(e.Source, o.Source) && equality.Semantic.DeepEqual(e.Options, o.Options)
}

const (
	// maxNameLength keeps names usable as label values.
	maxNameLength = 63
	// hashLength is the number of hex digits that make a name unique.
	hashLength = 10
)

// ObjectName is the name of the CloudStackImage of an entry: readable, at most 63 characters, and the same for ever.
func ObjectName(catalog string, e *Entry) string {
	sum := sha256.Sum256([]byte(catalog + "\x00" + e.identity()))
	hash := hex.EncodeToString(sum[:])[:hashLength]
	readable := dnsLabel(strings.Join([]string{e.Image, e.Version.String(), e.ZoneKey()}, "-"))
	if room := maxNameLength - hashLength - 1; len(readable) > room {
		readable = strings.TrimRight(readable[:room], "-")
	}
	return readable + "-" + hash
}

// dnsLabel turns what is not allowed in a DNS label into single dashes. It may return an empty text.
func dnsLabel(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.TrimRight(b.String(), "-")
}

// ContentKey is equal for entries that name the same bytes.
func (e *Entry) ContentKey() string {
	if sum := e.Source.Checksum; sum.Value != "" {
		return string(sum.Algorithm) + ":" + strings.ToLower(sum.Value)
	}
	urls := make([]string, 0, len(e.Source.URLs)+1)
	for _, u := range e.Source.URLs {
		urls = append(urls, string(u))
	}
	slices.Sort(urls)
	return strings.Join(append(urls, e.Source.Checksum.URL), " ")
}
