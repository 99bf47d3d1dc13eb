package imagecatalog_test

import (
	"testing"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

// FuzzExpand gives Expand whatever a person may write as a pattern: it answers with bounded URLs or with errors.
func FuzzExpand(f *testing.F) {
	for _, seed := range [][3]string{
		{"http://h/{{.HypervisorDir}}/u-{{.Version}}.{{.Suffix}}", "{{.URL}}.md5", "v1.32.3"},
		{`http://h/{{if eq .Hypervisor "KVM"}}a{{else}}b{{end}}`, "http://h/{{lower .OS}}", "1.33.0-rc.1+b"},
		{`http://h/{{replace "" "xxxxxxxxxxxxxxxx" (replace "1" "xxxxxxxx" .Version)}}`, "{{", "1.29.6-1.1"},
		{`{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`, `{{printf "%999999999d" 1}}`, "v1"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, url, checksum, version string) {
		spec := &infrav1.TemplateCatalogSpec{
			Zones: []infrav1.CatalogZone{{ZoneReference: infrav1.ZoneReference{Name: "z"}}},
			Images: []infrav1.CatalogImage{{
				Name: "u", OS: "o", URL: url, KubernetesVersions: []infrav1.KubernetesVersion{infrav1.KubernetesVersion(version)},
				Checksum: &infrav1.Checksum{URL: checksum},
			}},
		}
		entries, errs := imagecatalog.Expand(spec)
		if len(errs) > 0 {
			return
		}
		for i := range entries {
			e := &entries[i]
			for _, u := range []string{string(e.Source.URLs[0]), e.Source.Checksum.URL} {
				if err := imagecatalog.CheckURL(u); err != nil {
					t.Errorf("Expand gave %q: %v", u, err)
				}
			}
			if again, err := imagecatalog.ParseVersion(e.Version.String()); err != nil || !again.Equal(e.Version) {
				t.Errorf("Version %s does not survive: %v, %v", e.Version, again, err)
			}
		}
	})
}
