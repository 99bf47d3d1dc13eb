package imagecatalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

const digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func specOf(t *testing.T, text string) *infrav1.TemplateCatalogSpec {
	t.Helper()
	spec := &infrav1.TemplateCatalogSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
		t.Fatalf("Decoding the spec: %v\n%s", err, text)
	}
	return spec
}

// line puts an entry on one line: what is where, and where it comes from.
func line(e *imagecatalog.Entry) string {
	sum := e.Source.Checksum.URL
	if sum == "" {
		sum = string(e.Source.Checksum.Algorithm)
	}
	return strings.Join([]string{e.Image, e.Version.String(), string(e.Hypervisor), e.ZoneKey(), string(e.Source.Format), string(e.Source.URLs[0]), sum}, " ")
}

func TestExpand(t *testing.T) {
	tests := map[string]struct {
		spec string
		want []string
	}{
		"the published images": {
			spec: `
zones: [{name: k, hypervisor: KVM}, {name: v, hypervisor: VMware}, {id: x1, hypervisor: XenServer}]
images:
- name: u
  os: ubuntu-24.04
  kubernetesVersions: [v1.32.3]
  url: "http://h/{{.HypervisorDir}}/ubuntu-2404-kube-{{.Version}}-{{.HypervisorDir}}.{{.Suffix}}"
  checksum: {url: "{{.URL}}.md5", allowWeak: true}
`,
			want: []string{
				"u v1.32.3 KVM k QCOW2 http://h/kvm/ubuntu-2404-kube-v1.32.3-kvm.qcow2.bz2 http://h/kvm/ubuntu-2404-kube-v1.32.3-kvm.qcow2.bz2.md5",
				"u v1.32.3 VMware v OVA http://h/vmware/ubuntu-2404-kube-v1.32.3-vmware.ova http://h/vmware/ubuntu-2404-kube-v1.32.3-vmware.ova.md5",
				"u v1.32.3 XenServer x1 VHD http://h/xen/ubuntu-2404-kube-v1.32.3-xen.vhd.bz2 http://h/xen/ubuntu-2404-kube-v1.32.3-xen.vhd.bz2.md5",
			},
		},
		"versions as the catalog spells them": {
			spec: `
zones: [{name: k, hypervisor: KVM}]
images:
- {name: u, os: o, kubernetesVersions: ["1.32.3", v1.33.0-rc.1+b], url: "http://h/{{.Version}}/{{.Major}}.{{.Minor}}.{{.Patch}}", checksum: {insecureSkip: true}}
`,
			want: []string{
				"u v1.32.3 KVM k QCOW2 http://h/1.32.3/1.32.3 ",
				"u v1.33.0-rc.1+b KVM k QCOW2 http://h/v1.33.0-rc.1+b/1.33.0 ",
			},
		},
		"functions and a choice": {
			spec: `
zones: [{name: k, hypervisor: KVM}, {name: v, hypervisor: VMware}]
images:
- name: u
  os: Ubuntu-24.04
  kubernetesVersions: [v1.32.3]
  url: '{{if eq .Hypervisor "KVM"}}http://kvm{{else}}http://other{{end}}/{{lower .OS | replace "." ""}}/{{trimPrefix "v" .Version}}/{{.Arch}}/{{.Name}}'
  checksum: {insecureSkip: true}
`,
			want: []string{
				"u v1.32.3 KVM k QCOW2 http://kvm/ubuntu-2404/1.32.3/x86_64/u ",
				"u v1.32.3 VMware v OVA http://other/ubuntu-2404/1.32.3/x86_64/u ",
			},
		},
		"a pattern for one hypervisor": {
			spec: `
zones: [{name: k, hypervisor: KVM}, {name: v, hypervisor: VMware}]
images: [{name: u, os: o, hypervisors: [VMware], kubernetesVersions: [v1.32.3], url: "http://h/a.ova", checksum: {insecureSkip: true}}]
`,
			want: []string{"u v1.32.3 VMware v OVA http://h/a.ova "},
		},
		"pinned artifacts go where their hypervisor is": {
			spec: `
zones: [{name: k, hypervisor: KVM}, {name: k2, hypervisor: KVM}, {name: x, hypervisor: XenServer}]
images:
- name: u
  os: o
  artifacts:
  - {kubernetesVersion: v1.33.1, hypervisor: KVM, format: RAW, urls: ["https://a/u.raw", "https://b/u.raw"], checksum: {algorithm: sha256, value: ` + digest + `}}
  - {kubernetesVersion: v1.33.1, hypervisor: VMware, urls: ["https://a/u.ova"], checksum: {url: "{{.URL}}.sha256"}}
  - {kubernetesVersion: 1.32.0, hypervisor: XenServer, urls: ["https://a/u.vhd"], checksum: {url: "{{.URL}}.sha256"}}
`,
			want: []string{
				"u v1.33.1 KVM k RAW https://a/u.raw sha256",
				"u v1.33.1 KVM k2 RAW https://a/u.raw sha256",
				"u v1.32.0 XenServer x VHD https://a/u.vhd https://a/u.vhd.sha256",
			},
		},
		"a zone that does not tell its hypervisor, and a source that does not care": {
			spec: `
zones: [{name: z}]
images: [{name: u, os: o, kubernetesVersions: [v1.32.3], url: "http://h/{{.Version}}.img", checksum: {insecureSkip: true}}]
`,
			want: []string{"u v1.32.3  z  http://h/v1.32.3.img "},
		},
		"a zone that does not tell its hypervisor, and a source that needs it": {
			spec: `
zones: [{name: z}]
images: [{name: u, os: o, kubernetesVersions: [v1.32.3], url: "http://h/a.{{.Suffix}}", checksum: {insecureSkip: true}}]
`,
			want: []string{
				"u v1.32.3 KVM z QCOW2 http://h/a.qcow2.bz2 ",
				"u v1.32.3 VMware z OVA http://h/a.ova ",
				"u v1.32.3 XenServer z VHD http://h/a.vhd.bz2 ",
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			entries, errs := imagecatalog.Expand(specOf(t, tc.spec))
			if len(errs) > 0 {
				t.Fatalf("Expand: %v", errs.ToAggregate())
			}
			var got []string
			for i := range entries {
				got = append(got, line(&entries[i]))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Entries (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExpandRefuses(t *testing.T) {
	pattern := func(url, checksum string) string {
		return fmt.Sprintf("{name: u, os: o, kubernetesVersions: [v1.32.3], url: '%s', checksum: %s}", url, checksum)
	}
	pinned := func(fields string) string {
		return "{name: u, os: o, artifacts: [{kubernetesVersion: v1.32.3, hypervisor: KVM, " + fields + "}]}"
	}
	const skip = "{insecureSkip: true}"
	tests := map[string]struct {
		images string
		want   []string // parts of the error
	}{
		"an unknown variable":              {pattern("http://h/{{.Versoin}}", skip), []string{"spec.images[0].url", "unknown variable .Versoin", "known are Version"}},
		"the variable of the checksum":     {pattern("http://h/{{.URL}}", skip), []string{"unknown variable .URL"}},
		"a variable within a variable":     {pattern("http://h/{{.Version.Major}}", skip), []string{"unknown variable .Version.Major"}},
		"everything at once":               {pattern("http://h/{{.}}", skip), []string{"not possible in a pattern"}},
		"an unclosed action":               {pattern("http://h/{{.Version", skip), []string{"not a template"}},
		"formatting":                       {pattern(`http://h/{{printf "%1000000000d" 1}}`, skip), []string{"unknown function printf"}},
		"a call":                           {pattern(`http://h/{{call .Version}}`, skip), []string{"unknown function call"}},
		"an unknown function":              {pattern(`http://h/{{env "HOME"}}`, skip), []string{"not a template"}},
		"a loop":                           {pattern(`http://h/{{range .Version}}x{{end}}`, skip), []string{"not possible in a pattern"}},
		"a loop over a number":             {pattern(`http://h/{{range 1000000000}}x{{end}}`, skip), []string{"not possible in a pattern"}},
		"another template":                 {pattern(`http://h/{{define "a"}}x{{end}}{{template "a"}}`, skip), []string{"must not define templates"}},
		"a variable of its own":            {pattern(`http://h/{{$x := .Version}}{{$x}}`, skip), []string{"must not declare variables"}},
		"text that grows":                  {pattern(`http://h/{{replace "" "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" (replace "" "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" .Version)}}`, skip), []string{"longer than 2048"}},
		"another scheme":                   {pattern("ftp://h/{{.Version}}", skip), []string{"http:// or https://"}},
		"a file of the manager":            {pattern("file:///etc/passwd", skip), []string{"http:// or https://"}},
		"a scheme in capitals":             {pattern("HTTPS://h/{{.Version}}", skip), []string{"http:// or https://"}},
		"no host":                          {pattern("http:///a", skip), []string{"no host"}},
		"no file":                          {pattern("http://h/", skip), []string{"names no file"}},
		"a user":                           {pattern("http://me:secret@h/a", skip), []string{"user name"}},
		"a blank":                          {pattern("http://h/my image", skip), []string{"blanks"}},
		"the checksum file elsewhere":      {pattern("http://h/a", `{url: "ftp://h/a.md5"}`), []string{"spec.images[0].checksum.url", "http:// or https://"}},
		"a wrong variable in the checksum": {pattern("http://h/a", `{url: "{{.Url}}.md5"}`), []string{"checksum.url", "unknown variable .Url"}},
		"nothing vouches":                  {pattern("http://h/a", "{}"), []string{"exactly one of value"}},
		"no checksum":                      {"{name: u, os: o, kubernetesVersions: [v1.32.3], url: 'http://h/a'}", []string{"checksum: Required"}},
		"no versions":                      {"{name: u, os: o, url: 'http://h/a', checksum: {insecureSkip: true}}", []string{"kubernetesVersions: Required"}},
		"a weak digest":                    {pattern("http://h/a", "{algorithm: md5, value: d41d8cd98f00b204e9800998ecf8427e}"), []string{"allowWeak: true"}},
		"a short digest":                   {pattern("http://h/a", "{algorithm: sha256, value: abcd}"), []string{"sha256 has 64 hex digits"}},
		"a bare digest":                    {pattern("http://h/a", "{value: "+digest+"}"), []string{"value needs its algorithm"}},
		"a version that is none":           {"{name: u, os: o, kubernetesVersions: [stable], url: 'http://h/a', checksum: {insecureSkip: true}}", []string{"kubernetesVersions[0]", "stable"}},
		"a version of a package":           {strings.Replace(pinned("urls: ['http://h/a'], checksum: "+skip), "v1.32.3", "1.29.6-1.1", 1), []string{"artifacts[0].kubernetesVersion", "v1.29.6"}},
		"one version spelled twice":        {"{name: u, os: o, kubernetesVersions: [v1.32.3, 1.32.3], url: 'http://h/a', checksum: {insecureSkip: true}}", []string{"kubernetesVersions[1]: Duplicate"}},
		"one name twice":                   {pattern("http://h/a", skip) + "," + pattern("http://h/b", skip), []string{"images[1].name: Duplicate"}},
		"a format nobody can run":          {pinned("format: VHD, urls: ['http://h/a'], checksum: " + skip), []string{"artifacts[0].format", "KVM does not take this format, it takes QCOW2 or RAW"}},
		"an artifact that is a pattern":    {pinned("urls: ['http://h/{{.Version}}'], checksum: " + skip), []string{"artifacts[0].urls[0]", "braces"}},
		"an artifact without source":       {pinned("checksum: " + skip), []string{"urls: Required"}},
		"neither pattern nor artifacts":    {"{name: u, os: o}", []string{"either a pattern"}},
		"both pattern and artifacts":       {strings.Replace(pinned("urls: ['http://h/a'], checksum: "+skip), "os: o", "os: o, url: 'http://h/b'", 1), []string{"not both"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, errs := imagecatalog.Expand(specOf(t, "zones: [{name: z, hypervisor: KVM}]\nimages: ["+tc.images+"]\n"))
			if len(errs) == 0 {
				t.Fatalf("Expand accepted it, want an error with %q", tc.want)
			}
			for _, want := range tc.want {
				if text := errs.ToAggregate().Error(); !strings.Contains(text, want) {
					t.Errorf("Error = %s\nwant %q in it", text, want)
				}
			}
		})
	}
}

func TestExpandIsBounded(t *testing.T) {
	spec := specOf(t, "zones: [{name: z, hypervisor: KVM}]")
	for i := range 200 {
		image := infrav1.CatalogImage{Name: fmt.Sprint("i", i), OS: "o", URL: "http://h/{{.Version}}", Checksum: &infrav1.Checksum{InsecureSkip: true}}
		for j := range 50 {
			image.KubernetesVersions = append(image.KubernetesVersions, infrav1.KubernetesVersion(fmt.Sprintf("v1.%d.0", j)))
		}
		spec.Images = append(spec.Images, image)
	}
	if _, errs := imagecatalog.Expand(spec); len(errs) == 0 || !strings.Contains(errs[0].Error(), "Too many") {
		t.Errorf("Expand = %v, want an error about too many images", errs)
	}
}

func TestObjectName(t *testing.T) {
	spec := specOf(t, `
zones: [{name: "Zone A (old)", hypervisor: KVM}, {name: zone-b, hypervisor: KVM}, {id: 0b9d1c6e-8a55-4b2e-9b0f-111111111111, hypervisor: KVM}]
images:
- {name: ubuntu-2404, os: o, kubernetesVersions: [v1.32.3, v1.32.3+k3s1, v1.32.3-k3s1], url: "http://h/{{.Version}}", checksum: {insecureSkip: true}}
- {name: a-name-that-is-as-long-as-the-schema-lets-it-be-which-is-63-let, os: o, kubernetesVersions: [v1.32.3], url: "http://h/{{.Version}}", checksum: {insecureSkip: true}}
`)
	entries, errs := imagecatalog.Expand(spec)
	if len(errs) > 0 {
		t.Fatalf("Expand: %v", errs.ToAggregate())
	}
	seen := map[string]bool{}
	for _, catalog := range []string{"one", "two"} {
		for i := range entries {
			name := imagecatalog.ObjectName(catalog, &entries[i])
			if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
				t.Errorf("Name %q: %v", name, problems)
			}
			if seen[name] {
				t.Errorf("Name %q stands for two images", name)
			}
			seen[name] = true
		}
	}
	if got, want := imagecatalog.ObjectName("one", &entries[0]), "ubuntu-2404-v1-32-3-zone-a-old-"; !strings.HasPrefix(got, want) {
		t.Errorf("Name = %q, want it to start with %q", got, want)
	}
	changed := entries[0]
	changed.Source.URLs = []infrav1.SourceURL{"http://elsewhere/x"}
	if imagecatalog.ObjectName("one", &changed) != imagecatalog.ObjectName("one", &entries[0]) {
		t.Errorf("The name depends on the source, want it to stay when content is changed")
	}
}
