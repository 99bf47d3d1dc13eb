package index_test

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/index"
)

var update = flag.Bool("update", false, "write the golden files")

// image is a valid one for a hypervisor.
func image(hypervisor, version string) index.Image {
	format := map[string]string{"KVM": "QCOW2", "VMware": "OVA", "XenServer": "VHD"}[hypervisor]
	suffix := strings.ToLower(format)
	return index.Image{
		Name: "debian-12", KubernetesVersion: version, OS: "debian-12", Arch: "x86_64", Hypervisor: hypervisor, Format: format, Compression: "none",
		URLs: []string{"debian-12-kube-" + version + "." + suffix}, SizeBytes: 1000, VirtualSizeBytes: 4096,
		Digests: map[artifact.Algorithm]string{"sha256": strings.Repeat("ab", 32), "sha512": strings.Repeat("cd", 64)},
		OSType:  "Debian GNU/Linux 12 (64-bit)", SBOM: "debian-12-kube-" + version + ".spdx.json",
	}
}

func TestEncode(t *testing.T) {
	x, err := index.Index{Revision: 6}.Merge([]index.Image{image("VMware", "v1.33.10"), image("KVM", "v1.33.10"), image("KVM", "v1.33.9"), image("XenServer", "v1.34.0-rc.1")})
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.Encode()
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/index.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	back, err := index.ParseStrict(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(x, back); diff != "" {
		t.Error(diff)
	}
}

func TestEmptyIndexIsAList(t *testing.T) {
	got, err := index.Index{}.Encode()
	if err != nil || !strings.Contains(string(got), `"images": []`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestMerge(t *testing.T) {
	old, err := index.Index{}.Merge([]index.Image{image("KVM", "v1.33.1")})
	if err != nil || old.Revision != 1 {
		t.Fatalf("%+v, %v", old, err)
	}
	changed := image("KVM", "v1.33.1")
	changed.Digests = map[artifact.Algorithm]string{"sha256": strings.Repeat("00", 32)}
	moved := image("KVM", "v1.33.1")
	moved.URLs = []string{"elsewhere.qcow2"}
	for name, c := range map[string]struct {
		more     []index.Image
		revision int64
		images   int
		err      error
	}{
		"nothing":            {nil, 1, 1, nil},
		"the same":           {[]index.Image{image("KVM", "v1.33.1")}, 1, 1, nil},
		"the same elsewhere": {[]index.Image{moved}, 1, 1, nil},
		"another version":    {[]index.Image{image("KVM", "v1.33.2")}, 2, 2, nil},
		"another hypervisor": {[]index.Image{image("VMware", "v1.33.1"), image("KVM", "v1.33.1")}, 2, 2, nil},
		"other content":      {[]index.Image{changed}, 0, 0, index.ErrOther},
		"other content, two": {[]index.Image{image("KVM", "v1.33.2"), changed}, 0, 0, index.ErrOther},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := old.Merge(c.more)
			if !errors.Is(err, c.err) || got.Revision != c.revision || len(got.Images) != c.images {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*index.Image)
		want   string
	}{
		"no name":          {func(i *index.Image) { i.Name = "" }, "name and os"},
		"no version":       {func(i *index.Image) { i.KubernetesVersion = "1.33" }, "kubernetesVersion"},
		"unknown arch":     {func(i *index.Image) { i.Arch = "mips" }, "arch"},
		"wrong format":     {func(i *index.Image) { i.Format = "VHD" }, "does not take"},
		"no size":          {func(i *index.Image) { i.SizeBytes = 0 }, "more than 0"},
		"no address":       {func(i *index.Image) { i.URLs = nil }, "0 urls"},
		"file address":     {func(i *index.Image) { i.URLs = []string{"file:///etc/passwd"} }, "urls"},
		"parent folder":    {func(i *index.Image) { i.URLs = []string{"../secret.qcow2"} }, "leaves the folder"},
		"hidden parent":    {func(i *index.Image) { i.URLs = []string{"%2e%2e/secret.qcow2"} }, "leaves the folder"},
		"absolute path":    {func(i *index.Image) { i.URLs = []string{"/etc/passwd"} }, "not relative"},
		"other host":       {func(i *index.Image) { i.URLs = []string{"//evil.example.org/a.qcow2"} }, "not relative"},
		"credentials":      {func(i *index.Image) { i.URLs = []string{"https://me:secret@example.org/a.qcow2"} }, "urls"},
		"query":            {func(i *index.Image) { i.URLs = []string{"a.qcow2?x=1"} }, "not relative"},
		"backslash":        {func(i *index.Image) { i.URLs = []string{`..\a.qcow2`} }, "leaves the folder"},
		"no sha256":        {func(i *index.Image) { i.Digests = map[artifact.Algorithm]string{"sha512": strings.Repeat("cd", 64)} }, "sha256 is missing"},
		"short digest":     {func(i *index.Image) { i.Digests = map[artifact.Algorithm]string{"sha256": "abcd"} }, "digests"},
		"upper-case hex":   {func(i *index.Image) { i.Digests = map[artifact.Algorithm]string{"sha256": strings.Repeat("AB", 32)} }, "digests"},
		"sbom in parent":   {func(i *index.Image) { i.SBOM = "../x" }, "sbom"},
		"unknown alphabet": {func(i *index.Image) { i.Digests["crc32"] = "00000000" }, "digests"},
	} {
		t.Run(name, func(t *testing.T) {
			i := image("KVM", "v1.33.1")
			c.change(&i)
			if _, err := (index.Index{Images: []index.Image{i}}).Encode(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text            string
		lenient, strict bool
	}{
		"least":         {`{"format":"capcat-image-index/v1","revision":1,"images":[]}`, true, true},
		"newer field":   {`{"format":"capcat-image-index/v1","revision":1,"images":[],"mirrors":["x"]}`, true, false},
		"newer format":  {`{"format":"capcat-image-index/v2","revision":1,"images":[]}`, false, false},
		"no format":     {`{"revision":1,"images":[]}`, false, false},
		"page":          {`<html></html>`, false, false},
		"nothing":       {``, false, false},
		"below nothing": {`{"format":"capcat-image-index/v1","revision":-1,"images":[]}`, false, false},
		"huge":          {`{"format":"capcat-image-index/v1","x":"` + strings.Repeat("x", index.MaxBytes) + `"}`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := index.Parse([]byte(c.text)); (err == nil) != c.lenient {
				t.Errorf("Parse: %v", err)
			}
			if _, err := index.ParseStrict([]byte(c.text)); (err == nil) != c.strict {
				t.Errorf("ParseStrict: %v", err)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	for _, c := range [][3]string{
		{"https://h.example.org/nodes", "a.qcow2", "https://h.example.org/nodes/a.qcow2"},
		{"https://h.example.org/nodes/", "sub/a.qcow2", "https://h.example.org/nodes/sub/a.qcow2"},
		{"https://h.example.org", index.Reference("v1.33.1+k3s1.qcow2"), "https://h.example.org/v1.33.1+k3s1.qcow2"},
		{"https://h.example.org", index.Reference("a b.qcow2"), "https://h.example.org/a%20b.qcow2"},
		{"https://h.example.org", "https://mirror.example.org/a.qcow2", "https://mirror.example.org/a.qcow2"},
	} {
		if got, err := index.Resolve(c[0], c[1]); err != nil || got != c[2] {
			t.Errorf("%s below %s is %s (%v), want %s", c[1], c[0], got, err, c[2])
		}
	}
}
