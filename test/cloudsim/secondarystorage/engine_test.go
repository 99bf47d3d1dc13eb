package secondarystorage

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage/httpclient"
)

func newEngine(t *testing.T, o Options) *Engine {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// raw serves a megabyte of nothing, after release when that is not nil.
func raw(t *testing.T, release <-chan struct{}) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if release != nil {
			<-release
		}
		w.Header().Set("Content-Length", "1048576")
		_, _ = w.Write(make([]byte, 1<<20))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestFirstAnswer(t *testing.T) {
	for _, test := range []struct {
		name string
		took time.Duration
		want int64
	}{{"at once", 0, 4321}, {"after four seconds", 4 * time.Second, 1234}} {
		t.Run(test.name, func(t *testing.T) {
			d := &Download{begun: now, ended: now.Add(test.took), status: Status{State: Downloaded, VirtualSize: 4321, PhysicalSize: 1234}}
			if got := d.Status().PhysicalSize; got != test.want {
				t.Errorf("got physical size %d, want %d", got, test.want)
			}
			if got := d.Answer().PhysicalSize; got != 1234 {
				t.Errorf("the storage VM itself says %d", got)
			}
		})
	}
}

func TestContentIsNotKept(t *testing.T) {
	s := raw(t, nil)
	dir := t.TempDir()
	e := newEngine(t, Options{Dir: dir, Network: Network{Hosts: map[string]string{"images.example.org": s.Listener.Addr().String()}}})
	d, err := e.Download(t.Context(), DownloadRequest{URL: "http://images.example.org/a.raw", AccountID: 2, TemplateID: 7, Format: "RAW", MaxBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	<-d.Done()
	a := d.Answer()
	if a.State != Downloaded || a.PhysicalSize != 1<<20 {
		t.Fatalf("got %+v", a)
	}
	if _, err := os.Stat(filepath.Join(dir, a.InstallPath)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	if got := e.usedBytes(2); got != 1<<20 {
		t.Errorf("used %d bytes", got)
	}
	if err := e.Delete(a.InstallPath); err != nil {
		t.Fatal(err)
	}
	if got := e.usedBytes(2); got != 0 {
		t.Errorf("used %d bytes after the template was deleted", got)
	}
	if _, err := os.Stat(filepath.Join(dir, path.Dir(a.InstallPath))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestCloseEndsDownloads(t *testing.T) {
	release := make(chan struct{})
	s := raw(t, release)
	t.Cleanup(func() { close(release) })
	e, err := New(Options{Network: Network{Hosts: map[string]string{"images.example.org": s.Listener.Addr().String()}}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := e.Download(t.Context(), DownloadRequest{URL: "http://images.example.org/a.raw", Format: "RAW", MaxBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if a := d.Answer(); a.State != DownloadError || a.ErrorText != "Socket closed" {
		t.Errorf("got %+v", a)
	}
	if _, err := os.Stat(e.root); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the store is still there: %v", err)
	}
}

func TestSilentAddress(t *testing.T) {
	clock := clocktesting.NewFakeClock(now)
	e := newEngine(t, Options{Clock: clock, Network: Network{Private: netip.MustParsePrefix("10.50.0.0/24")}})
	d, err := e.Download(t.Context(), DownloadRequest{URL: "http://10.60.0.5/a.raw", Format: "RAW", MaxBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	await(t, func() bool {
		select {
		case <-d.Done():
			return true
		default:
		}
		if a := d.Answer(); a.State == NotDownloaded && clock.HasWaiters() {
			clock.Step(connectTime / 2)
		}
		return false
	})
	if waited := clock.Since(now); waited < 2*connectTime {
		t.Errorf("it knocked for %s, want twice %s", waited, connectTime)
	}
	if a := d.Answer(); a.State != DownloadError || a.ErrorText != "Connection timed out" {
		t.Errorf("got %+v", a)
	}
}

func TestCheckHost(t *testing.T) {
	n := Network{
		Hosts: map[string]string{"mirror.example.org": "127.0.0.1:1", "127.0.0.1:8080": "127.0.0.1:8080"},
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			if host == "both.example.org" {
				return []netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("192.0.2.1")}, nil
			}
			return nil, &net.DNSError{Name: host}
		},
	}
	for _, test := range []struct{ url, want string }{
		{"http://mirror.example.org/a", ""},
		{"http://127.0.0.1:8080/a", ""},
		{"http://127.0.0.1/a", "Illegal host specified in URL."},
		{"http://0x7f.1/a", "Illegal host specified in URL."},
		{"http://2130706433/a", "Illegal host specified in URL."},
		{"http://[fe80::1]/a", "Illegal host specified in URL."},
		{"http://[2001:db8::1]/a", "IPv6 addresses are not supported (2001:db8:0:0:0:0:0:1)."},
		{"http://both.example.org/a", ""},
		{"http://nohost.invalid/a", "Unable to resolve nohost.invalid."},
		{"http://300.1.2.3/a", "Unable to resolve 300.1.2.3."},
	} {
		t.Run(test.url, func(t *testing.T) {
			l, err := httpclient.Parse(test.url)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := n.checkHost(t.Context(), l); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestInternalSites(t *testing.T) {
	got := internalSites([]string{"10.0.0.0/8", " 192.0.2.7 ", "0.0.0.0/0", "0.0.0.0", "nonsense", "2001:db8::/32", "10.1.2.3/33"})
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32")}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParseExpires(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"2099-01-01T00:00:00.000Z", ""},
		{"2099-01-01T00:00:00.000+02:00", ""},
		{"2099-01-01T00:00:00Z", `Invalid format: "2099-01-01T00:00:00Z" is malformed at "Z"`},
		{"2099-01-01", `Invalid format: "2099-01-01" is too short`},
		{"tomorrow", `Invalid format: "tomorrow"`},
		{"2099-01-01T00:00:00.000 o'clock", `Invalid format: "2099-01-01T00:00:00.000 o'clock" is malformed at " o'clock"`},
	} {
		t.Run(test.in, func(t *testing.T) {
			got := ""
			if _, err := parseExpires(test.in); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestMD2(t *testing.T) {
	for in, want := range map[string]string{
		"": "8350e5a3e24c153df2275c9f80692773", "abc": "da853b0d3f88d99b30283a69e6ded6bb",
		"12345678901234567890123456789012345678901234567890123456789012345678901234567890": "d5976f79d83d3a0dc9806c3c66f3efd8",
	} {
		h := newMD2()
		for _, c := range []byte(in) {
			_, _ = h.Write([]byte{c})
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestUploadParams(t *testing.T) {
	clock := clocktesting.NewFakeClock(now)
	e := newEngine(t, Options{Clock: clock, Secret: []byte("secret")})
	r := UploadRequest{ID: "u1", Host: "192.0.2.1", HTTPS: true, LifetimeMinutes: 60, Format: "QCOW2", AccountID: 2, TemplateID: 9, MaxGiB: 50, LimitGiB: -1}
	p := e.NewUpload(r)
	if p.PostURL != "https://192.0.2.1/upload/u1" || p.Expires != "2026-11-30T17:06:00.000Z" {
		t.Errorf("got %+v", p)
	}
	if again := e.NewUpload(r); again != p {
		t.Errorf("not the same again: %+v", again)
	}
	got, err := e.open(p.Metadata)
	if err != nil || got != r {
		t.Errorf("got %+v, %v", got, err)
	}
	broken := ticket{id: "u1", metadata: "bm90aGluZw==", expires: p.Expires, host: "192.0.2.1", length: 5}
	broken.signature = e.Sign(broken.metadata, p.PostURL, broken.expires)
	if _, err := e.admit(broken); err == nil || err.Error() != "unable decode and deserialize metadata." {
		t.Errorf("got %v", err)
	}
}

func TestFrontLosesLongRefusals(t *testing.T) {
	e := newEngine(t, Options{})
	s := httptest.NewServer(e.Front())
	t.Cleanup(s.Close)
	for _, test := range []struct {
		name string
		size int
		want int
	}{{"short", 1000, http.StatusBadRequest}, {"long", 2 << 20, http.StatusBadGateway}} {
		t.Run(test.name, func(t *testing.T) {
			resp, err := s.Client().Post(s.URL+"/upload/u1", "multipart/form-data; boundary=b", strings.NewReader(strings.Repeat("x", test.size)))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != test.want {
				t.Errorf("got %d, want %d", resp.StatusCode, test.want)
			}
		})
	}
}
