package imagecatalog_test

import (
	"strings"
	"testing"

	"github.com/capcat/capcat/imagecatalog"
)

const offeringSpec = `
zones: [{name: z, hypervisor: KVM}]
offeringClasses:
- name: cp
  rules:
  - {kubernetesVersions: ">=1.33.0", offering: {name: large}}
  - {kubernetesVersions: "1.31.x", offering: {name: medium}}
  - {offering: {name: small}}
- name: edge
  rules: [{kubernetesVersions: ">=1.32.0 <1.33.0", offering: {name: tiny}}]
`

func TestOffering(t *testing.T) {
	tests := map[string]struct {
		class   int
		version string
		want    string // empty when no rule fits
	}{
		"the first rule that fits":           {class: 0, version: "v1.33.1", want: "large"},
		"a pre-release counts as a release":  {class: 0, version: "v1.33.0-rc.1", want: "large"},
		"a later rule":                       {class: 0, version: "v1.31.9", want: "medium"},
		"the rule for all":                   {class: 0, version: "v1.30.0", want: "small"},
		"no rule":                            {class: 1, version: "v1.33.0"},
		"no rule for a coming minor version": {class: 1, version: "v1.33.0-rc.1"},
		"a range":                            {class: 1, version: "v1.32.7+build", want: "tiny"},
	}
	spec := specOf(t, offeringSpec)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := imagecatalog.Offering(&spec.OfferingClasses[tc.class], version(t, tc.version))
			if ok != (tc.want != "") || got.Name != tc.want {
				t.Errorf("Offering = %q, %v, want %q", got.Name, ok, tc.want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		from, to string
		want     string // part of the error
		warning  string // part of the warning
	}{
		"all is well":                {},
		"a range that is none":       {from: ">=1.33.0", to: "newer", want: "spec.offeringClasses[0].rules[0].kubernetesVersions"},
		"a rule that is not reached": {from: "kubernetesVersions: \"1.31.x\", ", to: "", want: "must be the last"},
		"a pattern that is none":     {from: "offeringClasses:", to: "images: [{name: u, os: o, kubernetesVersions: [v1.2.3], url: '{{', checksum: {insecureSkip: true}}]\nofferingClasses:", want: "spec.images[0].url"},
		"an image without a zone":    {from: "offeringClasses:", to: "images: [{name: u, os: o, hypervisors: [VMware], kubernetesVersions: [v1.2.3], url: 'http://h/a', checksum: {insecureSkip: true}}]\nofferingClasses:", warning: "spec.images[u]: no zone"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			warnings, errs := imagecatalog.Validate(specOf(t, strings.Replace(offeringSpec, tc.from, tc.to, 1)))
			if got := strings.Join(warnings, "; "); tc.warning == "" && got != "" || !strings.Contains(got, tc.warning) {
				t.Errorf("Warnings = %q, want %q", got, tc.warning)
			}
			switch err := errs.ToAggregate(); {
			case tc.want == "" && err != nil:
				t.Errorf("Validate: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("Validate = %v, want an error with %q", err, tc.want)
			}
		})
	}
}
