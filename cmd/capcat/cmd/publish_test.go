package cmd

import (
	"encoding/json"
	"encoding/pem"
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

	"github.com/capcat/capcat/imagecatalog/index"
)

// built makes what a build leaves for KVM.
func built(t *testing.T) (dir, name string) {
	t.Helper()
	dir, name = t.TempDir(), "debian-12-kube-v1.33.1"
	file := filepath.Join(dir, name+".qcow2")
	stdout, stderr, code := capcat(t, "convert", filepath.Join(corpus, "qcow2-v3.qcow2"), file, "-o", "json")
	var got struct{ Files []converted }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
		t.Fatalf("exit %d, %q: %v", code, stderr, err)
	}
	entry := fmt.Sprintf(`# virtual size and contents
- name: debian-12
  os: debian-12
  artifacts:
  - kubernetesVersion: v1.33.1
    hypervisor: KVM
    urls: [https://images.example.org/%s.qcow2]
    checksum: {algorithm: sha256, value: %s}
`, name, got.Files[0].SHA256)
	put(t, filepath.Join(dir, name+".catalog-entry.yaml"), entry)
	return dir, name
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// newKeys makes a pair without a password and gives the stem of its files.
func newKeys(t *testing.T) string {
	t.Helper()
	stem := filepath.Join(t.TempDir(), "images")
	if stdout, stderr, code := capcat(t, "key", "generate", stem, "--no-password"); code != 0 || !strings.Contains(stdout, stem+".pub") {
		t.Fatalf("exit %d, %q, %q", code, stdout, stderr)
	}
	return stem
}

func TestPublishIntoFolder(t *testing.T) {
	dir, name := built(t)
	keys, out := newKeys(t), filepath.Join(t.TempDir(), "www")
	args := []string{"publish", dir, "--to", out, "--key", keys + ".key", "--base-url", "https://images.example.com/nodes"}
	stdout, stderr, code := capcat(t, args...)
	if code != 0 || !strings.HasPrefix(stdout, "  # virtual size and contents\n  - name") || !strings.Contains(stdout, "[https://images.example.com/nodes/"+name+".qcow2]") {
		t.Fatalf("exit %d, %q, %q", code, stdout, stderr)
	}
	if !strings.Contains(stderr, "sent "+name+".qcow2\n") {
		t.Errorf("told: %q", stderr)
	}
	if _, stderr, code = capcat(t, args...); code != 0 || strings.Contains(stderr, "sent ") || !strings.Contains(stderr, "there already: "+name+".qcow2\n") {
		t.Errorf("again: exit %d, %q", code, stderr)
	}
	stdout, stderr, code = capcat(t, "verify-index", out, "--key", keys+".pub", "--files")
	if code != 0 || !strings.Contains(stdout, "The signature is good. Revision 1;") || !strings.Contains(stdout, name+".qcow2 (digest is right)") {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
	put(t, filepath.Join(out, name+".qcow2"), "other")
	if _, stderr, code = capcat(t, "verify-index", out, "--key", keys+".pub", "--files"); code != exitRejected || !strings.Contains(stderr, name+".qcow2") {
		t.Errorf("a changed file: exit %d, %q", code, stderr)
	}
	if _, stderr, code = capcat(t, args...); code != 1 || !strings.Contains(stderr, "another content") {
		t.Errorf("publishing over it: exit %d, %q", code, stderr)
	}
	if _, stderr, code = capcat(t, "verify-index", out, "--key", newKeys(t)+".pub"); code != exitRejected || !strings.Contains(stderr, "signature") {
		t.Errorf("another key: exit %d, %q", code, stderr)
	}
}

// shelf is a server that keeps what is put.
type shelf struct {
	mu     sync.Mutex
	files  map[string]string
	tokens map[string]bool
}

// ServeHTTP answers one request.
func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[r.Header.Get("Authorization")+" "+r.Header.Get("X-Tenant")] = true
	text, found := s.files[r.URL.Path]
	switch {
	case r.Method == http.MethodPut && found && r.Header.Get("If-None-Match") == "*":
		w.WriteHeader(http.StatusPreconditionFailed)
	case r.Method == http.MethodPut:
		body, err := io.ReadAll(r.Body)
		if err == nil {
			s.files[r.URL.Path] = string(body)
		}
	case !found:
		http.NotFound(w, r)
	default:
		http.ServeContent(w, r, "", modified(), strings.NewReader(text))
	}
}

func TestPublishToServer(t *testing.T) {
	dir, name := built(t)
	keys := newKeys(t)
	s := &shelf{files: map[string]string{}, tokens: map[string]bool{}}
	server := httptest.NewTLSServer(s)
	defer server.Close()
	ca, headers := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "headers")
	put(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	put(t, headers, "# for the gate\nX-Tenant: blue\n")
	t.Setenv(tokenEnv, "token-secret")
	args := []string{"publish", filepath.Join(dir, name+".catalog-entry.yaml"), "--to", server.URL + "/nodes/", "--key", keys + ".key", "--ca-file", ca, "--header-file", headers, "-o", "json"}
	stdout, stderr, code := capcat(t, args...)
	var got struct {
		Revision int64
		Images   []index.Image
		Uploaded []string
		Entries  []string
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
		t.Fatalf("exit %d, %q, %q: %v", code, stdout, stderr, err)
	}
	if got.Revision != 1 || len(got.Images) != 1 || len(got.Uploaded) != 4 || !strings.Contains(got.Entries[0], server.URL+"/nodes/"+name+".qcow2") {
		t.Errorf("%+v", got)
	}
	if len(s.tokens) != 1 || !s.tokens["Bearer token-secret blue"] {
		t.Errorf("sent with %v", s.tokens)
	}
	if strings.Contains(stdout+stderr, "secret") {
		t.Errorf("a secret was told: %q %q", stdout, stderr)
	}
	if _, stderr, code := capcat(t, "verify-index", server.URL+"/nodes", "--key", keys+".pub", "--files", "--ca-file", ca); code != 0 {
		t.Errorf("exit %d, %q", code, stderr)
	}
	if len(s.tokens) != 2 || !s.tokens[" "] {
		t.Errorf("verifying was not done without credentials: %v", s.tokens)
	}
}

func TestPublishRefuses(t *testing.T) {
	dir, name := built(t)
	keys := newKeys(t)
	out := t.TempDir()
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	for what, c := range map[string]struct {
		args []string
		want string
	}{
		"no place":             {[]string{dir, "--key", keys + ".key"}, "needs --to"},
		"no key":               {[]string{dir, "--to", out}, "needs --key"},
		"no build":             {[]string{out, "--to", out, "--key", keys + ".key"}, "has no build"},
		"public key":           {[]string{dir, "--to", out, "--key", keys + ".pub"}, "no secret key"},
		"missing key":          {[]string{dir, "--to", out, "--key", "none"}, "no such file"},
		"secret key to trust":  {[]string{dir, "--to", out, "--key", keys + ".key", "--trust", keys + ".key"}, "no public key"},
		"credentials in URL":   {[]string{dir, "--to", "https://me:secret@example.org/x", "--key", keys + ".key"}, "holds credentials"},
		"S3 without keys":      {[]string{dir, "--to", "https://example.org/x", "--key", keys + ".key", "--s3-region", "x"}, "AWS_ACCESS_KEY_ID"},
		"output":               {[]string{dir, "--to", out, "--key", keys + ".key", "-o", "xml"}, "text or json"},
		"an image, no entry":   {[]string{filepath.Join(dir, name+".qcow2"), "--to", out, "--key", keys + ".key"}, "is not named"},
		"base URL of file":     {[]string{dir, "--to", out, "--key", keys + ".key", "--base-url", "file:///srv"}, "address"},
		"certificates missing": {[]string{dir, "--to", "https://example.org/x", "--key", keys + ".key", "--ca-file", keys + ".pub"}, "no certificate"},
	} {
		t.Run(what, func(t *testing.T) {
			_, stderr, code := capcat(t, append([]string{"publish"}, c.args...)...)
			if code != 1 || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "secret@") {
				t.Errorf("exit %d, %q, want %q", code, stderr, c.want)
			}
			if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
				t.Errorf("%v was left (%v)", left, err)
			}
		})
	}
}

func TestKeyGenerate(t *testing.T) {
	stem := newKeys(t)
	info, err := os.Stat(stem + ".key")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	before, err := os.ReadFile(stem + ".key")
	if err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := capcat(t, "key", "generate", stem, "--no-password"); code != 1 || !strings.Contains(stderr, "exists") {
		t.Errorf("exit %d, %q", code, stderr)
	}
	if after, err := os.ReadFile(stem + ".key"); err != nil || string(after) != string(before) {
		t.Error("the key was overwritten")
	}
	t.Setenv(passwordEnv, "")
	if _, stderr, code := capcat(t, "key", "generate", stem+"2"); code != 1 || !strings.Contains(stderr, "--no-password") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

func modified() time.Time { return time.Unix(1700000000, 0) }

// catalogHead is a catalog up to its items.
const catalogHead = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TemplateCatalog
metadata: {name: mine}
spec:
  identityRef: {name: cloudstack}
  zones: [{name: a, hypervisor: KVM}]
  images:
`

// TestPublishedEntryIsFetched puts what publish prints into a catalog, and lets verify fetch it from a web server.
func TestPublishedEntryIsFetched(t *testing.T) {
	dir, _ := built(t)
	keys, out := newKeys(t), t.TempDir()
	server := httptest.NewServer(http.FileServer(http.Dir(out)))
	defer server.Close()
	entries, stderr, code := capcat(t, "publish", dir, "--to", out, "--key", keys+".key", "--base-url", server.URL)
	if code != 0 {
		t.Fatalf("exit %d, %q", code, stderr)
	}
	catalog := filepath.Join(t.TempDir(), "catalog.yaml")
	put(t, catalog, catalogHead+entries)
	stdout, stderr, code := capcat(t, "verify", "-f", catalog, "-o", "json")
	var got struct{ Images []verifiedImage }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
		t.Fatalf("exit %d, %q, %q: %v", code, stdout, stderr, err)
	}
	if len(got.Images) != 1 || got.Images[0].Verdict != "accept" || got.Images[0].WeakChecksum {
		t.Errorf("%+v", got.Images)
	}
}

func TestPublishIntoCatalog(t *testing.T) {
	dir, name := built(t)
	keys, out, catalog := newKeys(t), filepath.Join(t.TempDir(), "www"), filepath.Join(t.TempDir(), "catalog.yaml")
	put(t, catalog, strings.Replace(catalogHead, "  images:\n", "", 1)+"  # the end\n")
	args := []string{"publish", dir, "--to", out, "--key", keys + ".key", "--catalog", catalog, "--base-url"}
	for _, base := range []string{"https://a.example.com/nodes", "https://a.example.com/nodes", "https://b.example.com"} {
		if base == "https://b.example.com" { // the entry that is published bears the address, so it is another one
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
		}
		if _, stderr, code := capcat(t, append(args, base)...); code != 0 {
			t.Fatalf("exit %d, %q", code, stderr)
		}
		text, err := os.ReadFile(catalog)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "["+base+"/"+name+".qcow2]") || strings.Count(string(text), "- name: debian-12\n") != 1 || !strings.Contains(string(text), "  # the end\n") {
			t.Errorf("the catalog is now\n%s", text)
		}
	}
	put(t, catalog, catalogHead+"  - {name: debian-12, os: x, url: \"http://h/x\", kubernetesVersions: [v1.2.3], checksum: {insecureSkip: true}}\n")
	out = filepath.Join(t.TempDir(), "www")
	args[3] = out
	if _, stderr, code := capcat(t, append(args, "https://a.example.com/nodes")...); code != 1 || !strings.Contains(stderr, "of other content") {
		t.Errorf("exit %d, %q", code, stderr)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("%v was published (%v)", left, err)
	}
}

// TestVerifyIndexFollows proves an index at an address that leads to where it is.
func TestVerifyIndexFollows(t *testing.T) {
	dir, _ := built(t)
	keys, out := newKeys(t), t.TempDir()
	server := httptest.NewServer(http.FileServer(http.Dir(out)))
	defer server.Close()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, server.URL+strings.TrimPrefix(r.URL.Path, "/latest"), http.StatusFound)
	}))
	defer front.Close()
	if _, stderr, code := capcat(t, "publish", dir, "--to", out, "--key", keys+".key"); code != 0 {
		t.Fatalf("exit %d, %q", code, stderr)
	}
	if stdout, stderr, code := capcat(t, "verify-index", front.URL+"/latest", "--key", keys+".pub", "--files"); code != 0 || !strings.Contains(stdout, "(digest is right)") {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
}
