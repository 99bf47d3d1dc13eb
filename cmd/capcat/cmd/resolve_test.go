package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const resolveCatalog = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TemplateCatalog
metadata: {name: site}
spec:
  identityRef: {name: cloudstack}
  zones: [{name: k1, hypervisor: KVM}, {name: k2, hypervisor: KVM}, {name: v, hypervisor: VMware}]
  retention: {keepPatchesPerMinor: 1}
  images:
  - name: ubuntu
    os: ubuntu-24.04
    kubernetesVersions: [v1.31.7, v1.32.2, v1.32.3]
    url: "http://h/{{.HypervisorDir}}/u-{{.Version}}.{{.Suffix}}"
    checksum: {url: "{{.URL}}.md5", allowWeak: true}
  - name: rocky
    os: rocky-9
    artifacts:
    - {kubernetesVersion: v1.31.7, hypervisor: KVM, urls: ["http://h/r.qcow2"], checksum: {insecureSkip: true}}
    - {kubernetesVersion: v1.33.1+k3s1, hypervisor: KVM, urls: ["http://h/k3s1.qcow2"], checksum: {insecureSkip: true}}
    - {kubernetesVersion: v1.33.1+k3s2, hypervisor: KVM, urls: ["http://h/k3s2.qcow2"], checksum: {insecureSkip: true}}
  - name: old
    os: ubuntu-20.04
    stage: Deprecated
    expirationDate: 2030-01-01T00:00:00Z
    artifacts: [{kubernetesVersion: v1.24.10, hypervisor: KVM, urls: ["http://h/old.qcow2"], checksum: {insecureSkip: true}}]
`

func runResolve(t *testing.T, catalog string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "catalog.yaml")
	if err := os.WriteFile(file, []byte(catalog), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code = Execute(t.Context(), append([]string{"resolve", "-f", file}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestResolveCommand(t *testing.T) {
	tests := map[string]struct {
		args   string
		code   int
		result string // "Result Reason image zones" of the answer
		stdout string // part of the text
		stderr string // part of the complaint
	}{
		"found in one zone":           {args: "--version v1.32.3 --zone k1", result: "Found ubuntu k1"},
		"found in two zones":          {args: "--version 1.32.3 --hypervisor kvm", result: "Found ubuntu k1,k2", stdout: "http://h/kvm/u-v1.32.3.qcow2.bz2"},
		"found for VMware":            {args: "--version v1.32.3 --hypervisor VMware", result: "Found ubuntu v", stdout: "Format:"},
		"found by os":                 {args: "--version v1.31.7 --os rocky-9 --arch amd64", result: "Found rocky k1,k2", stdout: "none (insecureSkip)"},
		"found and deprecated":        {args: "--version v1.24.10 --at 2029-01-01T00:00:00Z", result: "Found old k1,k2", stdout: "deprecated and expires on 2030-01-01"},
		"found beyond retention":      {args: "--version v1.32.2 --zone v", result: "Found ubuntu v", stdout: "retention does not keep"},
		"newest build":                {args: "--version v1.33.1 --newest-build", result: "Found rocky k1,k2", stdout: "k3s2.qcow2"},
		"expired":                     {args: "--version v1.24.10 --at 2030-01-01T00:00:00Z", code: 3, result: "NotFound Expired"},
		"unknown version":             {args: "--version v1.32.30", code: 3, result: "NotFound VersionUnknown", stdout: "v1.32.3"},
		"unknown build":               {args: "--version v1.33.1+k3s3", code: 3, result: "NotFound BuildUnknown"},
		"known, but not in that zone": {args: "--version v1.33.1+k3s1 --zone v", code: 3, result: "NotFound NotInZone", stdout: "it is in k1, k2"},
		"known, but not for that os":  {args: "--version v1.32.3 --os rocky-9", code: 3, result: "NotFound NotForOS"},
		"several systems":             {args: "--version v1.31.7 --zone k1", code: 4, result: "Ambiguous", stdout: "ask for an operating system (rocky-9, ubuntu-24.04)"},
		"several builds":              {args: "--version v1.33.1", code: 4, result: "Ambiguous", stdout: "several builds"},
		"several hypervisors":         {args: "--version v1.32.3", code: 4, result: "Ambiguous", stdout: "ask for a hypervisor (KVM, VMware)"},
		"no version":                  {args: "", code: 1, stderr: "needs --file and --version"},
		"a version that is none":      {args: "--version latest", code: 1, stderr: "three numbers"},
		"a package's revision":        {args: "--version 1.29.6-1.1", code: 1, stderr: "write v1.29.6"},
		"an unknown architecture":     {args: "--version v1.32.3 --arch riscv", code: 1, stderr: "unknown architecture"},
		"an unknown hypervisor":       {args: "--version v1.32.3 --hypervisor Xen", code: 1, stderr: "unknown hypervisor"},
		"an unknown format":           {args: "--version v1.32.3 -o xml", code: 1, stderr: "unknown output format"},
		"a time that is none":         {args: "--version v1.32.3 --at tomorrow", code: 1, stderr: "is not a time"},
		"a word too many":             {args: "--version v1.32.3 now", code: 1, stderr: "unknown command"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			args := strings.Fields(tc.args)
			code, text, complaint := runResolve(t, resolveCatalog, args...)
			if code != tc.code {
				t.Errorf("Exit code = %d, want %d (%s)", code, tc.code, complaint)
			}
			if !strings.Contains(text, tc.stdout) {
				t.Errorf("Output lacks %q:\n%s", tc.stdout, text)
			}
			if tc.stderr != "" || complaint != "" {
				if tc.stderr == "" || !strings.Contains(complaint, tc.stderr) {
					t.Errorf("Complaint = %q, want %q in it", complaint, tc.stderr)
				}
				return
			}
			expectResult(t, tc.result, tc.code, args)
		})
	}
}

// expectResult asks again for JSON.
func expectResult(t *testing.T, want string, wantCode int, args []string) {
	t.Helper()
	code, text, _ := runResolve(t, resolveCatalog, append(args, "-o", "json")...)
	if code != wantCode {
		t.Errorf("Exit code with JSON = %d, want %d", code, wantCode)
	}
	var r resolution
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("Output is not JSON: %v\n%s", err, text)
	}
	got := []string{r.Result}
	if r.Reason != "" {
		got = append(got, r.Reason)
	}
	if r.Artifact != nil {
		got = append(got, r.Artifact.Image, strings.Join(r.Artifact.Zones, ","))
	}
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("Answer (-want +got):\n%s", diff)
	}
	if r.Result == "Ambiguous" && len(r.Candidates) < 2 {
		t.Errorf("An ambiguous answer with the candidates %v", r.Candidates)
	}
	if r.Result == "NotFound" && len(r.Candidates) == 0 {
		t.Error("An answer of nothing without what comes near")
	}
}

func TestResolveCommandRefusesBadCatalogs(t *testing.T) {
	tests := map[string]struct{ from, to, want string }{
		"an unknown field":       {"zones:", "regions: []\n  zones:", `unknown field "spec.regions"`},
		"an unknown variable":    {"{{.Version}}", "{{.Verison}}", "unknown variable .Verison"},
		"another kind":           {"kind: TemplateCatalog", "kind: ConfigMap", "no TemplateCatalog"},
		"a version that is none": {"v1.32.2,", "1.32,", "kubernetesVersions"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			code, out, complaint := runResolve(t, strings.Replace(resolveCatalog, tc.from, tc.to, 1), "--version", "v1.32.3")
			if code != 1 || out != "" || !strings.Contains(complaint, tc.want) {
				t.Errorf("Exit code %d, output %q, complaint %q, want 1 and %q", code, out, complaint, tc.want)
			}
		})
	}
	if code := Execute(t.Context(), []string{"resolve", "-f", filepath.Join(t.TempDir(), "none.yaml"), "--version", "v1.2.3"}, &bytes.Buffer{}, &bytes.Buffer{}); code != 1 {
		t.Errorf("Exit code for a missing file = %d, want 1", code)
	}
}
