package v1beta2_test

import (
	"fmt"
	"strings"
	"testing"
)

const catalogHead = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TemplateCatalog
metadata: {name: zone-a, namespace: default}
spec:
  identityRef: {name: cloudstack}
`

const (
	pattern  = `{name: u, os: ubuntu-24.04, kubernetesVersions: [v1.32.3], url: "http://h/{{.Version}}", checksum: {url: "{{.URL}}.md5", allowWeak: true}}`
	digest64 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
)

func artifact(fields string) string {
	return `{name: u, os: ubuntu-24.04, artifacts: [{kubernetesVersion: v1.33.1, hypervisor: KVM, ` + fields + `}]}`
}

func withChecksum(fields string) string {
	return artifact(`urls: ["https://a.example.org/u.qcow2"], checksum: ` + fields)
}

func withVersion(version string) string {
	return strings.Replace(withChecksum("{insecureSkip: true}"), "v1.33.1", version, 1)
}

func TestTemplateCatalogAdmission(t *testing.T) {
	long := strings.Repeat("a", 64)
	tests := map[string]struct {
		zones  string // [{name: zone-a}] when empty
		images string // list items in flow style
		more   string // further fields of the spec
		name   string // of the catalog
		want   string // part of the error; empty when the object is admitted
	}{
		"a pattern":                          {images: pattern},
		"no images yet":                      {images: ""},
		"pinned artifacts":                   {images: withChecksum("{algorithm: sha256, value: " + digest64 + "}")},
		"pattern and artifacts":              {images: strings.Replace(withChecksum("{insecureSkip: true}"), "os:", `url: "http://h/x", os:`, 1), want: "either a pattern"},
		"neither pattern nor artifacts":      {images: `{name: u, os: ubuntu-24.04}`, want: "either a pattern"},
		"pattern without versions":           {images: `{name: u, os: u, url: "http://h/x", checksum: {insecureSkip: true}}`, want: "needs kubernetesVersions"},
		"pattern without checksum":           {images: `{name: u, os: u, url: "http://h/x", kubernetesVersions: [v1.32.3]}`, want: "needs a checksum"},
		"artifacts with kubernetesVersions":  {images: strings.Replace(withChecksum("{insecureSkip: true}"), "os:", `kubernetesVersions: [v1.2.3], os:`, 1), want: "belong to a pattern"},
		"pattern for named hypervisors":      {images: strings.Replace(pattern, "os:", "hypervisors: [KVM, VMware], os:", 1)},
		"artifacts with hypervisors":         {images: strings.Replace(withChecksum("{insecureSkip: true}"), "os:", "hypervisors: [KVM], os:", 1), want: "belong to a pattern"},
		"the same entry twice":               {images: pattern + "," + pattern, want: "Duplicate value"},
		"artifact without checksum":          {images: artifact(`urls: ["https://a.example.org/u.qcow2"]`), want: "checksum: Required value"},
		"artifact without urls":              {images: artifact(`checksum: {insecureSkip: true}`), want: "urls: Required value"},
		"entry without os":                   {images: `{name: u, kubernetesVersions: [v1.32.3], url: "http://h/x", checksum: {insecureSkip: true}}`, want: "os: Required value"},
		"unknown architecture":               {images: strings.Replace(pattern, "os:", "arch: amd64, os:", 1), want: `supported values: "x86_64", "aarch64"`},
		"known architecture":                 {images: strings.Replace(pattern, "os:", "arch: aarch64, os:", 1)},
		"upper-case digest":                  {images: withChecksum("{algorithm: sha256, value: " + strings.ToUpper(digest64) + "}")},
		"digest of another length":           {images: withChecksum("{algorithm: sha512, value: " + digest64 + "}"), want: "does not have the length of the algorithm"},
		"digest with its algorithm inside":   {images: withChecksum(`{algorithm: sha256, value: "sha256:` + digest64[:57] + `"}`), want: "hex digits alone"},
		"digest without algorithm":           {images: withChecksum("{value: " + digest64 + "}"), want: "value needs its algorithm"},
		"algorithm of a checksum file":       {images: withChecksum(`{algorithm: sha256, url: "https://h/sums"}`)},
		"algorithm of nothing":               {images: withChecksum("{algorithm: sha256, insecureSkip: true}"), want: "algorithm belongs to"},
		"digest and checksum file":           {images: withChecksum(`{algorithm: sha256, value: ` + digest64 + `, url: "https://h/sums"}`), want: "exactly one of value"},
		"nothing vouches":                    {images: withChecksum("{allowWeak: true}"), want: "exactly one of value"},
		"nothing vouches, on purpose":        {images: withChecksum("{insecureSkip: true}")},
		"skip and digest":                    {images: withChecksum("{insecureSkip: true, algorithm: sha256, value: " + digest64 + "}"), want: "exactly one of value"},
		"weak digest":                        {images: withChecksum("{algorithm: md5, value: " + digest64[:32] + "}"), want: "md5 and sha1 are weak"},
		"weak digest, allowed":               {images: withChecksum("{algorithm: sha1, allowWeak: true, value: " + digest64[:40] + "}")},
		"unknown algorithm":                  {images: withChecksum("{algorithm: crc32, value: " + digest64[:32] + "}"), want: "Unsupported value"},
		"version without v":                  {images: withVersion("1.33.1")},
		"pre-release":                        {images: withVersion("v1.33.0-rc.1")},
		"build":                              {images: withVersion("v1.33.1+k3s1")},
		"FIPS build as pre-release":          {images: withVersion("v1.21.8-fips.0")},
		"version of two parts":               {images: withVersion(`"v1.33"`), want: "three numbers"},
		"version of four parts":              {images: withVersion("1.2.3.4"), want: "three numbers"},
		"version that is a word":             {images: withVersion("stable"), want: "three numbers"},
		"version that is a range":            {images: withVersion(`">=1.33.0"`), want: "three numbers"},
		"underscore instead of plus":         {images: withVersion("v1.32.0-alpha.0.156_983875b2f5bf64"), want: "three numbers"},
		"capital V":                          {images: withVersion("V1.33.1"), want: "three numbers"},
		"Debian package revision":            {images: withVersion("1.29.6-1.1"), want: "package revision"},
		"ftp source":                         {images: artifact(`urls: ["ftp://a/u.qcow2"], checksum: {insecureSkip: true}`), want: "http or https URL"},
		"credentials in the source":          {images: artifact(`urls: ["https://me:pw@a.example.org/u.qcow2"], checksum: {insecureSkip: true}`), want: "should match"},
		"source without path":                {images: artifact(`urls: ["https://a.example.org"], checksum: {insecureSkip: true}`), want: "should match"},
		"source with a blank":                {images: artifact(`urls: ["https://a.example.org/my image"], checksum: {insecureSkip: true}`), want: "should match"},
		"reserved detail":                    {images: strings.Replace(pattern, "os:", "template: {details: {capcat.owner: me}}, os:", 1), want: "reserved 'capcat.'"},
		"ordinary detail":                    {images: strings.Replace(pattern, "os:", "template: {details: {rootDiskController: virtio}}, os:", 1)},
		"stage Expired is not set by people": {images: strings.Replace(pattern, "os:", "stage: Expired, os:", 1), want: "Unsupported value"},
		"no zones":                           {zones: "[]", images: pattern, want: "should have at least 1 items"},
		"zone by id":                         {zones: "[{id: 1b9d}]", images: pattern},
		"zone by name and id":                {zones: "[{name: a, id: b}]", images: pattern, want: "either the name or the id"},
		"zone without name":                  {zones: "[{hypervisor: KVM}]", images: pattern, want: "either the name or the id"},
		"zone twice":                         {zones: "[{name: a, hypervisor: KVM}, {name: a, hypervisor: KVM}]", images: pattern, want: "same zone and hypervisor twice"},
		"zone with two hypervisors":          {zones: "[{name: a, hypervisor: KVM}, {name: a, hypervisor: VMware}]", images: pattern},
		"owner is a project":                 {images: pattern, more: "owner: {project: k8s}"},
		"owner is an account":                {images: pattern, more: "owner: {domain: ROOT/team, account: team}"},
		"owner is half an account":           {images: pattern, more: "owner: {account: team}", want: "domain and account together"},
		"owner is both":                      {images: pattern, more: "owner: {project: k8s, domain: ROOT, account: team}", want: "domain and account together"},
		"limits as quantities":               {images: pattern, more: "limits: {maxOutput: 20Gi, maxVirtualSize: 107374182400, maxDownload: 1.5Gi}"},
		"limit of zero for downloads":        {images: pattern, more: "limits: {maxDownload: 0}", want: "maxDownload must be a size above zero"},
		"limit of zero for outputs":          {images: pattern, more: `limits: {maxOutput: "-1"}`, want: "maxOutput must be a size above zero"},
		"limit of zero for disks":            {images: pattern, more: "limits: {maxVirtualSize: 0Gi}", want: "maxVirtualSize must be a size above zero"},
		"own names of Secret keys":           {images: pattern, more: "identityRef: {name: cloudstack, keys: {apiURL: url}}"},
		"offering class":                     {images: pattern, more: "offeringClasses: [{name: cp, rules: [{offering: {minimum: {cpu: 2, memory: 2Gi}}}]}]"},
		"offering chosen twice":              {images: pattern, more: "offeringClasses: [{name: cp, rules: [{offering: {name: a, id: b}}]}]", want: "exactly one of name, id or minimum"},
		"unknown delivery":                   {images: pattern, more: "delivery: {mode: Push}", want: "Unsupported value"},
		"keep no patch":                      {images: pattern, more: "retention: {keepPatchesPerMinor: 0}", want: "should be greater than or equal to 1"},
		"name of 63 characters":              {images: pattern, name: long[:63]},
		"name of 64 characters":              {images: pattern, name: long, want: "at most 63 characters"},
	}
	a := newAdmission(t, "templatecatalogs")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			zones := tc.zones
			if zones == "" {
				zones = "[{name: zone-a}]"
			}
			head := catalogHead
			if strings.HasPrefix(tc.more, "identityRef") {
				head = strings.Replace(head, "  identityRef: {name: cloudstack}\n", "", 1)
			}
			if tc.name != "" {
				head = strings.Replace(head, "zone-a", tc.name, 1)
			}
			object := fmt.Sprintf("%s  zones: %s\n  images: [%s]\n  %s\n", head, zones, tc.images, tc.more)
			expectAnswer(t, a.review(t, object, "").ToAggregate(), tc.want)
		})
	}
}

func expectAnswer(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("Refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("Admitted, want an error with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("Error = %v, want one with %q", err, want)
	}
}

// TestLargeCatalogCost makes sure that a catalog larger than anybody needs stays far inside the budget of one request.
func TestLargeCatalogCost(t *testing.T) {
	var images []string
	for i := range 200 {
		var artifacts []string
		for j := range 12 {
			artifacts = append(artifacts, fmt.Sprintf(`{kubernetesVersion: v1.%d.%d, hypervisor: KVM, urls: ["https://a.example.org/images/ubuntu-%d-%d.qcow2.bz2"], checksum: {algorithm: sha256, value: %s}}`, 20+j, i, i, j, digest64))
		}
		images = append(images, fmt.Sprintf(`{name: image-%d, os: ubuntu-24.04, artifacts: [%s]}`, i, strings.Join(artifacts, ",")))
	}
	object := fmt.Sprintf("%s  zones: [{name: a}, {name: b}, {name: c}]\n  images: [%s]\n", catalogHead, strings.Join(images, ","))
	errs, cost := newAdmission(t, "templatecatalogs").reviewWithCost(t, object, "")
	if err := errs.ToAggregate(); err != nil {
		t.Fatalf("Refused: %v", err)
	}
	if limit := int64(2_000_000); cost > limit {
		t.Errorf("Cost = %d, want at most %d", cost, limit)
	}
}
