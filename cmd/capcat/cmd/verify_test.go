package cmd

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const verifyHead = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TemplateCatalog
metadata: {name: site}
spec:
  identityRef: {name: cloudstack}
  zones: [{name: k1, hypervisor: KVM}, {name: k2, hypervisor: KVM}, {name: v, hypervisor: VMware}, {name: x, hypervisor: XenServer}]
  limits: {maxOutput: 128Mi}
  images:
`

// runVerify verifies a catalog of images whose addresses begin with SERVER.
func runVerify(t *testing.T, server *httptest.Server, images string, args ...string) (verification, string, string, int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "catalog.yaml")
	text := strings.ReplaceAll(verifyHead+images, "SERVER", server.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := capcat(t, append([]string{"verify", "-f", file}, args...)...)
	var v verification
	if strings.HasPrefix(stdout, "{") {
		if err := json.Unmarshal([]byte(stdout), &v); err != nil {
			t.Fatal(err)
		}
	}
	return v, stdout, stderr, code
}

func corpusServer(t *testing.T) (*httptest.Server, map[string]int) {
	t.Helper()
	asked := map[string]int{}
	files := http.FileServer(http.Dir(corpus))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server, asked
}

const (
	goodImage  = "  - {name: good, os: u, artifacts: [{kubernetesVersion: v1.31.7, hypervisor: KVM, urls: ['SERVER/none', 'SERVER/node.qcow2.xz?sig=secret'], checksum: {algorithm: sha256, value: SHA}}]}\n"
	weakImage  = "  - {name: weak, os: u, kubernetesVersions: [v1.31.7], hypervisors: [VMware], url: 'SERVER/ova-good.ova', checksum: {url: 'SERVER/sums/upper.sha256'}}\n"
	skipImage  = "  - {name: skip, os: u, artifacts: [{kubernetesVersion: v1.31.7, hypervisor: XenServer, urls: ['SERVER/vhd-dynamic.vhd.bz2'], checksum: {insecureSkip: true}}]}\n"
	badImage   = "  - {name: bad, os: u, artifacts: [{kubernetesVersion: v1.31.7, hypervisor: KVM, urls: ['SERVER/qcow2-backing-v3.qcow2'], checksum: {insecureSkip: true}}]}\n"
	wrongImage = "  - {name: wrong, os: u, artifacts: [{kubernetesVersion: v1.31.7, hypervisor: KVM, urls: ['SERVER/qcow2-v3.qcow2'], checksum: {url: 'SERVER/sums/SHA256SUMS.stale'}}]}\n"
	goneImage  = "  - {name: gone, os: u, artifacts: [{kubernetesVersion: v1.31.7, hypervisor: KVM, urls: ['SERVER/none?sig=secret'], checksum: {insecureSkip: true}}]}\n"
)

func withDigest(t *testing.T, images string) string {
	t.Helper()
	for _, row := range manifest(t) {
		if row["file"] == "node.qcow2.xz" {
			return strings.ReplaceAll(images, "SHA}", row["sha256"]+"}")
		}
	}
	t.Fatal("the corpus lacks the good image")
	return ""
}

func TestVerify(t *testing.T) {
	tests := map[string]struct {
		images string
		code   int
		want   []string // image, zones, verdict and reason
	}{
		"all fine":             {goodImage + weakImage, 0, []string{"good k1,k2 accept ", "weak v accept "}},
		"unproven":             {skipImage, 0, []string{"skip x warn WeakAlgorithm"}},
		"hostile":              {goodImage + badImage, 2, []string{"good k1,k2 accept ", "bad k1,k2 reject BackingFile"}},
		"stale checksum":       {wrongImage, 2, []string{"wrong k1,k2 reject ChecksumMismatch"}},
		"missing":              {goneImage + goodImage, 1, []string{"gone k1,k2 error SourceMissing", "good k1,k2 accept "}},
		"missing and rejected": {goneImage + badImage, 2, []string{"gone k1,k2 error SourceMissing", "bad k1,k2 reject BackingFile"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			server, asked := corpusServer(t)
			images := withDigest(t, tc.images)
			v, stdout, stderr, code := runVerify(t, server, images, "-o", "json")
			if code != tc.code {
				t.Errorf("exit %d, want %d: %s%s", code, tc.code, stdout, stderr)
			}
			var got []string
			for _, i := range v.Images {
				got = append(got, strings.Join([]string{i.Image, strings.Join(i.Zones, ","), i.Verdict, string(i.Reason)}, " "))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if n := asked["/node.qcow2.xz"]; n > 1 {
				t.Errorf("one file was fetched %d times", n)
			}
			_, table, _, code := runVerify(t, server, images)
			if code != tc.code || !strings.HasPrefix(table, "IMAGE") {
				t.Errorf("as text: exit %d, %s", code, table)
			}
			if strings.Contains(stdout+table, "secret") {
				t.Errorf("the output shows a secret:\n%s%s", stdout, table)
			}
		})
	}
}

func TestVerifyCache(t *testing.T) {
	server, asked := corpusServer(t)
	cache := t.TempDir()
	for range 2 {
		if _, _, stderr, code := runVerify(t, server, withDigest(t, goodImage), "--cache", cache); code != 0 {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	}
	if n := asked["/node.qcow2.xz"]; n != 1 {
		t.Errorf("with a cache the file was fetched %d times", n)
	}
}

func TestVerifyRefusesBadInput(t *testing.T) {
	server, _ := corpusServer(t)
	tests := map[string]struct {
		images string
		args   []string
		want   string
	}{
		"an unknown field":  {strings.Replace(skipImage, "os: u", "os: u, colour: red", 1), nil, `unknown field`},
		"an unknown output": {skipImage, []string{"-o", "xml"}, "unknown output format"},
		"a word too many":   {skipImage, []string{"now"}, "unknown command"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, stdout, stderr, code := runVerify(t, server, tc.images, tc.args...); code != 1 || stdout != "" || !strings.Contains(stderr, tc.want) {
				t.Errorf("exit %d, %q, %q", code, stdout, stderr)
			}
		})
	}
	if _, stderr, code := capcat(t, "verify"); code != 1 || !strings.Contains(stderr, "needs --file") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}
