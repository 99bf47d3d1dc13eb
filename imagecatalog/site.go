package imagecatalog

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// Site is a zone as machines are placed in it.
type Site struct {
	// ZoneID is the id of the zone.
	ZoneID string
	// ZoneName is the name of the zone, for people.
	ZoneName string
	// Hypervisors that images may be for, in any spelling; none means every one.
	Hypervisors []string
}

// Name is what people call the zone.
func (s Site) Name() string { return cmp.Or(s.ZoneName, s.ZoneID) }

func (s Site) key() string {
	hosts := slices.Sorted(slices.Values(s.Hypervisors))
	return strings.Join(append([]string{s.ZoneID, s.ZoneName}, hosts...), "\x00")
}

// Deployable tells whether machines can be made of an image now.
func Deployable(img *infrav1.CloudStackImage) bool {
	return img.Status.TemplateID != "" && meta.IsStatusConditionTrue(img.Status.Conditions, infrav1.ConditionReady)
}

// CandidateAt offers an image to machines of a site, unless it is for hosts that the site does not have.
func CandidateAt(img *infrav1.CloudStackImage, s Site) (Candidate, bool) {
	version, err := ParseVersion(string(img.Spec.KubernetesVersion))
	if err != nil {
		return Candidate{}, false
	}
	c := Candidate{
		ID: img.Name, Image: cmp.Or(img.Labels[infrav1.LabelCatalogImage], img.Name), Version: version,
		OS: img.Spec.OS, Arch: cmp.Or(img.Spec.Arch, infrav1.ArchX8664), Hypervisor: cmp.Or(img.Status.Hypervisor, img.Spec.Hypervisor),
		Zone: zoneAt(img, s), Life: LifeOf(img.Spec.Stage, img.Spec.ExpirationDate), Content: img.Status.ContentDigest,
	}
	if img.Status.ImportedAt != nil {
		c.Imported = img.Status.ImportedAt.Time
	}
	suits := func(h string) bool { return strings.EqualFold(h, string(c.Hypervisor)) }
	return c, c.Hypervisor == "" || len(s.Hypervisors) == 0 || slices.ContainsFunc(s.Hypervisors, suits)
}

// zoneAt is the zone of an image by id. A name is believed only while the id is not known: two servers may use it twice.
func zoneAt(img *infrav1.CloudStackImage, s Site) infrav1.ZoneReference {
	switch {
	case img.Status.ZoneID != "":
		return infrav1.ZoneReference{ID: img.Status.ZoneID, Name: img.Spec.Zone.Name}
	case img.Spec.Zone.ID == "" && img.Spec.Zone.Name == s.ZoneName:
		return infrav1.ZoneReference{ID: s.ZoneID, Name: s.ZoneName}
	}
	return img.Spec.Zone
}

// Offered are the images that a cluster's machines choose among: those of the catalogs it names or, when it names none, all
// of them. What is being deleted is offered no more.
func Offered(images []infrav1.CloudStackImage, catalogs []infrav1.CatalogReference) []infrav1.CloudStackImage {
	out := make([]infrav1.CloudStackImage, 0, len(images))
	for _, img := range images {
		of := img.Labels[infrav1.LabelCatalog]
		named := len(catalogs) == 0 || slices.ContainsFunc(catalogs, func(c infrav1.CatalogReference) bool { return c.Name == of })
		if named && img.DeletionTimestamp.IsZero() {
			out = append(out, img)
		}
	}
	return out
}
