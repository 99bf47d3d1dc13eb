package imagecatalog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/imagecatalog"
)

const catalogText = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TemplateCatalog
metadata: {name: one}
spec:
  identityRef: {name: cloudstack}
  zones: [{name: z, hypervisor: KVM}]
  images: [{name: u, os: o, kubernetesVersions: [v1.32.3], url: "http://h/{{.Version}}", checksum: {insecureSkip: true}}]
`

// listText is a list as kubectl get prints it.
func listText(items ...string) string {
	out := "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: \"\"}\nitems:\n"
	for _, item := range items {
		out += "- " + strings.ReplaceAll(strings.TrimSpace(item), "\n", "\n  ") + "\n"
	}
	return out
}

func TestDecodeCatalogs(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: cloudstack}\n"
	tests := map[string]struct {
		text string
		want []string // names
		err  string   // part of the error
	}{
		"one":                     {text: catalogText, want: []string{"one"}},
		"among others":            {text: secret + "---\n# a comment\n---" + catalogText + "---" + strings.Replace(catalogText, "name: one", "name: two", 1), want: []string{"one", "two"}},
		"a date without quotes":   {text: strings.Replace(catalogText, "os: o", "os: o, expirationDate: 2030-01-01T00:00:00Z", 1), want: []string{"one"}},
		"with its status":         {text: catalogText + "status: {images: {total: 1, ready: 1, failed: 0}}\n", want: []string{"one"}},
		"a list":                  {text: listText(secret, catalogText, strings.Replace(catalogText, "name: one", "name: two", 1)), want: []string{"one", "two"}},
		"a list with a fault":     {text: listText(secret, catalogText+"  imagse: []\n"), err: `items[1]: unknown field "spec.imagse"`},
		"a list of others":        {text: listText(secret), err: "no TemplateCatalog"},
		"an empty list":           {text: listText(), err: "no TemplateCatalog"},
		"nothing":                 {text: "", err: "no TemplateCatalog"},
		"only others":             {text: secret, err: "no TemplateCatalog"},
		"no YAML":                 {text: "a: [", err: "document 1"},
		"no object":               {text: "- a\n", err: "document 1"},
		"no kind":                 {text: "spec: {}\n", err: "kind is missing"},
		"another version":         {text: strings.Replace(catalogText, "v1beta2", "v1beta3", 1), err: "want infrastructure.cluster.x-k8s.io/v1beta2"},
		"an unknown field":        {text: catalogText + "  imagse: []\n", err: `unknown field "spec.imagse"`},
		"a field in other case":   {text: strings.Replace(catalogText, "zones:", "Zones:", 1), err: `unknown field "spec.Zones"`},
		"a field twice":           {text: catalogText + "  zones: []\n", err: `already set`},
		"a list that is a text":   {text: strings.Replace(catalogText, "[{name: z, hypervisor: KVM}]", "z", 1), err: "document 1"},
		"a bad pattern":           {text: strings.Replace(catalogText, "{{.Version}}", "{{.Vresion}}", 1), err: "unknown variable .Vresion"},
		"an unknown hypervisor":   {text: strings.Replace(catalogText, "hypervisor: KVM", "hypervisor: kvm", 1), err: `spec.zones[0].hypervisor: Unsupported value: "kvm"`},
		"no zones":                {text: strings.Replace(catalogText, "[{name: z, hypervisor: KVM}]", "[]", 1), err: "at least one zone"},
		"a zone twice":            {text: strings.Replace(catalogText, "[{name: z,", "[{name: z, hypervisor: KVM}, {name: z,", 1), err: "spec.zones[1]: Duplicate"},
		"an image without a name": {text: strings.Replace(catalogText, "name: u, ", "", 1), err: "spec.images[0].name"},
		"an unknown architecture": {text: strings.Replace(catalogText, "os: o", "os: o, arch: amd64", 1), err: "images[0].arch: Unsupported"},
		"an unknown stage":        {text: strings.Replace(catalogText, "os: o", "os: o, stage: Old", 1), err: "images[0].stage: Unsupported"},
		"two of one name":         {text: catalogText + "---" + catalogText, err: "two catalogs have the name one"},
		"larger than any catalog": {text: "#" + strings.Repeat(" ", imagecatalog.MaxCatalogFile), err: "larger than"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			catalogs, err := imagecatalog.DecodeCatalogs(strings.NewReader(tc.text))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("Error = %v, want %q in it", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("DecodeCatalogs: %v", err)
			}
			var names []string
			for _, c := range catalogs {
				names = append(names, c.Name)
			}
			if diff := cmp.Diff(tc.want, names); diff != "" {
				t.Errorf("Catalogs (-want +got):\n%s", diff)
			}
		})
	}
}
