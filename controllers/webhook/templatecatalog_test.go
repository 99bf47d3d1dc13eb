package webhook_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/webhook"
	"github.com/capcat/capcat/imagecatalog"
)

const catalogText = `
metadata: {name: c, namespace: n, uid: u1}
spec:
  identityRef: {name: cloudstack}
  zones: [{name: z}]
  images:
  - name: ubuntu
    os: ubuntu-24.04
    kubernetesVersions: [v1.32.3, v1.33.1]
    url: 'http://h/{{.Version}}.{{.Suffix}}'
    checksum: {insecureSkip: true}
`

func catalogOf(t *testing.T, text string) *infrav1.TemplateCatalog {
	t.Helper()
	c := &infrav1.TemplateCatalog{}
	if err := yaml.UnmarshalStrict([]byte(text), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// importedImage is the object of v1.32.3 on KVM, as the catalog controller makes it.
func importedImage(t *testing.T, owner *infrav1.TemplateCatalog) *infrav1.CloudStackImage {
	t.Helper()
	spec := owner.Spec.DeepCopy()
	spec.Zones[0].Hypervisor = infrav1.HypervisorKVM
	entries, errs := imagecatalog.Expand(spec)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	e := &entries[0]
	image := &infrav1.CloudStackImage{}
	image.Name, image.Namespace = imagecatalog.ObjectName(owner.Name, e), owner.Namespace
	image.Labels = map[string]string{infrav1.LabelCatalog: owner.Name, infrav1.LabelCatalogImage: e.Image}
	image.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, infrav1.GroupVersion.WithKind("TemplateCatalog"))}
	image.Spec = infrav1.CloudStackImageSpec{
		Zone: e.Zone, Hypervisor: e.Hypervisor, KubernetesVersion: e.Version.API(), OS: e.OS, Arch: e.Arch, Source: &e.Source, Template: e.Options,
	}
	image.Status.ContentDigest = "sha256:00"
	return image
}

func TestTemplateCatalogWebhook(t *testing.T) {
	tests := map[string]struct {
		from, to string // replacements in catalogText
		create   bool
		deleting bool
		want     string // part of the refusal
		warning  string
	}{
		"a new catalog":                     {create: true},
		"a new catalog that is no template": {create: true, from: "{{.Version}}", to: "{{.Vresion}}", want: "spec.images[0].url"},
		"a new catalog with a wrong range":  {create: true, from: "  images:", to: "  offeringClasses: [{name: x, rules: [{kubernetesVersions: newer, offering: {name: y}}]}]\n  images:", want: "spec.offeringClasses[0].rules[0].kubernetesVersions"},
		"an image for another hypervisor":   {create: true, from: "[{name: z}]\n  images:\n  - name: ubuntu", to: "[{name: z, hypervisor: KVM}]\n  images:\n  - name: ubuntu\n    hypervisors: [VMware]", warning: "no zone of the catalog"},
		"nothing changes":                   {},
		"a version more":                    {from: "v1.33.1", to: "v1.33.1, v1.34.0"},
		"an imported version less":          {from: "v1.32.3, ", to: ""},
		"the imported image's zone less":    {from: "{name: z}", to: "{name: other}"},
		"another stage":                     {from: "    os:", to: "    stage: Deprecated\n    os:"},
		"another source":                    {from: "http://h/", to: "http://i/", want: "ubuntu v1.32.3 in z"},
		"another source for the others":     {from: "http://h/{{.Version}}", to: `http://{{if eq .Version "v1.32.3"}}h{{else}}i{{end}}/{{.Version}}`},
		"another system":                    {from: "ubuntu-24.04", to: "ubuntu-22.04", want: "cannot change their content"},
		"other options":                     {from: "    os:", to: "    template: {passwordEnabled: true}\n    os:", want: "cannot change their content"},
		"the hypervisor is said at last":    {from: "{name: z}", to: "{name: z, hypervisor: KVM}"},
		"an update that is no template":     {from: "{{.Version}}", to: "{{", want: "spec.images[0].url"},
		"an update of what is going":        {deleting: true, from: "{{.Version}}", to: "{{"},
	}
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := catalogOf(t, catalogText)
			after := catalogOf(t, strings.Replace(catalogText, tc.from, tc.to, 1))
			if tc.deleting {
				now := metav1.Now()
				after.DeletionTimestamp = &now
			}
			w := &webhook.TemplateCatalog{Images: fake.NewClientBuilder().WithScheme(scheme).WithObjects(importedImage(t, before)).Build()}
			validate := func() ([]string, error) { return w.ValidateUpdate(t.Context(), before, after) }
			if tc.create {
				validate = func() ([]string, error) { return w.ValidateCreate(t.Context(), after) }
			}
			warnings, err := validate()
			if got := strings.Join(warnings, "; "); !strings.Contains(got, tc.warning) || tc.warning == "" && got != "" {
				t.Errorf("Warnings = %q, want %q", got, tc.warning)
			}
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("Refused: %v", err)
			case tc.want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("Error = %v, want an invalid object with %q", err, tc.want)
			}
		})
	}
}
