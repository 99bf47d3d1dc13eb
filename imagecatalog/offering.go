package imagecatalog

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// Offering gives what a class of a catalog chooses for a version: the first rule that fits. A pre-release counts as the
// release it precedes. Nothing is found where the class has no rule for the version.
func Offering(class *infrav1.OfferingClass, version Version) (infrav1.OfferingChoice, bool) {
	release := semver.New(version.sem.Major(), version.sem.Minor(), version.sem.Patch(), "", "")
	for _, rule := range class.Rules {
		if rule.KubernetesVersions == "" {
			return rule.Offering, true
		}
		if fits, err := semver.NewConstraint(rule.KubernetesVersions); err == nil && fits.Check(release) {
			return rule.Offering, true
		}
	}
	return infrav1.OfferingChoice{}, false
}

// ValidateOfferings finds ranges that cannot be read and rules that are never reached.
func ValidateOfferings(spec *infrav1.TemplateCatalogSpec) field.ErrorList {
	var errs field.ErrorList
	for i := range spec.OfferingClasses {
		at := field.NewPath("spec", "offeringClasses").Index(i).Child("rules")
		rules := spec.OfferingClasses[i].Rules
		for j := range rules {
			text := rules[j].KubernetesVersions
			if text == "" && j < len(rules)-1 {
				errs = append(errs, field.Invalid(at.Index(j), "", "a rule without kubernetesVersions fits every version, so it must be the last"))
			}
			if text == "" {
				continue
			}
			if _, err := semver.NewConstraint(text); err != nil {
				errs = append(errs, field.Invalid(at.Index(j).Child("kubernetesVersions"), text, fmt.Sprintf("not a range of versions: %v", err)))
			}
		}
	}
	return errs
}
