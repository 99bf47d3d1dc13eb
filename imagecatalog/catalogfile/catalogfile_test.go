package catalogfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func newEntry(t *testing.T, address string, comments ...string) Entry {
	t.Helper()
	image := infrav1.CatalogImage{Name: "new", OS: "debian-12", Arch: "x86_64", Artifacts: []infrav1.CatalogArtifact{{
		KubernetesVersion: "v1.36.3", Hypervisor: "KVM", ImageSource: infrav1.ImageSource{
			URLs:     []infrav1.SourceURL{infrav1.SourceURL(address)},
			Checksum: infrav1.Checksum{Algorithm: "sha256", Value: strings.Repeat("ab", 32)},
		},
	}}}
	e, err := NewEntry(comments, image)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEntryIsAppended(t *testing.T) {
	entry := newEntry(t, "https://a.example.org/n.qcow2", "# the new one")
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
		"the same name":         {before: head + "  images:\n" + shift(strings.Replace(oldEntry, "old #", "new #", 1), 2), want: "has an entry new of other content"},
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
			err := Put(file, entry)
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
			if diff := cmp.Diff(filled(c.after, dedent(entry.Text)), string(got)); diff != "" {
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

// An entry that is there already gets its addresses, and keeps what people have written into it.
func TestEntryGetsItsAddresses(t *testing.T) {
	const published = "https://b.example.org/n.qcow2"
	built := newEntry(t, PlaceholderURL+"/n.qcow2", "# made here", Note)
	final := newEntry(t, published)
	text := head + "  images:\n" + shift(oldEntry, 2) + built.Text
	edited := strings.Replace(text, "    os: debian-12\n", "    os: debian-12 # mine\n", 1)
	tests := map[string]struct {
		before string
		entry  Entry
		after  string
		want   string // part of the error
	}{
		"addresses":       {before: text, entry: final, after: strings.NewReplacer("  "+Note+"\n", "", PlaceholderURL+"/n.qcow2", published).Replace(text)},
		"edited by hand":  {before: edited, entry: final, after: strings.NewReplacer("  "+Note+"\n", "", PlaceholderURL+"/n.qcow2", published).Replace(edited)},
		"the same again":  {before: head + "  images:\n" + final.Text, entry: final, after: head + "  images:\n" + final.Text},
		"other content":   {before: strings.Replace(text, strings.Repeat("ab", 32), strings.Repeat("cd", 32), 1), entry: final, want: "other content"},
		"another version": {before: strings.Replace(text, "v1.36.3", "v1.36.2", 1), entry: final, want: "other content"},
		"pattern": {before: head + "  images:\n  - {name: new, os: u, url: \"http://h/x\", kubernetesVersions: [v1.2.3], checksum: {insecureSkip: true}}\n",
			entry: final, want: "other content"},
		"another one shares the address": {before: text + strings.Replace(built.Text, "name: new", "name: newer", 1), entry: final, want: "by hand"},
		"one of two":                     {before: text, entry: Entry{Images: append(final.Images, infrav1.CatalogImage{Name: "newer"}), Text: final.Text}, want: "some of the entries"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			file, link := filepath.Join(t.TempDir(), "catalog.yaml"), filepath.Join(t.TempDir(), "link.yaml")
			if err := os.WriteFile(file, []byte(c.before), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(file, link); err != nil {
				t.Fatal(err)
			}
			err := Put(link, c.entry)
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrCatalog) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if c.want != "" {
				c.after = c.before
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.after, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("the mode is %v (%v)", info.Mode(), err)
			}
		})
	}
}

// Builds that end at once all leave their entries.
func TestPutAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "catalog.yaml")
	if err := os.WriteFile(file, []byte(head), 0o644); err != nil {
		t.Fatal(err)
	}
	const builds = 12
	var all sync.WaitGroup
	for i := range builds {
		e := newEntry(t, fmt.Sprintf("https://a.example.org/%d.qcow2", i))
		e.Images[0].Name = fmt.Sprintf("new-%d", i)
		e.Text = strings.Replace(e.Text, "name: new\n", "name: "+e.Images[0].Name+"\n", 1)
		all.Go(func() {
			if err := Put(file, e); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	_, catalog, err := read(file)
	if err != nil || len(catalog.Spec.Images) != builds {
		t.Errorf("%d entries are there, want %d; %v", len(catalog.Spec.Images), builds, err)
	}
}
