package imagecatalog

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// Validate finds what is wrong with a catalog beyond its schema: patterns, versions, formats, ranges. Warnings are for
// people and refuse nothing.
func Validate(spec *infrav1.TemplateCatalogSpec) (warnings []string, errs field.ErrorList) {
	entries, errs := Expand(spec)
	errs = append(errs, ValidateOfferings(spec)...)
	if len(errs) > 0 {
		return nil, errs
	}
	return unused(spec, entries), nil
}

// unused names the images that no zone takes.
func unused(spec *infrav1.TemplateCatalogSpec, entries []Entry) []string {
	used := map[string]bool{}
	for i := range entries {
		used[entries[i].Image] = true
	}
	var warnings []string
	for i := range spec.Images {
		if name := spec.Images[i].Name; !used[name] {
			warnings = append(warnings, field.NewPath("spec", "images").Key(name).String()+": no zone of the catalog has a hypervisor of this image")
		}
	}
	return warnings
}
