package publish_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/capcat/capcat/imagecatalog/publish"
)

// TestRedirects reads from a server that leads elsewhere, as the front of a bucket or of a release page does.
func TestRedirects(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "by http") }))
	defer plain.Close()
	for what, c := range map[string]struct {
		to   string // where the first answer leads: OTHER and SELF stand for servers
		max  int
		want string
		err  string
	}{
		"to another server":  {to: "OTHER/b?sig=secret", max: 5, want: "other"},
		"on the same server": {to: "SELF/nodes/b", max: 5, want: "here"},
		"with credentials":   {to: "https://me:secret@HOST/b", max: 5, want: "other"},
		"a relative address": {to: "b", max: 5, want: "here"},
		"a circle":           {to: "SELF/nodes/a", max: 5, err: "more than 5"},
		"one too many":       {to: "SELF/nodes/b", max: 0, err: "redirects are not followed"},
		"to http":            {to: plain.URL + "/secret", max: 5, err: "from https to http, to 127.0.0.1"},
		"to a file":          {to: "file:///etc/secret", max: 5, err: "no http or https address"},
	} {
		t.Run(what, func(t *testing.T) {
			var sent http.Header
			other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent = r.Header.Clone()
				_, _ = io.WriteString(w, "other")
			}))
			defer other.Close()
			b := newBucket(t)
			b.objects["b"] = "here"
			to := strings.NewReplacer("OTHER", other.URL, "SELF", b.URL, "HOST", strings.TrimPrefix(other.URL, "https://")).Replace(c.to)
			b.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/nodes/a" {
					return false
				}
				status(302, "Location", to)(w, r)
				return true
			}
			p := b.place(t, func(o *publish.BucketOptions) {
				o.Redirects, o.Header = c.max, http.Header{"X-Token": {"token-secret"}, "Cookie": {"secret"}}
				o.Keys = &publish.Keys{ID: "AKIA", Secret: "key-secret", Session: "session-secret", Region: "eu"}
			})
			text, _, err := p.Read(t.Context(), "a", 100)
			if string(text) != c.want || (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("read %q, %v, want %q, %q", text, err, c.want, c.err)
			}
			for name, values := range sent {
				if strings.HasPrefix(name, "X-") || name == "Authorization" || name == "Cookie" || name == "Referer" {
					t.Errorf("the other server got %s: %v", name, values)
				}
			}
			last := b.headers[len(b.headers)-1]
			if last.Get("X-Token") == "" || !strings.HasPrefix(last.Get("Authorization"), "AWS4-HMAC-SHA256 ") {
				t.Errorf("the server itself got no credentials: %v", last)
			}
			if c.want == "here" && last.Get("Authorization") == b.headers[0].Get("Authorization") {
				t.Error("the second request bears the signature of the first")
			}
			if c.err != "" && len(b.headers) > 6 {
				t.Errorf("%d requests were sent", len(b.headers))
			}
		})
	}
}

// TestWritesAreNotRedirected has leave to follow, and writes.
func TestWritesAreNotRedirected(t *testing.T) {
	b := newBucket(t)
	b.before = func(w http.ResponseWriter, r *http.Request) bool {
		status(307, "Location", b.URL+"/nodes/other")(w, r)
		return true
	}
	p := b.place(t, func(o *publish.BucketOptions) { o.Redirects = 5 })
	if err := p.Create(t.Context(), "a", object("x")); err == nil || errors.Is(err, publish.ErrRedirect) || !strings.Contains(fmt.Sprint(err), "redirects are not followed") {
		t.Errorf("ended with %v", err)
	}
	if len(b.objects) > 0 {
		t.Errorf("the bucket holds %v", b.objects)
	}
}
