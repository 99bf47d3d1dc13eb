package imagecatalog

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// The checks below repeat what the schema demands of zones and images, for catalogs that no API server has seen.

func checkZones(zones []infrav1.CatalogZone, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(zones) == 0 {
		errs = append(errs, field.Required(at, "a catalog needs at least one zone"))
	}
	for i, zone := range zones {
		if (zone.Name == "") == (zone.ID == "") {
			errs = append(errs, field.Required(at.Index(i), "give either the name or the id of the zone"))
		}
		if zone.Hypervisor != "" {
			errs = append(errs, checkHypervisor(zone.Hypervisor, at.Index(i).Child("hypervisor"))...)
		}
		if slices.Contains(zones[:i], zone) {
			errs = append(errs, field.Duplicate(at.Index(i), zoneKey(zone.ZoneReference)))
		}
	}
	return errs
}

func checkHypervisor(h infrav1.Hypervisor, at *field.Path) field.ErrorList {
	all := append(realHypervisors(), infrav1.HypervisorSimulator)
	if !slices.Contains(all, h) {
		return field.ErrorList{field.NotSupported(at, h, all)}
	}
	return nil
}

func checkImage(image *infrav1.CatalogImage, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsDNS1123Label(image.Name) {
		errs = append(errs, field.Invalid(at.Child("name"), image.Name, problem))
	}
	if image.OS == "" {
		errs = append(errs, field.Required(at.Child("os"), "every image needs an operating system"))
	}
	if arch := []infrav1.Arch{infrav1.ArchX8664, infrav1.ArchAArch64}; !slices.Contains(arch, archOf(image)) {
		errs = append(errs, field.NotSupported(at.Child("arch"), image.Arch, arch))
	}
	stages := []infrav1.Stage{infrav1.StagePreview, infrav1.StageSupported, infrav1.StageDeprecated}
	if image.Stage != "" && !slices.Contains(stages, image.Stage) {
		errs = append(errs, field.NotSupported(at.Child("stage"), image.Stage, stages))
	}
	for i, h := range image.Hypervisors {
		errs = append(errs, checkHypervisor(h, at.Child("hypervisors").Index(i))...)
	}
	for i := range image.Artifacts {
		errs = append(errs, checkHypervisor(image.Artifacts[i].Hypervisor, at.Child("artifacts").Index(i).Child("hypervisor"))...)
	}
	return errs
}
