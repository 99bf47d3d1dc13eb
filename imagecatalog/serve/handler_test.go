package serve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type fixture struct {
	server *httptest.Server
	signer *Signer
	clock  *clocktesting.FakeClock
	digest artifact.Digest
	data   []byte
	served chan Served
}

func newFixture(t *testing.T, size int, o Options) *fixture {
	t.Helper()
	blobs, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{clock: clocktesting.NewFakeClock(now), data: make([]byte, size), served: make(chan Served, 64)}
	if _, err := rand.Read(f.data); err != nil {
		t.Fatal(err)
	}
	f.digest = addBlob(t, blobs, f.data)
	if f.signer, err = NewSigner([]byte("0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	o.Clock = f.clock
	o.Served = func(s Served) { f.served <- s }
	f.server = httptest.NewServer(New(blobs, f.signer, o))
	t.Cleanup(f.server.Close)
	return f
}

func addBlob(t *testing.T, blobs *store.Store, data []byte) artifact.Digest {
	t.Helper()
	claim, err := blobs.Claim(t.Context(), store.Key(t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	h := artifact.SHA256.New()
	h.Write(data)
	d := artifact.DigestOf(artifact.SHA256, h)
	if err := os.WriteFile(claim.DownloadPath(), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := claim.CommitDownload(d, int64(len(data))); err != nil {
		t.Fatal(err)
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	return d
}

func (f *fixture) url(t *testing.T, ttl time.Duration) string {
	t.Helper()
	u, err := f.signer.URL(f.server.URL, f.digest, "qcow2", f.clock.Now().Add(ttl))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func do(t *testing.T, method, url string, header http.Header) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, data
}

func TestServeWhole(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3<<20+17, Options{})
	tests := map[string]struct {
		method string
		header http.Header
		body   bool
	}{
		"get":                        {method: http.MethodGet, body: true},
		"head":                       {method: http.MethodHead},
		"range is ignored":           {method: http.MethodGet, header: http.Header{"Range": {"bytes=100-"}}, body: true},
		"conditional is ignored too": {method: http.MethodGet, header: http.Header{"If-None-Match": {"*"}, "If-Range": {`"x"`}, "Range": {"bytes=1-2"}}, body: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			resp, data := do(t, tc.method, f.url(t, time.Hour), tc.header)
			if resp.StatusCode != http.StatusOK || resp.ContentLength != int64(len(f.data)) {
				t.Errorf("status %d, length %d", resp.StatusCode, resp.ContentLength)
			}
			for _, h := range []string{"Accept-Ranges", "Content-Range", "Content-Encoding", "Location"} {
				if v := resp.Header.Get(h); v != "" {
					t.Errorf("%s: %s", h, v)
				}
			}
			if tc.body != bytes.Equal(data, f.data) {
				t.Errorf("body of %d bytes", len(data))
			}
			s := <-f.served
			want := Served{Digest: f.digest, Method: tc.method, Status: 200, Bytes: int64(len(data)), Complete: tc.body}
			if diff := cmp.Diff(want, s); diff != "" {
				t.Errorf("served (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 10, Options{})
	good := f.url(t, time.Hour)
	other, err := NewSigner(nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.URL(f.server.URL, f.digest, "qcow2", now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	missing, err := f.signer.URL(f.server.URL, artifact.Digest{Algorithm: artifact.SHA256, Hex: strings.Repeat("0", 64)}, "vhd", now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	token := strings.Split(strings.TrimPrefix(good, f.server.URL+"/"), "/")[0]
	tests := map[string]struct {
		method, url string
		status      int
	}{
		"root":                     {url: f.server.URL + "/", status: 403},
		"no token":                 {url: f.server.URL + "/" + f.digest.Hex + ".qcow2", status: 403},
		"token of another key":     {url: foreign, status: 403},
		"another suffix":           {url: strings.Replace(good, ".qcow2", ".vhd", 1), status: 403},
		"no suffix":                {url: strings.Replace(good, ".qcow2", "", 1), status: 403},
		"directory of the token":   {url: f.server.URL + "/" + token + "/", status: 403},
		"upper case":               {url: f.server.URL + "/" + token + "/" + strings.ToUpper(f.digest.Hex) + ".qcow2", status: 403},
		"way out":                  {url: f.server.URL + "/" + token + "/..%2f..%2fsources", status: 403},
		"partial":                  {url: f.server.URL + "/" + token + "/" + f.digest.Hex + ".download.partial", status: 403},
		"token with a changed bit": {url: strings.Replace(good, token, flip(token), 1), status: 403},
		"expired":                  {url: f.url(t, -time.Second), status: 410},
		"expires now":              {url: f.url(t, 0), status: 410},
		"blob is not there":        {url: missing, status: 404},
		"post":                     {method: http.MethodPost, url: good, status: 405},
		"put":                      {method: http.MethodPut, url: good, status: 405},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, body := do(t, tc.method, tc.url, nil)
			if resp.StatusCode != tc.status {
				t.Errorf("status %d, want %d", resp.StatusCode, tc.status)
			}
			if bytes.Contains(body, f.data) || strings.Contains(string(body), token) {
				t.Errorf("the refusal says too much: %q", body)
			}
		})
	}
}

func flip(token string) string {
	if token[0] == 'B' {
		return "C" + token[1:]
	}
	return "B" + token[1:]
}

// TestBasePath serves behind a proxy that leaves its base path in, too.
func TestBasePath(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 10, Options{})
	u, err := f.signer.URL(f.server.URL+"/some/base/", f.digest, "qcow2", now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if resp, data := do(t, http.MethodGet, u, nil); resp.StatusCode != 200 || !bytes.Equal(data, f.data) {
		t.Errorf("status %d, %d bytes", resp.StatusCode, len(data))
	}
}

func TestExpiryFollowsTheClock(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 10, Options{})
	u := f.url(t, time.Minute)
	if resp, _ := do(t, http.MethodGet, u, nil); resp.StatusCode != 200 {
		t.Errorf("status %d before", resp.StatusCode)
	}
	f.clock.Step(time.Minute)
	if resp, _ := do(t, http.MethodGet, u, nil); resp.StatusCode != 410 {
		t.Errorf("status %d after", resp.StatusCode)
	}
}

// TestBound fills the one place with a client that does not read, and lets the next one wait in vain.
func TestBound(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 32<<20, Options{MaxConnections: 1, QueueTimeout: time.Second})
	conn, err := net.Dial("tcp", f.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	path := strings.TrimPrefix(f.url(t, time.Hour), f.server.URL)
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("first answer %q, %v", line, err)
	}
	status := make(chan int)
	go func() {
		resp, err := http.Get(f.url(t, time.Hour))
		if err != nil {
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	waitFor(t, f.clock.HasWaiters)
	if resp, _ := do(t, http.MethodHead, f.url(t, time.Hour), nil); resp.StatusCode != 200 {
		t.Errorf("HEAD has to wait: %d", resp.StatusCode)
	}
	f.clock.Step(2 * time.Second)
	if got := <-status; got != http.StatusServiceUnavailable {
		t.Errorf("status %d", got)
	}
}

// TestDeadClient is cut by its write deadline.
func TestDeadClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 32<<20, Options{WriteTimeout: 200 * time.Millisecond})
	conn, err := net.Dial("tcp", f.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", strings.TrimPrefix(f.url(t, time.Hour), f.server.URL))
	if s := <-f.served; s.Complete || s.Bytes >= int64(len(f.data)) {
		t.Errorf("served %+v", s)
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatal("waited in vain")
		case <-tick.C:
		}
	}
}

func TestSigner(t *testing.T) {
	t.Parallel()
	if _, err := NewSigner([]byte("short")); err == nil {
		t.Error("a short key is taken")
	}
	s, err := NewSigner([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	d := artifact.Digest{Algorithm: artifact.SHA256, Hex: strings.Repeat("ab", 32)}
	tests := map[string]struct {
		base, suffix string
		digest       artifact.Digest
		want         string
	}{
		"plain":              {base: "http://h:8080", suffix: "ova", digest: d, want: "http://h:8080/"},
		"with a path":        {base: "https://h/images/", suffix: "vhd", digest: d, want: "https://h/images/"},
		"no host":            {base: "http://", suffix: "ova", digest: d},
		"another scheme":     {base: "ftp://h", suffix: "ova", digest: d},
		"with a query":       {base: "http://h/?a=b", suffix: "ova", digest: d},
		"another algorithm":  {base: "http://h", suffix: "ova", digest: artifact.Digest{Algorithm: artifact.MD5, Hex: strings.Repeat("ab", 16)}},
		"suffix with a dot":  {base: "http://h", suffix: "tar.gz", digest: d},
		"suffix with slash":  {base: "http://h", suffix: "../x", digest: d},
		"digest with a path": {base: "http://h", suffix: "ova", digest: artifact.Digest{Algorithm: artifact.SHA256, Hex: "../../etc/passwd"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := s.URL(tc.base, tc.digest, tc.suffix, now)
			if (tc.want == "") != (err != nil) || !strings.HasPrefix(got, tc.want) || (err == nil && !strings.HasSuffix(got, tc.digest.Hex+"."+tc.suffix)) {
				t.Errorf("URL %q, error %v", got, err)
			}
		})
	}
	other, err := NewSigner([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := s.Path(d, "ova", now)
	b, _ := other.Path(d, "ova", now)
	if a != b {
		t.Error("the same key gives another name after a restart")
	}
}

func FuzzVerify(f *testing.F) {
	s, err := NewSigner([]byte("0123456789abcdef"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("AAAA", strings.Repeat("ab", 32)+".ova")
	f.Fuzz(func(t *testing.T, token, name string) {
		if d, err := s.verify(token, name, now); err == nil {
			t.Errorf("a made-up name opens %v", d)
		}
	})
}
