package publish_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/publish"
)

func object(text string) publish.Object {
	return publish.Object{
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
		Size: int64(len(text)), SHA256: artifact.Digest{Algorithm: artifact.SHA256, Hex: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))},
	}
}

// failing answers the first n requests of a method in a way of its own.
func failing(method string, n int32, answer http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
	var count atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || count.Add(1) > n {
			return false
		}
		answer(w, r)
		return true
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "what the server says may repeat token-secret")
	}
}

// s3Error is how a server that speaks S3 refuses. Some repeat what they were sent.
func s3Error(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n<Error><Code>%s</Code><Message>no</Message><AWSAccessKeyId>token-secret</AWSAccessKeyId></Error>", code)
	}
}

// cut takes half of the body and closes the connection.
func cut(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.CopyN(io.Discard, r.Body, 4)
	panic(http.ErrAbortHandler)
}

func TestCreate(t *testing.T) {
	for what, c := range map[string]struct {
		before func(http.ResponseWriter, *http.Request) bool
		there  string
		puts   int
		waits  []time.Duration
		want   string // "" for success
		err    error
	}{
		"at once":               {puts: 1},
		"exists":                {there: "other", puts: 1, want: "exists", err: publish.ErrExists},
		"500 twice":             {before: failing("PUT", 2, status(500)), puts: 3, waits: []time.Duration{time.Second, 2 * time.Second}},
		"503 for ever":          {before: failing("PUT", 99, status(503)), puts: 5, waits: []time.Duration{1e9, 2e9, 4e9, 8e9}, want: "503"},
		"503 with Retry-After":  {before: failing("PUT", 1, status(503, "Retry-After", "17")), puts: 2, waits: []time.Duration{17 * time.Second}},
		"Retry-After of a day":  {before: failing("PUT", 1, status(429, "Retry-After", "86400")), puts: 2, waits: []time.Duration{5 * time.Minute}},
		"409 once":              {before: failing("PUT", 1, status(409)), puts: 2, waits: []time.Duration{time.Second}},
		"408 once":              {before: failing("PUT", 1, status(408)), puts: 2, waits: []time.Duration{time.Second}},
		"cut twice":             {before: failing("PUT", 2, cut), puts: 3, waits: []time.Duration{time.Second, 2 * time.Second}},
		"403":                   {before: failing("PUT", 9, status(403)), puts: 1, want: "credentials"},
		"401":                   {before: failing("PUT", 9, status(401)), puts: 1, want: "credentials"},
		"404":                   {before: failing("PUT", 9, status(404)), puts: 1, want: "no such bucket"},
		"wrong clock":           {before: failing("PUT", 9, s3Error(403, "RequestTimeTooSkewed")), puts: 1, want: "the clock of this computer"},
		"wrong secret":          {before: failing("PUT", 9, s3Error(403, "SignatureDoesNotMatch")), puts: 1, want: "AWS_SECRET_ACCESS_KEY"},
		"wrong key":             {before: failing("PUT", 9, s3Error(403, "InvalidAccessKeyId")), puts: 1, want: "no such access key"},
		"wrong region":          {before: failing("PUT", 9, s3Error(400, "AuthorizationHeaderMalformed")), puts: 1, want: "--s3-region"},
		"old session":           {before: failing("PUT", 9, s3Error(400, "ExpiredToken")), puts: 1, want: "has expired"},
		"too large for S3":      {before: failing("PUT", 9, s3Error(400, "EntityTooLarge")), puts: 1, want: "larger than"},
		"denied by S3":          {before: failing("PUT", 9, s3Error(403, "AccessDenied")), puts: 1, want: "do not allow it"},
		"code that is none":     {before: failing("PUT", 9, s3Error(400, "token-secret")), puts: 1, want: "400 Bad Request"},
		"405":                   {before: failing("PUT", 9, status(405)), puts: 1, want: "no PUT"},
		"413":                   {before: failing("PUT", 9, status(413)), puts: 1, want: "larger than"},
		"507":                   {before: failing("PUT", 9, status(507)), puts: 1, want: "507"},
		"redirect":              {before: failing("PUT", 9, status(307, "Location", "https://elsewhere.example.org/")), puts: 1, want: "redirects are not followed"},
		"redirect to see other": {before: failing("PUT", 9, status(303, "Location", "/nodes/b")), puts: 1, want: "redirects are not followed"},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBucket(t)
			b.before = c.before
			if c.there != "" {
				b.objects["a.qcow2"] = c.there
			}
			clock := &hasty{}
			p := b.place(t, func(o *publish.BucketOptions) {
				o.Clock, o.Header = clock, http.Header{"Authorization": {"Bearer token-secret"}}
			})
			err := p.Create(t.Context(), "a.qcow2", object("image content"))
			switch {
			case (err == nil) != (c.want == ""):
				t.Errorf("ended with %v", err)
			case err != nil && (!strings.Contains(err.Error(), c.want) || c.err != nil && !errors.Is(err, c.err)):
				t.Errorf("%v, want %q", err, c.want)
			case err != nil && strings.Contains(err.Error(), "secret"):
				t.Errorf("the error tells a secret: %v", err)
			case err == nil && b.objects["a.qcow2"] != "image content":
				t.Errorf("the bucket holds %q", b.objects["a.qcow2"])
			case c.there != "" && b.objects["a.qcow2"] != c.there:
				t.Error("the file was overwritten")
			}
			if got := len(b.seen()); got != c.puts {
				t.Errorf("%d requests, want %d", got, c.puts)
			}
			if diff := cmp.Diff(c.waits, clock.waits); diff != "" {
				t.Errorf("waits: %s", diff)
			}
		})
	}
}

// TestLostAnswer stores the file and loses the answer: the next attempt finds it.
func TestLostAnswer(t *testing.T) {
	b := newBucket(t)
	b.before = failing("PUT", 1, func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		b.objects["a"] = string(text)
		b.mu.Unlock()
		panic(http.ErrAbortHandler)
	})
	if err := b.place(t, nil).Create(t.Context(), "a", object("x")); !errors.Is(err, publish.ErrExists) {
		t.Errorf("ended with %v", err)
	}
}

func TestServersWithoutConditions(t *testing.T) {
	b := newBucket(t)
	b.refusing = true
	p := b.place(t, nil)
	if err := p.Create(t.Context(), "a", object("first")); err != nil || b.objects["a"] != "first" {
		t.Errorf("%v, %q", err, b.objects["a"])
	}
	if err := p.Create(t.Context(), "a", object("second")); !errors.Is(err, publish.ErrExists) || b.objects["a"] != "first" {
		t.Errorf("%v, %q", err, b.objects["a"])
	}
	if err := p.Replace(t.Context(), "a", []byte("third"), etag("first")); err != nil || b.objects["a"] != "third" {
		t.Errorf("%v, %q", err, b.objects["a"])
	}
}

func TestReplace(t *testing.T) {
	for what, c := range map[string]struct {
		there, tag string
		err        error
	}{
		"new":                {"", "", nil},
		"new, but there":     {"x", "", publish.ErrChanged},
		"as it was read":     {"x", etag("x"), nil},
		"changed meanwhile":  {"y", etag("x"), publish.ErrChanged},
		"weak tag, no proof": {"y", "W/" + etag("x"), nil},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBucket(t)
			if c.there != "" {
				b.objects["index.json"] = c.there
			}
			err := b.place(t, nil).Replace(t.Context(), "index.json", []byte("next"), c.tag)
			if !errors.Is(err, c.err) {
				t.Errorf("ended with %v", err)
			}
			if want := map[bool]string{true: "next", false: c.there}[c.err == nil]; b.objects["index.json"] != want {
				t.Errorf("the bucket holds %q", b.objects["index.json"])
			}
		})
	}
}

func TestRead(t *testing.T) {
	for what, c := range map[string]struct {
		before func(http.ResponseWriter, *http.Request) bool
		limit  int64
		want   string
	}{
		"at once":   {nil, 100, ""},
		"502 once":  {failing("GET", 1, status(502)), 100, ""},
		"too large": {nil, 3, "larger than 3"},
		"missing":   {failing("GET", 9, status(404)), 100, "no such file"},
		"gone":      {failing("GET", 9, status(410)), 100, "no such file"},
		"redirect":  {failing("GET", 9, status(302, "Location", "https://elsewhere.example.org/")), 100, "redirects"},
		"cut answer": {failing("GET", 1, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		}), 100, ""},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBucket(t)
			b.objects["a"] = "text"
			b.before = c.before
			text, tag, err := b.place(t, nil).Read(t.Context(), "a", c.limit)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("ended with %v, want %q", err, c.want)
			}
			if err == nil && (string(text) != "text" || tag != etag("text")) {
				t.Errorf("read %q with the tag %s", text, tag)
			}
		})
	}
}

// TestCredentialsStay sends credentials to a server that redirects to another one.
func TestCredentialsStay(t *testing.T) {
	other := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other server got %s with %v", r.Method, r.Header)
	}))
	defer other.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		b := newBucket(t)
		b.before = func(w http.ResponseWriter, _ *http.Request) bool {
			status(code, "Location", other.URL+"/nodes/a")(w, nil)
			return true
		}
		p := b.place(t, func(o *publish.BucketOptions) {
			o.Header = http.Header{"Authorization": {"Bearer token-secret"}}
			o.Keys = &publish.Keys{ID: "AKIA", Secret: "key-secret", Session: "session-secret", Region: "eu"}
		})
		_, _, readErr := p.Read(t.Context(), "a", 10)
		_, sizeErr := p.Size(t.Context(), "a")
		_, digestErr := p.Digest(t.Context(), "a")
		for _, err := range []error{p.Create(t.Context(), "a", object("x")), p.Replace(t.Context(), "a", []byte("x"), ""), readErr, sizeErr, digestErr} {
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%d: %v", code, err)
			}
		}
		if text := fmt.Sprintf("%v %+v %#v %s", p.Keys, p.Keys, p.Keys, p); strings.Contains(text, "secret") {
			t.Errorf("printed: %s", text)
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	b := newBucket(t)
	p := b.place(t, func(o *publish.BucketOptions) { o.Header = http.Header{"x-token": {"t"}} })
	if err := p.Create(t.Context(), "debian 12+v1.ova", object("content")); err != nil {
		t.Fatal(err)
	}
	if err := p.Create(t.Context(), "nothing", object("")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"debian 12+v1.ova": "content", "nothing": ""}, b.objects); diff != "" {
		t.Error(diff)
	}
	h := b.headers[0]
	for name, want := range map[string]string{"If-None-Match": "*", "X-Token": "t", "Content-Type": "application/octet-stream", "User-Agent": "capcat", "Authorization": ""} {
		if got := h.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestStandsStill sends to a server that takes nothing.
func TestStandsStill(t *testing.T) {
	release := make(chan struct{})
	b := newBucket(t)
	clock := &hasty{}
	b.before = failing("PUT", 1, func(http.ResponseWriter, *http.Request) {
		clock.beLate()
		<-release
	})
	t.Cleanup(func() { close(release) })
	p := b.place(t, func(o *publish.BucketOptions) { o.Clock = clock })
	if err := p.Create(t.Context(), "a", object(strings.Repeat("x", 1<<20))); err != nil {
		t.Errorf("ended with %v", err)
	}
	if got := len(b.seen()); got != 2 {
		t.Errorf("%d requests", got)
	}
}

func TestUntrustedServer(t *testing.T) {
	b := newBucket(t)
	clock := &hasty{}
	p := b.place(t, func(o *publish.BucketOptions) { o.Transport, o.Clock = nil, clock })
	if err := p.Create(t.Context(), "a", object("x")); err == nil || !strings.Contains(err.Error(), "certificate") || len(clock.waits) > 0 {
		t.Errorf("%v after %v", err, clock.waits)
	}
}

func TestNewBucket(t *testing.T) {
	token := http.Header{"Authorization": {"secret"}}
	for what, c := range map[string]struct {
		o    publish.BucketOptions
		want string
	}{
		"https":                  {publish.BucketOptions{URL: "https://s3.example.com/nodes", Header: token}, ""},
		"http":                   {publish.BucketOptions{URL: "http://mirror.example.com/nodes"}, ""},
		"http with a header":     {publish.BucketOptions{URL: "http://mirror.example.com/nodes", Header: token}, "https only"},
		"http with keys":         {publish.BucketOptions{URL: "http://mirror.example.com/nodes", Keys: &publish.Keys{}}, "https only"},
		"credentials in the URL": {publish.BucketOptions{URL: "https://me:secret@s3.example.com/nodes"}, "holds credentials"},
		"signed URL":             {publish.BucketOptions{URL: "https://s3.example.com/nodes?X-Amz-Signature=secret"}, "without a query"},
		"other scheme":           {publish.BucketOptions{URL: "s3://nodes/x"}, "https is the one"},
		"no host":                {publish.BucketOptions{URL: "https:///nodes"}, "scheme, host and path"},
		"unreadable":             {publish.BucketOptions{URL: "https://h/%zzsecret"}, "cannot be read"},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := publish.NewBucket(c.o)
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestBigFile sends more than one buffer holds and compares.
func TestBigFile(t *testing.T) {
	b := newBucket(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	p := b.place(t, nil)
	if err := p.Create(t.Context(), "big", object(string(content))); err != nil {
		t.Fatal(err)
	}
	size, err := p.Size(t.Context(), "big")
	if err != nil || size != int64(len(content)) {
		t.Errorf("%d, %v", size, err)
	}
	d, err := p.Digest(t.Context(), "big")
	if err != nil || d != object(string(content)).SHA256 {
		t.Errorf("%s, %v", d, err)
	}
	if !slices.Equal(b.seen(), []string{"PUT big", "HEAD big", "GET big"}) {
		t.Error("other requests were sent")
	}
}
