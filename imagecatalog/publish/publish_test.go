package publish_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/imagecatalog"
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/index"
	"github.com/capcat/capcat/imagecatalog/publish"
)

const name = "debian-12-kube-v1.33.1"

// both gives a folder and a bucket, and how to look into them.
func both(t *testing.T) map[string]struct {
	place publish.Place
	files func() map[string]string
} {
	t.Helper()
	dir := t.TempDir()
	folder, err := publish.NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := newBucket(t)
	return map[string]struct {
		place publish.Place
		files func() map[string]string
	}{
		"folder": {folder, func() map[string]string { return names(t, dir) }},
		"bucket": {b.place(t, nil), func() map[string]string { return b.objects }},
	}
}

func options(place publish.Place, key minisign.PrivateKey, builds ...string) publish.Options {
	return publish.Options{Builds: builds, Place: place, Key: key, BaseURL: "https://images.example.com/nodes", Now: time.Unix(1700000000, 0)}
}

func TestRun(t *testing.T) {
	public, private := newKey(t)
	dir := t.TempDir()
	newBuild(t, dir, name, "v1.33.1", 1)
	for where, p := range both(t) {
		t.Run(where, func(t *testing.T) {
			res, err := publish.Run(t.Context(), options(p.place, private, dir))
			if err != nil {
				t.Fatal(err)
			}
			files := p.files()
			want := []string{name + ".catalog-entry.yaml", name + ".spdx.json", "index.1.json.signed", "index.json", "index.json.minisig"}
			for _, o := range outputs {
				want = append(want, name+"."+o.suffix, name+"."+o.suffix+".sha256", name+"."+o.suffix+".sha512")
			}
			slices.Sort(want)
			var have []string
			for f := range files {
				have = append(have, f)
			}
			slices.Sort(have)
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("files: %s", diff)
			}
			if files["index.1.json.signed"] != files["index.json.minisig"]+files["index.json"] {
				t.Error("the revision is not signature and index")
			}
			checkIndex(t, public, files)
			checkEntry(t, res.Entries[0].Text, files)
			again(t, options(p.place, private, dir), res, p.files)
		})
	}
}

func checkIndex(t *testing.T, public minisign.PublicKey, files map[string]string) {
	t.Helper()
	comment, err := index.Verify(public, []byte(files["index.json"]), []byte(files["index.json.minisig"]))
	if err != nil || comment != "timestamp:1700000000\tfile:index.json\thashed" {
		t.Errorf("%q, %v", comment, err)
	}
	x, err := index.ParseStrict([]byte(files["index.json"]))
	if err != nil {
		t.Fatal(err)
	}
	if x.Revision != 1 || len(x.Images) != len(outputs) {
		t.Fatalf("revision %d with %d images", x.Revision, len(x.Images))
	}
	for _, i := range x.Images {
		text, found := files[i.URLs[0]]
		if !found || int64(len(text)) != i.SizeBytes || i.VirtualSizeBytes != 3<<20 || i.KubernetesVersion != "v1.33.1" ||
			i.OS != "debian-12" || i.OSType != "Debian GNU/Linux 12 (64-bit)" || files[i.SBOM] == "" {
			t.Errorf("%+v", i)
		}
		if i.Hypervisor == "XenServer" && i.Compression != "bzip2" {
			t.Errorf("%s is compressed with %s", i.URLs[0], i.Compression)
		}
	}
}

// checkEntry reads the entry as part of a catalog.
func checkEntry(t *testing.T, entry string, files map[string]string) {
	t.Helper()
	if files[name+".catalog-entry.yaml"] != entry || !strings.HasPrefix(entry, "# a comment that stays\n") || strings.Contains(entry, placeholder) {
		t.Errorf("entry:\n%s", entry)
	}
	catalog := "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: TemplateCatalog\nmetadata: {name: c}\nspec:\n  identityRef: {name: s}\n  zones: [{name: z}]\n  images:\n"
	got, err := imagecatalog.DecodeCatalogs(strings.NewReader(catalog + "  " + strings.ReplaceAll(entry, "\n", "\n  ")))
	if err != nil {
		t.Fatal(err)
	}
	if u := got[0].Spec.Images[0].Artifacts[2].URLs[0]; u != "https://images.example.com/nodes/"+name+".vhd.bz2" {
		t.Errorf("address %s", u)
	}
}

// again publishes a second time: nothing may change.
func again(t *testing.T, o publish.Options, before publish.Result, files func() map[string]string) {
	t.Helper()
	want := map[string]string{}
	for k, v := range files() {
		want[k] = v
	}
	o.Now = o.Now.Add(time.Hour)
	res, err := publish.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Uploaded) > 0 || len(res.Kept) != len(before.Uploaded) || res.Index.Revision != 1 {
		t.Errorf("the second run sent %v, kept %v, revision %d", res.Uploaded, res.Kept, res.Index.Revision)
	}
	if diff := cmp.Diff(want, files()); diff != "" {
		t.Errorf("the second run changed %s", diff)
	}
}

func TestSecondBuildIsMerged(t *testing.T) {
	public, private := newKey(t)
	first, second := t.TempDir(), t.TempDir()
	newBuild(t, first, name, "v1.33.1", 1)
	entry := newBuild(t, second, "debian-12-kube-v1.33.2", "v1.33.2", 2)
	for where, p := range both(t) {
		t.Run(where, func(t *testing.T) {
			for _, build := range []string{first, entry} {
				if _, err := publish.Run(t.Context(), options(p.place, private, build)); err != nil {
					t.Fatal(err)
				}
			}
			v, err := publish.Verify(t.Context(), p.place, []minisign.PublicKey{public}, true, nil)
			if err != nil || v.Index.Revision != 2 || len(v.Index.Images) != 6 || len(v.Files) != 6 {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

// TestOtherContent builds something else under the same name: nothing may be sent.
func TestOtherContent(t *testing.T) {
	_, private := newKey(t)
	first, second := t.TempDir(), t.TempDir()
	newBuild(t, first, name, "v1.33.1", 1)
	newBuild(t, second, name, "v1.33.1", 2)
	for where, p := range both(t) {
		t.Run(where, func(t *testing.T) {
			if _, err := publish.Run(t.Context(), options(p.place, private, first)); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for k, v := range p.files() {
				want[k] = v
			}
			if _, err := publish.Run(t.Context(), options(p.place, private, second)); !errors.Is(err, index.ErrOther) {
				t.Errorf("ended with %v", err)
			}
			if diff := cmp.Diff(want, p.files()); diff != "" {
				t.Errorf("it changed %s", diff)
			}
		})
	}
}

// TestForeignFile finds a file that nobody signed.
func TestForeignFile(t *testing.T) {
	_, private := newKey(t)
	dir := t.TempDir()
	newBuild(t, dir, name, "v1.33.1", 1)
	original, err := os.ReadFile(filepath.Join(dir, name+".qcow2"))
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(original)
	flipped[len(flipped)-1] ^= 1
	for what, c := range map[string]struct {
		text string
		want error
	}{
		"same content": {string(original), nil}, "same length": {string(flipped), index.ErrOther}, "cut": {string(original[:99]), index.ErrOther}, "empty": {"", index.ErrOther},
	} {
		t.Run(what, func(t *testing.T) {
			out := t.TempDir()
			write(t, filepath.Join(out, name+".qcow2"), c.text)
			b := newBucket(t)
			b.objects[name+".qcow2"] = c.text
			folder, err := publish.NewFolder(out)
			if err != nil {
				t.Fatal(err)
			}
			for _, place := range []publish.Place{folder, b.place(t, nil)} {
				if _, err := publish.Run(t.Context(), options(place, private, dir)); !errors.Is(err, c.want) {
					t.Errorf("%s: %v", place, err)
				}
			}
			if have := names(t, out)[name+".qcow2"]; have != c.text || b.objects[name+".qcow2"] != c.text {
				t.Error("the file was overwritten")
			}
			if c.want != nil && (len(names(t, out)) != 1 || len(b.objects) != 1) {
				t.Errorf("something was sent: %d and %d files", len(names(t, out)), len(b.objects))
			}
		})
	}
}

func TestBadBuilds(t *testing.T) {
	_, private := newKey(t)
	origin := t.TempDir()
	newBuild(t, origin, name, "v1.33.1", 1)
	for what, c := range map[string]struct {
		spoil func(t *testing.T, dir string)
		want  string
		code  artifact.Code
	}{
		"no build":          {func(t *testing.T, dir string) { remove(t, dir, name+".catalog-entry.yaml") }, "has no build", ""},
		"image is missing":  {func(t *testing.T, dir string) { remove(t, dir, name+".ova") }, "is not among the files", ""},
		"other digest":      {func(t *testing.T, dir string) { edit(t, dir, name+".catalog-entry.yaml", "value: ", "value: 00") }, "", artifact.ChecksumMismatch},
		"changed image":     {func(t *testing.T, dir string) { write(t, filepath.Join(dir, name+".qcow2"), "QFI\xfb") }, "", artifact.ChecksumMismatch},
		"changed side file": {func(t *testing.T, dir string) { write(t, filepath.Join(dir, name+".ova.sha512"), "00  x\n") }, "", artifact.ChecksumMismatch},
		"unknown field": {func(t *testing.T, dir string) {
			edit(t, dir, name+".catalog-entry.yaml", "  os:", "  colour: red\n  os:")
		}, "colour", ""},
		"pattern": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, name+".catalog-entry.yaml"), "- name: a\n  os: b\n  url: https://x.example.org/a\n")
		}, "pattern", ""},
		"no list": {func(t *testing.T, dir string) { write(t, filepath.Join(dir, name+".catalog-entry.yaml"), "hello") }, "reading", ""},
		"wrong hypervisor": {func(t *testing.T, dir string) {
			edit(t, dir, name+".catalog-entry.yaml", "hypervisor: VMware", "hypervisor: XenServer")
		}, "", artifact.FormatMismatch},
		"link": {func(t *testing.T, dir string) {
			remove(t, dir, name+".qcow2")
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, name+".qcow2")); err != nil {
				t.Fatal(err)
			}
		}, "is not among the files", ""},
	} {
		t.Run(what, func(t *testing.T) {
			dir, out := t.TempDir(), t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(origin)); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, dir)
			place, err := publish.NewFolder(out)
			if err != nil {
				t.Fatal(err)
			}
			_, err = publish.Run(t.Context(), options(place, private, dir))
			if err == nil || artifact.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s %q", err, c.code, c.want)
			}
			if left := names(t, out); len(left) > 0 {
				t.Errorf("%d files were published", len(left))
			}
		})
	}
}

// A folder may hold builds of which one's name begins with all of another's.
func TestNeighbourIsLeftOut(t *testing.T) {
	_, private := newKey(t)
	dir := t.TempDir()
	entry := newBuild(t, dir, name, "v1.33.1", 1)
	newBuild(t, dir, name+".rt", "v1.33.1", 2)
	for where, p := range both(t) {
		t.Run(where, func(t *testing.T) {
			if _, err := publish.Run(t.Context(), options(p.place, private, entry)); err != nil {
				t.Fatal(err)
			}
			for file := range p.files() {
				if strings.HasPrefix(file, name+".rt.") {
					t.Errorf("%s was published", file)
				}
			}
			res, err := publish.Run(t.Context(), options(p.place, private, dir))
			if err != nil || len(res.Added) != 6 || len(res.Uploaded) != 11 {
				t.Errorf("both: %d images, sent %q, %v", len(res.Added), res.Uploaded, err)
			}
		})
	}
}

func TestPlaceIsTheFolderOfTheBuild(t *testing.T) {
	_, private := newKey(t)
	dir := t.TempDir()
	newBuild(t, dir, name, "v1.33.1", 1)
	place, err := publish.NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := options(place, private, dir)
	before := len(names(t, dir))
	if _, err := publish.Run(t.Context(), o); !errors.Is(err, index.ErrOther) || !strings.Contains(err.Error(), "build with this --base-url") || strings.Contains(err.Error(), "remove it") {
		t.Errorf("other addresses: %v", err)
	}
	if after := len(names(t, dir)); after != before {
		t.Errorf("there are %d files, and %d were there", after, before)
	}
	o.BaseURL = "" // the addresses of the build
	if res, err := publish.Run(t.Context(), o); err != nil || len(res.Uploaded) != 0 || res.Index.Revision != 1 {
		t.Errorf("the same addresses: sent %q, %v", res.Uploaded, err)
	}
}

func TestBadBaseURL(t *testing.T) {
	_, private := newKey(t)
	dir := t.TempDir()
	newBuild(t, dir, name, "v1.33.1", 1)
	for base, want := range map[string]string{
		"https://h/x?version=1": "without user, query or fragment", "https://h/x#f": "without user, query or fragment",
		"https://me:secret@h/x": "without user, query or fragment", "ftp://h/x": "must begin with http", "nodes": "must begin with http", "http://[::1/x": "cannot be read",
	} {
		place, err := publish.NewFolder(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		o := options(place, private, dir)
		o.BaseURL = base
		_, err = publish.Run(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", base, err, want)
		}
	}
}

func remove(t *testing.T, dir, file string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, file)); err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, dir, file, old, text string) {
	t.Helper()
	before := names(t, dir)[file]
	after := strings.Replace(before, old, text, 1)
	if old == "value: " { // the digest keeps its length
		i := strings.Index(after, text) + len(text)
		after = after[:i] + after[i+2:]
	}
	if before == after {
		t.Fatalf("%s has no %q", file, old)
	}
	write(t, filepath.Join(dir, file), after)
}

func TestStopped(t *testing.T) {
	_, private := newKey(t)
	dir := t.TempDir()
	newBuild(t, dir, name, "v1.33.1", 1)
	for where, p := range both(t) {
		t.Run(where, func(t *testing.T) {
			for n := 1; ; n++ {
				ctx, cancel := context.WithCancel(t.Context())
				o, events := options(p.place, private, dir), 0
				o.Report = func(publish.Event) {
					if events++; events == n {
						cancel()
					}
				}
				_, err := publish.Run(ctx, o)
				cancel()
				files := p.files()
				for f := range files {
					if strings.HasPrefix(f, ".") {
						t.Fatalf("stopped at step %d: %s was left", n, f)
					}
				}
				if err == nil {
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("stopped at step %d: %v", n, err)
				}
			}
			// Every run went on where the one before was cut.
			v, err := publish.Run(t.Context(), options(p.place, private, dir))
			if err != nil || v.Index.Revision != 1 || len(v.Uploaded) != 0 {
				t.Errorf("revision %d, sent %v, %v", v.Index.Revision, v.Uploaded, err)
			}
		})
	}
}
