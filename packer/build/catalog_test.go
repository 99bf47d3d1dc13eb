package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

const head = `# mine
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TemplateCatalog
metadata: {name: mine}
spec:
  identityRef: {name: cloudstack}
  zones: [{name: zone-a}]
`

const oldEntry = `- name: old # kept
  os: ubuntu-24.04
  artifacts:
  - kubernetesVersion: v1.33.1
    hypervisor: KVM
    urls: ["https://a.example.org/u.qcow2"]
    checksum: {insecureSkip: true}
`

func newEntry(t *testing.T) (infrav1.CatalogImage, string) {
	t.Helper()
	image := infrav1.CatalogImage{Name: "new", OS: "debian-12", Arch: "x86_64", Artifacts: []infrav1.CatalogArtifact{{
		KubernetesVersion: "v1.36.3", Hypervisor: "KVM", ImageSource: infrav1.ImageSource{
			URLs:     []infrav1.SourceURL{"https://a.example.org/n.qcow2"},
			Checksum: infrav1.Checksum{Algorithm: "sha256", Value: strings.Repeat("ab", 32)},
		},
	}}}
	text, err := yaml.Marshal([]infrav1.CatalogImage{image})
	if err != nil {
		t.Fatal(err)
	}
	return image, "# the new one\n" + string(text)
}

func TestEntryIsAppended(t *testing.T) {
	image, entry := newEntry(t)
	tests := map[string]struct {
		before string
		after  string // with NEW for the entry, indented by what stands before it
		want   string // part of the error
	}{
		"no images yet":         {before: head, after: strings.Replace(head, "  identityRef", "  images:\n  NEW\n  identityRef", 1)},
		"empty list":            {before: head + "  images: []\n  suspend: true\n", after: head + "  images:\n  NEW\n  suspend: true\n"},
		"list at its key":       {before: head + "  images:\n" + shift(oldEntry, 2) + "  suspend: true # for now\n", after: head + "  images:\n" + shift(oldEntry, 2) + "  NEW\n  suspend: true # for now\n"},
		"indented list":         {before: head + "  images: # all\n" + shift(oldEntry, 6), after: head + "  images: # all\n" + shift(oldEntry, 6) + "      NEW\n"},
		"comments between":      {before: head + "  images:\n\n  # first\n" + shift(oldEntry, 4) + "\n# the end\n", after: head + "  images:\n\n  # first\n" + shift(oldEntry, 4) + "    NEW\n\n# the end\n"},
		"no newline at the end": {before: strings.TrimSuffix(head+"  images:\n"+shift(oldEntry, 2), "\n"), after: head + "  images:\n" + shift(oldEntry, 2) + "  NEW\n"},
		"another object behind": {before: head + "  images:\n" + shift(oldEntry, 2) + "---\nkind: Secret\n", after: head + "  images:\n" + shift(oldEntry, 2) + "  NEW\n---\nkind: Secret\n"},
		"flow style":            {before: head + "  images: [{name: u, os: u, url: \"http://h/x\", kubernetesVersions: [v1.2.3], checksum: {insecureSkip: true}}]\n", want: "one item a line"},
		"all in flow style":     {before: "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: TemplateCatalog, metadata: {name: x}, spec: {identityRef: {name: c}, zones: [{name: z}]}}\n", want: "spec"},
		"the same name":         {before: head + "  images:\n" + shift(strings.Replace(oldEntry, "old #", "new #", 1), 2), want: "has an entry new already"},
		"two catalogs":          {before: head + "---\n" + strings.Replace(head, "name: mine", "name: other", 1), want: "2 catalogs"},
		"no catalog":            {before: "kind: Secret\n", want: "holds no TemplateCatalog"},
		"broken":                {before: "kind: [", want: "catalog was left as it is"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "catalog.yaml")
			if err := os.WriteFile(file, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
			err := appendEntry(file, entry, image)
			got, readErr := os.ReadFile(file)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				if diff := cmp.Diff(c.before, string(got)); diff != "" {
					t.Errorf("the file was changed:\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(filled(c.after, entry), string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// filled puts the entry in place of NEW, with what stands before it on every line.
func filled(text, entry string) string {
	at := strings.Index(text, "NEW\n")
	line := strings.LastIndexByte(text[:at], '\n') + 1
	return text[:line] + shift(entry, at-line) + text[at+len("NEW\n"):]
}

func TestSettingsAreRead(t *testing.T) {
	tests := map[string]struct {
		text string
		want settings
		err  string
	}{
		"strings": {text: "# c\na = \"x # y\" // z\n\nb=3\n", want: settings{text: map[string]string{"a": "x # y", "b": "3"}}},
		"list":    {text: "l = [\n  \"v1\", # new\n  \"v2\"\n]\nm = [\"a\", \"b\"]\nn = []\n", want: settings{list: map[string][]string{"l": {"v1", "v2"}, "m": {"a", "b"}}}},
		"map":     {text: "d = {\n  amd64 = \"x\"\n  \"arm64\" = \"y\",\n}\n", want: settings{dict: map[string]map[string]string{"d": {"amd64": "x", "arm64": "y"}}}},
		"no end":  {text: "d = {\n", err: "d is not closed"},
		"no sign": {text: "\nhello\n", err: "line 2: \"hello\" is no assignment"},
		"escapes": {text: "a = \"x\\n\"\n", err: "no plain string"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseSettings(strings.NewReader(c.text))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []struct {
				name      string
				want, got any
				empty     bool
			}{
				{"text", c.want.text, got.text, len(c.want.text)+len(got.text) == 0},
				{"list", c.want.list, got.list, len(c.want.list)+len(got.list) == 0},
				{"dict", c.want.dict, got.dict, len(c.want.dict)+len(got.dict) == 0},
			} {
				if diff := cmp.Diff(want.want, want.got); diff != "" && !want.empty {
					t.Errorf("%s (-want +got):\n%s", want.name, diff)
				}
			}
		})
	}
}

func TestSeenByGuest(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:8080/m":      "http://10.0.2.2:8080/m",
		"http://localhost/m":           "http://10.0.2.2/m",
		"http://[::1]:80":              "http://10.0.2.2:80",
		"https://mirror.example.com/m": "https://mirror.example.com/m",
		"http://10.1.2.3:80/m":         "http://10.1.2.3:80/m",
	} {
		if got := seenByGuest(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

func TestEntryNames(t *testing.T) {
	for name, want := range map[string]string{
		"debian-12-kube-v1.36.3":        "debian-12-kube-v1-36-3",
		"Mine_A.":                       "mine-a",
		strings.Repeat("a", 70):         strings.Repeat("a", 63),
		strings.Repeat("a.", 31) + ".x": strings.TrimSuffix(strings.Repeat("a-", 31), "-"),
	} {
		if got := entryName(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
