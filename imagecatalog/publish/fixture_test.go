package publish_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/capcat/capcat/imagecatalog/artifact/convert"
	"github.com/capcat/capcat/imagecatalog/internal/islands"
	"github.com/capcat/capcat/imagecatalog/publish"
)

const placeholder = "https://images.example.org"

// newKey makes a key of minisign.
func newKey(t *testing.T) (minisign.PublicKey, minisign.PrivateKey) {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return public, private
}

// outputs are the files of a build by their suffixes, and for whom they are.
var outputs = []struct{ suffix, hypervisor string }{{"qcow2", "KVM"}, {"ova", "VMware"}, {"vhd.bz2", "XenServer"}}

// newBuild writes what capcat build leaves: images, side files, a bill of materials, a log and the entry. The seed makes
// other content.
func newBuild(t *testing.T, dir, name, version string, seed int64) string {
	t.Helper()
	d := islands.New(3<<20, 2000, 512*seed)
	d.Bytes[0] = append(make([]byte, 510), 0x55, 0xaa)
	raw := filepath.Join(t.TempDir(), "raw")
	text := make([]byte, d.Virtual)
	if _, err := d.ReadAt(text, 0); err != nil {
		t.Fatal(err)
	}
	write(t, raw, string(text))
	var b strings.Builder
	fmt.Fprintf(&b, "# a comment that stays\n- name: %s\n  os: debian-12\n  arch: x86_64\n  template: {osType: Debian GNU/Linux 12 (64-bit)}\n  artifacts:\n", strings.ReplaceAll(name, ".", "-"))
	for _, o := range outputs {
		file := filepath.Join(dir, name+"."+o.suffix)
		res, err := convert.File(t.Context(), convert.Request{Source: raw, SourceFormat: "RAW", Target: file, SideFiles: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "  - kubernetesVersion: %s\n    hypervisor: %s\n    urls:\n    - %s/%s.%s\n    checksum: {algorithm: sha256, value: %s}\n", version, o.hypervisor, placeholder, name, o.suffix, res.SHA256.Hex)
	}
	write(t, filepath.Join(dir, name+".spdx.json"), `{"spdxVersion":"SPDX-2.3"}`)
	write(t, filepath.Join(dir, name+".log"), "secret of the build")
	entry := filepath.Join(dir, name+publish.EntrySuffix)
	write(t, entry, b.String())
	return entry
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(text)
	}
	return out
}

// bucket is a server that speaks as much of S3 as is used: PUT with conditions, GET and HEAD.
type bucket struct {
	*httptest.Server
	// before may answer a request itself; then it returns true.
	before func(w http.ResponseWriter, r *http.Request) bool
	// blind knows no conditions: it overwrites. Refusing answers 501 to them.
	blind, refusing bool

	mu       sync.Mutex
	objects  map[string]string
	requests []string // method and name
	headers  []http.Header
}

func newBucket(t *testing.T) *bucket {
	t.Helper()
	b := &bucket{objects: map[string]string{}}
	b.Server = httptest.NewUnstartedServer(b)
	b.Config.ErrorLog = nil
	b.StartTLS()
	t.Cleanup(b.Close)
	return b
}

func etag(text string) string {
	sum := sha256.Sum256([]byte(text))
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// ServeHTTP answers one request.
func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/nodes/")
	b.mu.Lock()
	b.requests = append(b.requests, r.Method+" "+name)
	b.headers = append(b.headers, r.Header.Clone())
	b.mu.Unlock()
	if b.before != nil && b.before(w, r) {
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		b.mu.Lock()
		text, found := b.objects[name]
		b.mu.Unlock()
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", etag(text))
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, text)
		}
	case http.MethodPut:
		b.put(w, r, name)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (b *bucket) put(w http.ResponseWriter, r *http.Request, name string) {
	none, match := r.Header.Get("If-None-Match"), r.Header.Get("If-Match")
	if b.refusing && none+match != "" {
		w.WriteHeader(http.StatusNotImplemented)
		return
	}
	refused := func() bool {
		old, found := b.objects[name]
		return !b.blind && (none == "*" && found || match != "" && match != etag(old))
	}
	b.mu.Lock()
	early := refused()
	b.mu.Unlock()
	if early {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || int64(len(body)) != r.ContentLength {
		return // a cut upload leaves nothing
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if refused() { // somebody was faster while the body came
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	b.objects[name] = string(body)
	w.Header().Set("ETag", etag(string(body)))
}

// seen gives the requests since the last call.
func (b *bucket) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.requests
	b.requests = nil
	return out
}

// place reaches the bucket; waits between attempts take no time.
func (b *bucket) place(t *testing.T, change func(*publish.BucketOptions)) *publish.Bucket {
	t.Helper()
	o := publish.BucketOptions{URL: b.URL + "/nodes", Transport: b.Client().Transport, Clock: &hasty{}, Idle: time.Hour}
	if change != nil {
		change(&o)
	}
	p, err := publish.NewBucket(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
