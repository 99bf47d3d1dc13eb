package fetch

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for raw, ok := range map[string]bool{
		"http://h/x":                            true,
		"HTTPS://h:8443/x?a=b":                  true,
		"":                                      false,
		"image.qcow2":                           false,
		"/etc/passwd":                           false,
		"git::https://h/x":                      false,
		"github.com/a/b":                        false,
		"s3::http://h/x":                        false,
		"ftp://h/x":                             false,
		"http:///x":                             false,
		"http:x":                                false,
		"http://h:port/x":                       false,
		"http://h:65536/x":                      false,
		"http://h:/x":                           true,
		"http://h/\x00":                         false,
		"file:///x":                             false,
		"http://h/" + strings.Repeat("a", 2048): false,
	} {
		req, _ := request(t, raw)
		_, err := parseSources(req.URLs, false)
		if (err == nil) != ok || (!ok && artifact.CodeOf(err) != artifact.InvalidURL) {
			t.Errorf("%.40q: %v", raw, err)
		}
	}
	if _, err := parseSources(nil, false); artifact.CodeOf(err) != artifact.InvalidURL {
		t.Errorf("no address: %v", err)
	}
	if _, err := parseSources(make([]string, 17), false); artifact.CodeOf(err) != artifact.InvalidURL {
		t.Errorf("too many addresses: %v", err)
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://user:pass@h:1/a//b%2Fc?X-Sig=s#f": "https://h:1/a//b%2Fc",
		"http://h/x": "http://h/x",
		"::":         "",
	} {
		if got := Redact(raw); got != want {
			t.Errorf("%q becomes %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		"http://h/a/b%20c.qcow2?x=/y": "b c.qcow2", "http://h/": "", "http://h": "", "http://h/a/": "", "::": "",
	} {
		if got := BaseName(raw); got != want {
			t.Errorf("name of %q is %q, want %q", raw, got, want)
		}
	}
}

// TestRedirects follows and refuses; it runs on http and https servers of this machine.
func TestRedirects(t *testing.T) {
	t.Parallel()
	data := content(1000)
	mux := http.NewServeMux()
	hop := func(path string, code int, location string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(code)
		})
	}
	mux.HandleFunc("/image", whole(data))
	for _, code := range []int{301, 302, 303, 307, 308} {
		hop(fmt.Sprintf("/%d", code), code, "/image")
	}
	for i := range 6 {
		hop(fmt.Sprintf("/hops/%d", i+1), 302, fmt.Sprintf("%d", i))
	}
	hop("/hops/0", 302, "../image")
	hop("/loop", 302, "/loop")
	hop("/file", 302, "file:///etc/passwd")
	hop("/nowhere", 302, "http:///x")
	hop("/malformed", 302, "http://h:port/?secret=1")
	hop("/none", 302, "")
	plain := httptest.NewServer(mux)
	t.Cleanup(plain.Close)
	mux.HandleFunc("/down", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+"/image", http.StatusFound)
	})
	secure := httptest.NewTLSServer(mux)
	t.Cleanup(secure.Close)
	mux.HandleFunc("/up", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, secure.URL+"/image", http.StatusFound)
	})
	o := testOptions()
	o.RootCAs = x509.NewCertPool()
	o.RootCAs.AddCert(secure.Certificate())
	tests := map[string]artifact.Code{
		plain.URL + "/301": "", plain.URL + "/302": "", plain.URL + "/303": "", plain.URL + "/307": "", plain.URL + "/308": "",
		plain.URL + "/hops/4":    "",
		plain.URL + "/hops/5":    artifact.SourceRedirects,
		plain.URL + "/loop":      artifact.SourceRedirects,
		plain.URL + "/file":      artifact.SourceRedirects,
		plain.URL + "/nowhere":   artifact.SourceRedirects,
		plain.URL + "/none":      artifact.SourceRedirects,
		plain.URL + "/malformed": artifact.SourceUnreachable,
		plain.URL + "/up":        "",
		secure.URL + "/302":      "",
		secure.URL + "/down":     artifact.SourceRedirects,
	}
	for target, code := range tests {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			req, sink := request(t, target)
			res, err := newFetcher(t, o).Fetch(t.Context(), req)
			if artifact.CodeOf(err) != code || (err != nil && strings.Contains(err.Error(), "secret")) {
				t.Fatalf("error %v, want code %q", err, code)
			}
			if err == nil {
				checkSuccess(t, req, sink, res, data)
				if !res.Redirected || res.Mirror != target {
					t.Errorf("result %+v", res)
				}
			}
		})
	}
}

func TestNoRedirectsWanted(t *testing.T) {
	t.Parallel()
	_, url := serve(t, status(302, "Location", "/x"))
	o := testOptions()
	o.MaxRedirects = -1
	req, _ := request(t, url)
	if _, err := newFetcher(t, o).Fetch(t.Context(), req); artifact.CodeOf(err) != artifact.SourceRedirects {
		t.Errorf("error %v", err)
	}
}

// TestCredentials stay with the host they are for, and out of every text.
func TestCredentials(t *testing.T) {
	t.Parallel()
	data := content(1000)
	other, otherURL := serve(t, whole(data))
	own, ownURL := serve(t, status(302, "Location", "/again?sig=secret"), status(302, "Location", strings.Replace(otherURL, "://", "://evil:creds@", 1)))
	raw := strings.Replace(ownURL, "://", "://joe:hunter2@", 1) + "?token=secret"
	req, sink := request(t, raw)
	res, err := newFetcher(t, testOptions()).Fetch(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	checkSuccess(t, req, sink, res, data)
	var got []string
	for _, r := range append(own.requests(), other.requests()...) {
		user, password, _ := r.BasicAuth()
		got = append(got, user+":"+password+" "+r.Header.Get("Referer"))
	}
	if diff := cmp.Diff([]string{"joe:hunter2 ", "joe:hunter2 ", ": "}, got); diff != "" {
		t.Errorf("credentials and referer (-want +got):\n%s", diff)
	}
	_, gone := serve(t, status(404))
	req, _ = request(t, strings.Replace(gone, "://", "://joe:hunter2@", 1)+"?token=secret")
	_, err = newFetcher(t, testOptions()).Fetch(t.Context(), req)
	if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "joe") {
		t.Errorf("message %v", err)
	}
}

func TestSameHost(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		a, b string
		want bool
	}{
		"same":               {"http://h/x", "http://H:80/y", true},
		"another port":       {"http://h/x", "http://h:81/x", false},
		"to https":           {"http://h/x", "https://h/x", true},
		"to https elsewhere": {"http://h/x", "https://h:8443/x", false},
		"sub-domain":         {"https://h/x", "https://a.h/x", false},
		"from another port":  {"http://h:8080/x", "https://h/x", false},
	}
	for name, tc := range tests {
		a, errA := url.Parse(tc.a)
		b, errB := url.Parse(tc.b)
		if errA != nil || errB != nil || sameHost(a, b) != tc.want {
			t.Errorf("%s: %s and %s: want %v", name, tc.a, tc.b, tc.want)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(whole(content(10)))
	t.Cleanup(secure.Close)
	req, _ := request(t, secure.URL)
	if _, err := newFetcher(t, testOptions()).Fetch(t.Context(), req); artifact.CodeOf(err) != artifact.SourceTLS {
		t.Errorf("unknown authority: %v", err)
	}
	_, plain := serve(t, whole(content(10)))
	req, _ = request(t, strings.Replace(plain, "http:", "https:", 1))
	if _, err := newFetcher(t, testOptions()).Fetch(t.Context(), req); artifact.CodeOf(err) != artifact.SourceUnreachable {
		t.Errorf("no TLS at all: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nil)
	closed := server.URL
	server.Close()
	for target, code := range map[string]artifact.Code{
		closed:                            artifact.SourceUnreachable,
		"http://no.such.host.invalid/x?s": artifact.SourceUnresolvable,
	} {
		req, _ := request(t, target)
		_, err := newFetcher(t, testOptions()).Fetch(t.Context(), req)
		if got := artifact.CodeOf(err); got != code && got != artifact.SourceUnreachable {
			t.Errorf("%s: %v", target, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                               0,
		"0":                              0,
		"7":                              7 * time.Second,
		" 7 ":                            7 * time.Second,
		"-7":                             0,
		"7.5":                            0,
		"soon":                           0,
		"999999999":                      maxAfter,
		"99999999999999999999":           0,
		"Sun, 01 Mar 2026 12:00:30 GMT":  30 * time.Second,
		"Sunday, 01-Mar-26 12:01:00 GMT": time.Minute,
		"Sun, 01 Mar 2026 11:00:00 GMT":  0,
		"Tue, 01 Mar 2033 11:00:00 GMT":  maxAfter,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q gives %s, want %s", value, got, want)
		}
	}
}

// TestWaits steps an injected clock through the pauses between attempts.
func TestWaits(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakeClock(start)
	server, url := serve(t, status(503, "Retry-After", "90"), status(503), whole(content(10)))
	req, _ := request(t, url)
	f := newFetcher(t, Options{AllowLoopback: true, Clock: clock, Backoff: 10 * time.Second, IdleTimeout: 24 * time.Hour})
	done := make(chan error, 1)
	go func() {
		_, err := f.Fetch(t.Context(), req)
		done <- err
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if waited := clock.Since(start); err != nil || waited < 95*time.Second || len(server.requests()) != 3 {
				t.Errorf("after %s and %d requests: %v", waited, len(server.requests()), err)
			}
			return
		case <-tick.C:
			if clock.HasWaiters() {
				clock.Step(time.Second)
			}
		}
	}
}

func TestContentRange(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]contentRange{
		"bytes 5-9/10":                   {5, 9, 10},
		"Bytes 0-0/1":                    {0, 0, 1},
		"bytes 5-9/*":                    {5, 9, 0},
		"bytes 5-10/10":                  {},
		"bytes 9-5/10":                   {},
		"bytes */10":                     {},
		"bytes -5-9/10":                  {},
		"lines 5-9/10":                   {},
		"5-9/10":                         {},
		"":                               {},
		"bytes 5-9/99999999999999999999": {},
	} {
		if got, ok := parseContentRange(text); got != want || ok != (want != contentRange{}) {
			t.Errorf("%q gives %+v, %v", text, got, ok)
		}
	}
}

func TestValidator(t *testing.T) {
	t.Parallel()
	const old, new = "Sun, 01 Mar 2026 11:00:00 GMT", "Sun, 01 Mar 2026 12:00:00 GMT"
	tests := map[string]struct {
		header http.Header
		want   string
	}{
		"strong tag":         {http.Header{"Etag": {`"a"`}, "Last-Modified": {old}, "Date": {new}}, `"a"`},
		"weak tag, old date": {http.Header{"Etag": {`W/"a"`}, "Last-Modified": {old}, "Date": {new}}, old},
		"date of the moment": {http.Header{"Last-Modified": {new}, "Date": {new}}, ""},
		"date without clock": {http.Header{"Last-Modified": {old}}, ""},
		"no ranges":          {http.Header{"Etag": {`"a"`}, "Accept-Ranges": {"none"}}, ""},
		"bare tag":           {http.Header{"Etag": {`a`}}, ""},
		"nothing":            {http.Header{}, ""},
	}
	for name, tc := range tests {
		if got := validator(tc.header); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
