package imagecatalog

import (
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// ExistingOf reads an image object back into the entry that it was made for. An object whose content somebody made unusable
// by hand differs from every entry.
func ExistingOf(image *infrav1.CloudStackImage) Existing {
	spec := &image.Spec
	e := Existing{Name: image.Name, Imported: image.Status.ContentDigest != "" || image.Status.TemplateID != ""}
	version, err := ParseVersion(string(spec.KubernetesVersion))
	if err != nil || spec.Source == nil {
		return e
	}
	e.Entry = Entry{
		Image: image.Labels[infrav1.LabelCatalogImage], Zone: spec.Zone, Hypervisor: spec.Hypervisor, Version: version, OS: spec.OS,
		Arch: spec.Arch, Source: *spec.Source, Options: spec.Template, Life: LifeOf(spec.Stage, spec.ExpirationDate),
	}
	return e
}

// HypervisorIn is the hypervisor that the images of a zone were made for; empty unless it is the same for all of them.
func HypervisorIn(zone infrav1.ZoneReference, existing []Existing) infrav1.Hypervisor {
	var found infrav1.Hypervisor
	for i := range existing {
		switch e := &existing[i].Entry; {
		case e.Zone != zone || e.Hypervisor == "":
		case found == "":
			found = e.Hypervisor
		case found != e.Hypervisor:
			return ""
		}
	}
	return found
}

// ChangedContent gives the images whose content a catalog would change although they have been imported. Zones whose
// hypervisor is not known count with the one that their images have.
func ChangedContent(catalog string, spec *infrav1.TemplateCatalogSpec, existing []Existing) []Item {
	completed := spec.DeepCopy()
	for i := range completed.Zones {
		if zone := &completed.Zones[i]; zone.Hypervisor == "" {
			zone.Hypervisor = HypervisorIn(zone.ZoneReference, existing)
		}
	}
	entries, errs := Expand(completed)
	if len(errs) > 0 {
		return nil // what is invalid changes nothing
	}
	plan := MakePlan(PlanInput{Catalog: catalog, Desired: entries, Existing: existing})
	return plan.Changed
}

// DescribeChanged tells a person which images keep their content, and what to do.
func DescribeChanged(changed []Item) string {
	names := make([]string, 0, len(changed))
	for _, item := range changed {
		names = append(names, fmt.Sprintf("%s %s in %s", item.Entry.Image, item.Entry.Version, item.Entry.ZoneKey()))
	}
	slices.Sort(names)
	text := strings.Join(names[:min(len(names), maxNear)], ", ")
	if rest := len(names) - maxNear; rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return fmt.Sprintf("imported images cannot change their content (os, arch, source, template): %s; undo the change, or give the changed image a new name", text)
}
