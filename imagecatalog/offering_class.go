package imagecatalog

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// ClassOf gives what the class of that name means for a version in these catalogs, and says in words where that stands.
// Catalogs that say the same are one; a catalog whose class has no rule for the version does not count. The error is a
// *SizeError.
func ClassOf(catalogs []infrav1.TemplateCatalog, class string, version Version) (infrav1.OfferingChoice, string, error) {
	type saying struct {
		catalog string
		choice  infrav1.OfferingChoice
	}
	var said []saying
	var silent, classes []string
	for i := range catalogs {
		for j := range catalogs[i].Spec.OfferingClasses {
			c := &catalogs[i].Spec.OfferingClasses[j]
			classes = append(classes, c.Name)
			if c.Name != class {
				continue
			}
			choice, ok := Offering(c, version)
			if !ok {
				silent = append(silent, catalogs[i].Name)
				continue
			}
			said = append(said, saying{catalogs[i].Name, choice})
		}
	}
	slices.SortFunc(said, func(a, b saying) int { return strings.Compare(a.catalog, b.catalog) })
	switch {
	case len(said) > 0:
		for _, other := range said[1:] {
			if !equality.Semantic.DeepEqual(other.choice, said[0].choice) {
				return infrav1.OfferingChoice{}, "", &SizeError{infrav1.ReasonOfferingAmbiguous,
					fmt.Sprintf("the catalogs %s and %s differ in what the class %q means for %s", said[0].catalog, other.catalog, class, version)}
			}
		}
		return said[0].choice, fmt.Sprintf("class %s of catalog %s for %s", class, said[0].catalog, version), nil
	case len(silent) > 0:
		slices.Sort(silent)
		return infrav1.OfferingChoice{}, "", &SizeError{infrav1.ReasonOfferingClassNotFound,
			fmt.Sprintf("the class %q of catalog %s has no rule for %s", class, shortList(silent), version)}
	}
	slices.Sort(classes)
	return infrav1.OfferingChoice{}, "", &SizeError{infrav1.ReasonOfferingClassNotFound,
		fmt.Sprintf("no catalog has an offering class %q; there are: %s", class, shortList(slices.Compact(classes)))}
}
