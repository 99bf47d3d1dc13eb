package imagecatalog

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// MaxEntries bounds what one catalog may expand to.
const MaxEntries = 5000

// Expand gives one entry for every image, version, hypervisor and zone of a catalog, in the order of the spec. A zone
// without a hypervisor stands for every hypervisor it may have. Errors carry the path of the field below spec; entries
// are complete only when there are none.
func Expand(spec *infrav1.TemplateCatalogSpec) ([]Entry, field.ErrorList) {
	var entries []Entry
	var errs field.ErrorList
	path := field.NewPath("spec")
	errs = append(errs, checkZones(spec.Zones, path.Child("zones"))...)
	for i := range spec.Images {
		image := &spec.Images[i]
		at := path.Child("images").Index(i)
		errs = append(errs, checkImage(image, at)...)
		variants, variantErrs := variantsOf(image, at)
		errs = append(errs, variantErrs...)
		entries = append(entries, inZones(image, variants, spec.Zones)...)
		if len(entries) > MaxEntries {
			return nil, append(errs, field.TooMany(path.Child("images"), len(entries), MaxEntries))
		}
	}
	return entries, append(errs, duplicates(spec, path)...)
}

// variant is an image for one version and one hypervisor, before it meets the zones.
type variant struct {
	version    Version
	hypervisor infrav1.Hypervisor
	source     infrav1.ImageSource
}

func variantsOf(image *infrav1.CatalogImage, at *field.Path) ([]variant, field.ErrorList) {
	if len(image.Artifacts) > 0 {
		if image.URL != "" {
			return nil, field.ErrorList{field.Invalid(at, image.Name, "give either a pattern (url, kubernetesVersions, checksum) or artifacts, and not both")}
		}
		return pinnedVariants(image, at)
	}
	if image.URL == "" {
		return nil, field.ErrorList{field.Required(at, "give either a pattern (url, kubernetesVersions, checksum) or artifacts")}
	}
	return patternVariants(image, at)
}

// inZones puts each variant into the zones that have its hypervisor.
func inZones(image *infrav1.CatalogImage, variants []variant, zones []infrav1.CatalogZone) []Entry {
	var entries []Entry
	for _, zone := range zones {
		for _, v := range forZone(variants, zone.Hypervisor) {
			entries = append(entries, Entry{
				Image:      image.Name,
				Zone:       zone.ZoneReference,
				Hypervisor: v.hypervisor,
				Version:    v.version,
				OS:         image.OS,
				Arch:       archOf(image),
				Source:     *v.source.DeepCopy(),
				Options:    *image.Template.DeepCopy(),
				Life:       LifeOf(image.Stage, image.ExpirationDate),
			})
		}
	}
	return entries
}

func archOf(image *infrav1.CatalogImage) infrav1.Arch {
	if image.Arch == "" {
		return infrav1.ArchX8664
	}
	return image.Arch
}

// forZone selects the variants of a hypervisor. When the zone does not tell its hypervisor, variants of a version that do
// not depend on it become one without a hypervisor, and the others are all kept.
func forZone(variants []variant, hypervisor infrav1.Hypervisor) []variant {
	if hypervisor != "" {
		return slices.DeleteFunc(slices.Clone(variants), func(v variant) bool { return v.hypervisor != hypervisor })
	}
	var out []variant
	for start := 0; start < len(variants); {
		end := start + 1
		for end < len(variants) && variants[end].version.Equal(variants[start].version) {
			end++
		}
		out = append(out, mergeIndependent(variants[start:end])...)
		start = end
	}
	return out
}

// mergeIndependent makes one variant of several that differ in nothing but the hypervisor and the format it implies.
func mergeIndependent(group []variant) []variant {
	real := slices.DeleteFunc(slices.Clone(group), func(v variant) bool { return v.hypervisor == infrav1.HypervisorSimulator })
	if len(real) < 2 {
		return group
	}
	for _, v := range real[1:] {
		if !equality.Semantic.DeepEqual(v.source.URLs, real[0].source.URLs) || v.source.Checksum != real[0].source.Checksum {
			return real
		}
	}
	merged := real[0]
	merged.hypervisor, merged.source.Format = "", ""
	return []variant{merged}
}

// duplicates finds versions that are spelled twice and names that stand twice, which the schema cannot see in files.
func duplicates(spec *infrav1.TemplateCatalogSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	for i := range spec.Images {
		image := &spec.Images[i]
		at := path.Child("images").Index(i)
		if names[image.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), image.Name))
		}
		names[image.Name] = true
		seen := map[string]bool{}
		for j, text := range image.KubernetesVersions {
			errs = append(errs, seenTwice(seen, text, "", at.Child("kubernetesVersions").Index(j))...)
		}
		for j := range image.Artifacts {
			a := &image.Artifacts[j]
			errs = append(errs, seenTwice(seen, a.KubernetesVersion, a.Hypervisor, at.Child("artifacts").Index(j))...)
		}
	}
	return errs
}

func seenTwice(seen map[string]bool, text infrav1.KubernetesVersion, h infrav1.Hypervisor, at *field.Path) field.ErrorList {
	version, err := ParseVersion(string(text))
	if err != nil {
		return nil // reported where the version is used
	}
	key := fmt.Sprintf("%s %s", version, h)
	if seen[key] {
		return field.ErrorList{field.Duplicate(at, string(text))}
	}
	seen[key] = true
	return nil
}
