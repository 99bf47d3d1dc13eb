package publish_test

import (
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"aead.dev/minisign"

	"github.com/capcat/capcat/imagecatalog/index"
	"github.com/capcat/capcat/imagecatalog/publish"
)

// TestCutWhileTheIndexIsWritten fails each write of the index in turn; the next run repairs what is there.
func TestCutWhileTheIndexIsWritten(t *testing.T) {
	public, private := newKey(t)
	first, second := t.TempDir(), t.TempDir()
	newBuild(t, first, name, "v1.33.1", 1)
	newBuild(t, second, "debian-12-kube-v1.33.2", "v1.33.2", 2)
	for _, file := range []string{"index.2.json.signed", "index.json.minisig", "index.json"} {
		t.Run(file, func(t *testing.T) {
			b := newBucket(t)
			p := b.place(t, nil)
			if _, err := publish.Run(t.Context(), options(p, private, first)); err != nil {
				t.Fatal(err)
			}
			b.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "/"+file) {
					return false
				}
				w.WriteHeader(http.StatusForbidden)
				return true
			}
			if _, err := publish.Run(t.Context(), options(p, private, second)); err == nil {
				t.Fatal("the cut was not seen")
			}
			b.before = nil
			// Even a run for the first build, which adds nothing, makes the pair whole again.
			if _, err := publish.Run(t.Context(), options(p, private, first)); err != nil {
				t.Fatal(err)
			}
			if _, err := publish.Verify(t.Context(), p, []minisign.PublicKey{public}, true, nil); err != nil {
				t.Fatal(err)
			}
			res, err := publish.Run(t.Context(), options(p, private, second))
			if err != nil || res.Index.Revision != 2 || len(res.Uploaded) > 0 {
				t.Errorf("revision %d, sent %v, %v", res.Index.Revision, res.Uploaded, err)
			}
			if v, err := publish.Verify(t.Context(), p, []minisign.PublicKey{public}, true, nil); err != nil || len(v.Index.Images) != 6 {
				t.Errorf("%d images, %v", len(v.Index.Images), err)
			}
		})
	}
}

// TestTwoAtOnce publishes two builds at the same time, again and again: none may get lost.
func TestTwoAtOnce(t *testing.T) {
	public, private := newKey(t)
	first, second := t.TempDir(), t.TempDir()
	newBuild(t, first, name, "v1.33.1", 1)
	newBuild(t, second, "debian-12-kube-v1.33.2", "v1.33.2", 2)
	for range 5 {
		b := newBucket(t)
		p := b.place(t, nil)
		var both sync.WaitGroup
		for _, dir := range []string{first, second} {
			both.Go(func() {
				if _, err := publish.Run(t.Context(), options(p, private, dir)); err != nil {
					t.Errorf("%s: %v", dir, err)
				}
			})
		}
		both.Wait()
		if v, err := publish.Verify(t.Context(), p, []minisign.PublicKey{public}, false, nil); err != nil || len(v.Index.Images) != 6 || v.Index.Revision != 2 {
			t.Errorf("revision %d with %d images, %v", v.Index.Revision, len(v.Index.Images), err)
		}
	}
}

// TestSignatureOfAnother has somebody else write between the requests of a run, so that signature and index would be of two revisions.
func TestSignatureOfAnother(t *testing.T) {
	public, private := newKey(t)
	first, second := t.TempDir(), t.TempDir()
	newBuild(t, first, name, "v1.33.1", 1)
	newBuild(t, second, "debian-12-kube-v1.33.2", "v1.33.2", 2)
	const signature = index.Name + index.SignatureSuffix
	for what, c := range map[string]struct {
		dir    string
		method string
		file   string
		at     int    // which of these requests
		then   string // what the other writes before the next PUT
	}{
		"the older signature is put back": {dir: first, method: http.MethodGet, file: signature, at: 3, then: index.Name},
		"the newer signature is replaced": {dir: second, method: http.MethodPut, file: index.Name, at: 1},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBucket(t)
			p := b.place(t, nil)
			if _, err := publish.Run(t.Context(), options(p, private, first)); err != nil {
				t.Fatal(err)
			}
			others := newBucket(t)
			others.objects = maps.Clone(b.objects)
			if c.dir == first {
				if _, err := publish.Run(t.Context(), options(others.place(t, nil), private, second)); err != nil {
					t.Fatal(err)
				}
			}
			seen := 0
			b.before = func(_ http.ResponseWriter, r *http.Request) bool {
				switch {
				case seen < c.at && r.Method == c.method && strings.HasSuffix(r.URL.Path, "/"+c.file):
					if seen++; seen == c.at {
						for file, text := range others.objects {
							if file != index.Name {
								b.objects[file] = text
							}
						}
					}
				case seen == c.at && c.then != "" && r.Method == http.MethodPut:
					b.objects[c.then] = others.objects[c.then]
					seen++
				}
				return false
			}
			if _, err := publish.Run(t.Context(), options(p, private, c.dir)); err != nil {
				t.Fatal(err)
			}
			b.before = nil
			if v, err := publish.Verify(t.Context(), p, []minisign.PublicKey{public}, false, nil); err != nil || v.Index.Revision != 2 {
				t.Errorf("revision %d, %v", v.Index.Revision, err)
			}
		})
	}
}

// TestOthersAreFaster writes the index at the last attempt of all.
func TestOthersAreFaster(t *testing.T) {
	_, private := newKey(t)
	for name, c := range map[string]struct {
		times int
		is    error
	}{
		"four times": {4, nil},
		"five times": {5, publish.ErrChanged},
	} {
		t.Run(name, func(t *testing.T) {
			dir, b, times := t.TempDir(), newBucket(t), c.times
			newBuild(t, dir, "debian-12-kube-v1.33.1", "v1.33.1", 1)
			b.before = func(w http.ResponseWriter, r *http.Request) bool {
				if times == 0 || r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, ".signed") {
					return false
				}
				times--
				w.WriteHeader(http.StatusPreconditionFailed)
				return true
			}
			if _, err := publish.Run(t.Context(), options(b.place(t, nil), private, dir)); !errors.Is(err, c.is) {
				t.Errorf("ended with %v, want %v", err, c.is)
			}
		})
	}
}

// A server that knows no conditions lets somebody else write over the index; who was overwritten adds the images again.
func TestOverwrittenIndex(t *testing.T) {
	public, private := newKey(t)
	first, second, third := t.TempDir(), t.TempDir(), t.TempDir()
	newBuild(t, first, name, "v1.33.1", 1)
	newBuild(t, second, "debian-12-kube-v1.33.2", "v1.33.2", 2)
	newBuild(t, third, "debian-12-kube-v1.33.3", "v1.33.3", 3)
	b := newBucket(t)
	b.blind = true
	p := b.place(t, nil)
	if _, err := publish.Run(t.Context(), options(p, private, first)); err != nil {
		t.Fatal(err)
	}
	// What another run leaves that saw the first revision too, and writes after the one below.
	others := newBucket(t)
	others.objects = maps.Clone(b.objects)
	if _, err := publish.Run(t.Context(), options(others.place(t, nil), private, third)); err != nil {
		t.Fatal(err)
	}
	installed := false
	b.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if installed && r.Method == http.MethodGet {
			b.before = nil
			maps.Copy(b.objects, others.objects)
		}
		installed = installed || r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/index.json")
		return false
	}
	if res, err := publish.Run(t.Context(), options(p, private, second)); err != nil || res.Index.Revision != 3 {
		t.Errorf("revision %d, %v", res.Index.Revision, err)
	}
	if v, err := publish.Verify(t.Context(), p, []minisign.PublicKey{public}, true, nil); err != nil || len(v.Index.Images) != 9 {
		t.Errorf("%d images, %v", len(v.Index.Images), err)
	}
}

func TestIndexThatIsThere(t *testing.T) {
	_, private := newKey(t)
	public, former := newKey(t)
	first, second := t.TempDir(), t.TempDir()
	newBuild(t, first, name, "v1.33.1", 1)
	newBuild(t, second, "debian-12-kube-v1.33.2", "v1.33.2", 2)
	for what, c := range map[string]struct {
		spoil func(t *testing.T, dir string)
		trust []minisign.PublicKey
		want  error
	}{
		"of a trusted key":  {nil, []minisign.PublicKey{public}, nil},
		"of an unknown key": {nil, nil, publish.ErrUntrusted},
		"without signature": {func(t *testing.T, dir string) { remove(t, dir, "index.json.minisig") }, nil, publish.ErrUntrusted},
		"changed":           {func(t *testing.T, dir string) { edit(t, dir, "index.json", `"KVM"`, `"Simulator"`) }, []minisign.PublicKey{public}, publish.ErrUntrusted},
		"page":              {func(t *testing.T, dir string) { write(t, filepath.Join(dir, "index.json"), "<html></html>") }, []minisign.PublicKey{public}, publish.ErrUntrusted},
		"signature is lost, but not the revision": {func(t *testing.T, dir string) { remove(t, dir, "index.json.minisig") }, []minisign.PublicKey{public}, nil},
		"next revision of a stranger":             {func(t *testing.T, dir string) { write(t, filepath.Join(dir, "index.2.json.signed"), "a\nb\nc\nd\n{}") }, []minisign.PublicKey{public}, publish.ErrUntrusted},
		"old revision once more": {func(t *testing.T, dir string) {
			if err := os.Link(filepath.Join(dir, "index.1.json.signed"), filepath.Join(dir, "index.2.json.signed")); err != nil {
				t.Fatal(err)
			}
		}, []minisign.PublicKey{public}, publish.ErrUntrusted},
	} {
		t.Run(what, func(t *testing.T) {
			out := t.TempDir()
			place, err := publish.NewFolder(out)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := publish.Run(t.Context(), options(place, former, first)); err != nil {
				t.Fatal(err)
			}
			if c.spoil != nil {
				c.spoil(t, out)
			}
			before := len(names(t, out))
			o := options(place, private, second)
			o.Trusted = c.trust
			res, err := publish.Run(t.Context(), o)
			if !errors.Is(err, c.want) {
				t.Fatalf("ended with %v", err)
			}
			if c.want != nil && len(names(t, out)) != before {
				t.Error("something was published")
			}
			if c.want == nil && res.Index.Revision != 2 {
				t.Errorf("revision %d", res.Index.Revision)
			}
		})
	}
}

func TestVerify(t *testing.T) {
	public, private := newKey(t)
	other, _ := newKey(t)
	dir := t.TempDir()
	newBuild(t, dir, name, "v1.33.1", 1)
	for what, c := range map[string]struct {
		spoil func(t *testing.T, dir string)
		key   minisign.PublicKey
		want  error
	}{
		"as published":  {nil, public, nil},
		"other key":     {nil, other, index.ErrSignature},
		"changed index": {func(t *testing.T, dir string) { edit(t, dir, "index.json", `"KVM"`, `"Simulator"`) }, public, index.ErrSignature},
		"changed file":  {func(t *testing.T, dir string) { write(t, filepath.Join(dir, name+".ova"), "x") }, public, publish.ErrFile},
		"missing file":  {func(t *testing.T, dir string) { remove(t, dir, name+".ova") }, public, publish.ErrMissing},
		"missing index": {func(t *testing.T, dir string) { remove(t, dir, "index.json") }, public, publish.ErrMissing},
		"no signature":  {func(t *testing.T, dir string) { remove(t, dir, "index.json.minisig") }, public, publish.ErrMissing},
	} {
		t.Run(what, func(t *testing.T) {
			out := t.TempDir()
			place, err := publish.NewFolder(out)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := publish.Run(t.Context(), options(place, private, dir)); err != nil {
				t.Fatal(err)
			}
			if c.spoil != nil {
				c.spoil(t, out)
			}
			if _, err := publish.Verify(t.Context(), place, []minisign.PublicKey{other, c.key}, true, nil); !errors.Is(err, c.want) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}
