package imagecatalog

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog/artifact"
)

// urlVariables are what a pattern of an address may use.
func urlVariables() []string {
	return []string{"Version", "Major", "Minor", "Patch", "Hypervisor", "HypervisorDir", "Suffix", "OS", "Arch", "Name"}
}

// patternVariants fills a pattern in for every version and hypervisor of the image.
func patternVariants(image *infrav1.CatalogImage, at *field.Path) ([]variant, field.ErrorList) {
	address, err := parsePattern(image.URL, urlVariables())
	if err != nil {
		return nil, field.ErrorList{field.Invalid(at.Child("url"), image.URL, err.Error())}
	}
	if image.Checksum == nil {
		return nil, field.ErrorList{field.Required(at.Child("checksum"), "a pattern needs a checksum; checksum: {insecureSkip: true} does without")}
	}
	if len(image.KubernetesVersions) == 0 {
		return nil, field.ErrorList{field.Required(at.Child("kubernetesVersions"), "a pattern needs kubernetesVersions")}
	}
	hypervisors := image.Hypervisors
	if len(hypervisors) == 0 {
		hypervisors = append(realHypervisors(), infrav1.HypervisorSimulator)
	}
	f := filler{image: image, address: address, at: at}
	for i, text := range image.KubernetesVersions {
		version, err := ParseVersion(string(text))
		if err != nil {
			f.errs = append(f.errs, field.Invalid(at.Child("kubernetesVersions").Index(i), string(text), err.Error()))
			continue
		}
		for _, h := range hypervisors {
			if !f.add(string(text), version, h) {
				return f.variants, f.errs // one bad pattern is bad for all
			}
		}
	}
	return f.variants, f.errs
}

// filler collects the variants of a pattern.
type filler struct {
	image    *infrav1.CatalogImage
	address  *pattern
	at       *field.Path
	variants []variant
	errs     field.ErrorList
}

func (f *filler) add(text string, version Version, h infrav1.Hypervisor) bool {
	values := valuesFor(f.image, text, version, h)
	address, err := f.address.fill(values)
	if err == nil {
		err = CheckURL(address)
	}
	if err != nil {
		f.errs = append(f.errs, field.Invalid(f.at.Child("url"), f.image.URL, fmt.Sprintf("for version %s on %s: %v", text, h, err)))
		return false
	}
	sum, sumErr := checksumFor(f.image.Checksum, values, address, f.at.Child("checksum"))
	if sumErr != nil {
		f.errs = append(f.errs, sumErr)
		return false
	}
	f.variants = append(f.variants, variant{version: version, hypervisor: h, source: infrav1.ImageSource{
		URLs:     []infrav1.SourceURL{infrav1.SourceURL(address)},
		Checksum: sum,
		Format:   FormatFor(h),
	}})
	return true
}

// valuesFor gives every variable of a pattern. Version is as the catalog spells it, because published names differ in the v.
func valuesFor(image *infrav1.CatalogImage, text string, version Version, h infrav1.Hypervisor) map[string]string {
	facts := factsOf(h)
	return map[string]string{
		"Version":       text,
		"Major":         fmt.Sprint(version.sem.Major()),
		"Minor":         fmt.Sprint(version.sem.Minor()),
		"Patch":         fmt.Sprint(version.sem.Patch()),
		"Hypervisor":    string(h),
		"HypervisorDir": facts.dir,
		"Suffix":        facts.suffix,
		"OS":            string(image.OS),
		"Arch":          string(archOf(image)),
		"Name":          image.Name,
	}
}

// pinnedVariants takes the artifacts of an image as they are; only the URL of a checksum file may be a pattern.
func pinnedVariants(image *infrav1.CatalogImage, at *field.Path) ([]variant, field.ErrorList) {
	var variants []variant
	var errs field.ErrorList
	for i := range image.Artifacts {
		v, artifactErrs := pinnedVariant(image, &image.Artifacts[i], at.Child("artifacts").Index(i))
		errs = append(errs, artifactErrs...)
		if len(artifactErrs) == 0 {
			variants = append(variants, v)
		}
	}
	return groupByVersion(variants), errs
}

func pinnedVariant(image *infrav1.CatalogImage, a *infrav1.CatalogArtifact, at *field.Path) (variant, field.ErrorList) {
	var errs field.ErrorList
	version, err := ParseVersion(string(a.KubernetesVersion))
	if err != nil {
		return variant{}, field.ErrorList{field.Invalid(at.Child("kubernetesVersion"), string(a.KubernetesVersion), err.Error())}
	}
	if len(a.URLs) == 0 {
		return variant{}, field.ErrorList{field.Required(at.Child("urls"), "an artifact needs at least one URL")}
	}
	for i, u := range a.URLs {
		if err := CheckURL(string(u)); err != nil {
			errs = append(errs, field.Invalid(at.Child("urls").Index(i), string(u), err.Error()))
		}
	}
	source := *a.ImageSource.DeepCopy()
	if source.Format == "" {
		source.Format = FormatFor(a.Hypervisor)
	} else if !Takes(a.Hypervisor, source.Format) {
		errs = append(errs, field.Invalid(at.Child("format"), string(a.Format), fmt.Sprintf("%s does not take this format, it takes %s", a.Hypervisor, artifact.Either(factsOf(a.Hypervisor).formats))))
	}
	values := valuesFor(image, string(a.KubernetesVersion), version, a.Hypervisor)
	sum, sumErr := checksumFor(&a.Checksum, values, string(a.URLs[0]), at.Child("checksum"))
	if sumErr != nil {
		errs = append(errs, sumErr)
	}
	source.Checksum = sum
	return variant{version: version, hypervisor: a.Hypervisor, source: source}, errs
}

// groupByVersion brings the variants of a version together and keeps the order otherwise.
func groupByVersion(variants []variant) []variant {
	groups := map[string][]variant{}
	var order []string
	for _, v := range variants {
		key := v.version.String()
		if _, known := groups[key]; !known {
			order = append(order, key)
		}
		groups[key] = append(groups[key], v)
	}
	out := make([]variant, 0, len(variants))
	for _, key := range order {
		out = append(out, groups[key]...)
	}
	return out
}

// checksumFor fills in the URL of a checksum file.
func checksumFor(sum *infrav1.Checksum, values map[string]string, address string, at *field.Path) (infrav1.Checksum, *field.Error) {
	out := *sum
	if err := checkChecksum(sum); err != nil {
		return out, field.Invalid(at, describeChecksum(sum), err.Error())
	}
	if out.URL == "" {
		return out, nil
	}
	p, err := parsePattern(out.URL, append(urlVariables(), "URL"))
	if err == nil {
		values["URL"] = address
		out.URL, err = p.fill(values)
	}
	if err == nil {
		err = CheckURL(out.URL)
	}
	if err != nil {
		return out, field.Invalid(at.Child("url"), sum.URL, err.Error())
	}
	return out, nil
}

// CheckURL says why a text is not the address of an image: http or https, a host, a path, no user name, no blanks.
func CheckURL(text string) error {
	if len(text) > maxURL {
		return errTooLong
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '{' || r == '}' }) {
		return fmt.Errorf("the URL contains blanks, control characters or braces")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("not a URL")
	case !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://"): // as the schema has it, in small letters
		return fmt.Errorf("the URL must begin with http:// or https://")
	case u.Hostname() == "":
		return fmt.Errorf("the URL has no host")
	case u.User != nil:
		return fmt.Errorf("the URL must not contain a user name or password")
	case u.Path == "" || u.Path == "/":
		return fmt.Errorf("the URL names no file")
	}
	return nil
}
