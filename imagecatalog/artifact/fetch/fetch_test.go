package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/google/go-cmp/cmp"
)

// content gives bytes that are no text.
func content(n int) []byte {
	data := make([]byte, n)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	copy(data, "QFI\xfb")
	return data
}

func sha256Of(data []byte) artifact.Digest { return digest(artifact.SHA256, data) }

func digest(a artifact.Algorithm, data []byte) artifact.Digest {
	h := a.New()
	h.Write(data)
	return artifact.DigestOf(a, h)
}

// recorder is a sink that keeps what it is shown.
type recorder struct {
	bytes.Buffer
	resets int
}

func (r *recorder) Reset() error {
	r.Buffer.Reset()
	r.resets++
	return nil
}

func testOptions() Options {
	return Options{AllowLoopback: true, Backoff: time.Millisecond, MaxBackoff: 2 * time.Millisecond, IdleTimeout: time.Hour, Attempts: 3}
}

func newFetcher(t *testing.T, o Options) *Fetcher {
	t.Helper()
	f := New(o)
	t.Cleanup(f.Close)
	return f
}

func request(t *testing.T, urls ...string) (Request, *recorder) {
	t.Helper()
	dir := t.TempDir()
	sink := &recorder{}
	return Request{URLs: urls, Partial: filepath.Join(dir, "x.partial"), State: filepath.Join(dir, "x.json"), Sink: sink}, sink
}

// script is a server that behaves differently at every request; the last behaviour repeats.
type script struct {
	mu    sync.Mutex
	steps []http.HandlerFunc
	seen  []*http.Request
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	step := s.steps[min(len(s.seen), len(s.steps)-1)]
	s.seen = append(s.seen, r.Clone(context.WithoutCancel(r.Context())))
	s.mu.Unlock()
	step(w, r)
}

func (s *script) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.seen...)
}

func serve(t *testing.T, steps ...http.HandlerFunc) (*script, string) {
	t.Helper()
	s := &script{steps: steps}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL + "/image.qcow2"
}

const etag = `"v1"`

// whole serves data the plain way, with an ETag and without ranges.
func whole(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", etag)
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		w.Write(data)
	}
}

// ranged serves data as a good server does.
func ranged(data []byte, tag string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}
}

// cut announces all, sends n bytes and closes.
func cut(data []byte, n int, tag string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		if tag != "" {
			w.Header().Set("ETag", tag)
		}
		w.Write(data[:n])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// chunked sends without a length.
func chunked(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(data); i += 1000 {
			w.Write(data[i:min(i+1000, len(data))])
			w.(http.Flusher).Flush()
		}
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

// partial answers any range request with these headers and bytes.
func partial(contentRange, tag string, data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", contentRange)
		w.Header().Set("ETag", tag)
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(data)
	}
}

func with(kv string, h http.HandlerFunc) http.HandlerFunc {
	name, value, _ := strings.Cut(kv, ": ")
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(name, value)
		h(w, r)
	}
}

// TestFetch is the table of server behaviours.
func TestFetch(t *testing.T) {
	t.Parallel()
	data := content(100_000)
	half := len(data) / 2
	rest := fmt.Sprintf("bytes %d-%d/%d", half, len(data)-1, len(data))
	page := []byte("\n\n<!doctype HTML><html><body>please log in</body></html>")
	tests := map[string]struct {
		steps    []http.HandlerFunc
		max      int64
		code     artifact.Code
		retry    artifact.Retry
		requests int
		resumed  int64
		keeps    bool // something to resume stays after the failure
	}{
		"plain":                         {steps: []http.HandlerFunc{whole(data)}, requests: 1},
		"chunked":                       {steps: []http.HandlerFunc{chunked(data)}, requests: 1},
		"empty file":                    {steps: []http.HandlerFunc{status(200)}, requests: 1, code: artifact.ChecksumMismatch, retry: artifact.RetryNever},
		"cap holds exactly":             {steps: []http.HandlerFunc{whole(data)}, max: int64(len(data)), requests: 1},
		"cap with a length":             {steps: []http.HandlerFunc{whole(data)}, max: int64(len(data)) - 1, requests: 1, code: artifact.TooLarge, retry: artifact.RetryNever},
		"cap when chunked":              {steps: []http.HandlerFunc{chunked(data)}, max: int64(len(data)) - 1, requests: 1, code: artifact.TooLarge, retry: artifact.RetryNever},
		"html by type":                  {steps: []http.HandlerFunc{with("Content-Type: text/html; charset=utf-8", whole(data))}, requests: 1, code: artifact.NotAnImage, retry: artifact.RetryNever},
		"html by malformed type":        {steps: []http.HandlerFunc{with("Content-Type: TEXT/HTML; charset", whole(data))}, requests: 1, code: artifact.NotAnImage, retry: artifact.RetryNever},
		"html under another type":       {steps: []http.HandlerFunc{with("Content-Type: application/octet-stream", whole(page))}, requests: 1, code: artifact.NotAnImage, retry: artifact.RetryNever},
		"xml error page":                {steps: []http.HandlerFunc{with("Content-Type: application/octet-stream", whole([]byte("<?xml version='1.0'?><Error/>")))}, requests: 1, code: artifact.NotAnImage, retry: artifact.RetryNever},
		"gzip encoding":                 {steps: []http.HandlerFunc{with("Content-Encoding: gzip", whole(data))}, requests: 1, code: artifact.SourceEncoded, retry: artifact.RetryNever},
		"identity encoding":             {steps: []http.HandlerFunc{with("Content-Encoding: identity", whole(data))}, requests: 1},
		"401":                           {steps: []http.HandlerFunc{status(401)}, requests: 1, code: artifact.SourceForbidden, retry: artifact.RetrySlow},
		"403":                           {steps: []http.HandlerFunc{status(403)}, requests: 1, code: artifact.SourceForbidden, retry: artifact.RetrySlow},
		"404":                           {steps: []http.HandlerFunc{status(404)}, requests: 1, code: artifact.SourceMissing, retry: artifact.RetrySlow},
		"410":                           {steps: []http.HandlerFunc{status(410)}, requests: 1, code: artifact.SourceMissing, retry: artifact.RetrySlow},
		"400":                           {steps: []http.HandlerFunc{status(400)}, requests: 1, code: artifact.SourceRefused, retry: artifact.RetrySlow},
		"204":                           {steps: []http.HandlerFunc{status(204)}, requests: 1, code: artifact.SourceRefused, retry: artifact.RetrySlow},
		"206 that nobody asked for":     {steps: []http.HandlerFunc{partial(rest, etag, data[half:])}, requests: 1, code: artifact.SourceRefused, retry: artifact.RetrySlow},
		"304":                           {steps: []http.HandlerFunc{status(304)}, requests: 1, code: artifact.SourceRedirects, retry: artifact.RetryNever},
		"500 for ever":                  {steps: []http.HandlerFunc{status(500)}, requests: 3, code: artifact.SourceUnreachable},
		"503 once":                      {steps: []http.HandlerFunc{status(503), whole(data)}, requests: 2},
		"429 with Retry-After 0":        {steps: []http.HandlerFunc{status(429, "Retry-After", "0"), whole(data)}, requests: 2},
		"429 with a long wait":          {steps: []http.HandlerFunc{status(429, "Retry-After", "3600")}, requests: 1, code: artifact.SourceUnreachable},
		"closes without an answer":      {steps: []http.HandlerFunc{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, whole(data)}, requests: 2},
		"cut, then resumed":             {steps: []http.HandlerFunc{cut(data, half, etag), ranged(data, etag)}, requests: 2, resumed: int64(half)},
		"cut twice":                     {steps: []http.HandlerFunc{cut(data, half, etag), partial(rest, etag, data[half:half+10]), ranged(data, etag)}, requests: 3},
		"cut without a validator":       {steps: []http.HandlerFunc{cut(data, half, ""), ranged(data, etag)}, requests: 2},
		"cut with a weak validator":     {steps: []http.HandlerFunc{cut(data, half, `W/"v1"`), ranged(data, etag)}, requests: 2},
		"cut for ever":                  {steps: []http.HandlerFunc{cut(data, half, etag)}, requests: 5, code: artifact.SourceInterrupted, keeps: true},
		"range ignored":                 {steps: []http.HandlerFunc{cut(data, half, etag), whole(data)}, requests: 3},
		"changed in between":            {steps: []http.HandlerFunc{cut(content(99_999), half, `"v0"`), ranged(data, etag)}, requests: 3},
		"416":                           {steps: []http.HandlerFunc{cut(data, half, etag), status(416), whole(data)}, requests: 3},
		"206 from another start":        {steps: []http.HandlerFunc{cut(data, half, etag), partial(fmt.Sprintf("bytes 0-%d/%d", len(data)-1, len(data)), etag, data), whole(data)}, requests: 3},
		"206 of another total":          {steps: []http.HandlerFunc{cut(data, half, etag), partial(fmt.Sprintf("bytes %d-%d/%d", half, len(data), len(data)+1), etag, append(data[half:len(data):len(data)], 0)), whole(data)}, requests: 3},
		"206 of another version":        {steps: []http.HandlerFunc{cut(data, half, etag), partial(rest, `"v2"`, data[half:]), whole(data)}, requests: 3},
		"206 without Content-Range":     {steps: []http.HandlerFunc{cut(data, half, etag), partial("", etag, data[half:]), whole(data)}, requests: 3},
		"206 with the wrong bytes":      {steps: []http.HandlerFunc{cut(data, half, etag), partial(rest, etag, content(len(data)-half)), whole(data)}, requests: 3},
		"206 with an unknown total":     {steps: []http.HandlerFunc{cut(data, half, etag), partial(fmt.Sprintf("bytes %d-%d/*", half, len(data)-1), etag, data[half:])}, requests: 2, resumed: int64(half)},
		"wrong digest":                  {steps: []http.HandlerFunc{whole(content(99_999))}, requests: 1, code: artifact.ChecksumMismatch, retry: artifact.RetryNever},
		"two ranges in one answer":      {steps: []http.HandlerFunc{with("Content-Type: multipart/byteranges; boundary=x", whole(data))}, requests: 1, code: artifact.SourceRefused, retry: artifact.RetrySlow},
		"short body, shorter than told": {steps: []http.HandlerFunc{cut(data[:100], 50, etag), whole(data)}, requests: 3},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, url := serve(t, tc.steps...)
			req, sink := request(t, url)
			req.Expect, req.MaxBytes = []artifact.Digest{sha256Of(data)}, tc.max
			req.Progress = func(int64, int64) {} // a listener must not lift the cap
			res, err := newFetcher(t, testOptions()).Fetch(t.Context(), req)
			if got := len(server.requests()); got != tc.requests {
				t.Errorf("%d requests, want %d", got, tc.requests)
			}
			if artifact.CodeOf(err) != tc.code || (err != nil) != (tc.code != "") {
				t.Fatalf("error %v, want code %q", err, tc.code)
			}
			if err != nil {
				checkFailure(t, req, err, tc.retry, tc.keeps)
				return
			}
			if tc.resumed != 0 && res.Resumed != tc.resumed {
				t.Errorf("resumed %d, want %d", res.Resumed, tc.resumed)
			}
			checkSuccess(t, req, sink, res, data)
		})
	}
}

func checkSuccess(t *testing.T, req Request, sink *recorder, res Result, data []byte) {
	t.Helper()
	got, err := os.ReadFile(req.Partial)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes on disk, want %d; error %v", len(got), len(data), err)
	}
	if !bytes.Equal(sink.Bytes(), data) {
		t.Errorf("the sink saw %d bytes, want %d", sink.Len(), len(data))
	}
	if res.Bytes != int64(len(data)) || res.SHA256 != sha256Of(data) {
		t.Errorf("result %+v", res)
	}
}

func checkFailure(t *testing.T, req Request, err error, retry artifact.Retry, keeps bool) {
	t.Helper()
	if got := artifact.RetryOf(err); got != retry {
		t.Errorf("retry class %s, want %s", got, retry)
	}
	if !strings.Contains(err.Error(), req.URLs[0]) {
		t.Errorf("the message names no mirror: %v", err)
	}
	_, statErr := os.Stat(req.Partial)
	if keeps != (statErr == nil) {
		t.Errorf("partial file: %v", statErr)
	}
}

func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	data := content(10_000)
	server, url := serve(t, cut(data, 5000, etag), ranged(data, etag))
	req, _ := request(t, url)
	if _, err := newFetcher(t, testOptions()).Fetch(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range server.requests() {
		got = append(got, fmt.Sprint(r.Method, " ", r.Header["Accept-Encoding"], r.Header["Range"], r.Header["If-Range"], r.Header["Referer"]))
	}
	want := []string{`GET [identity] [] [] []`, `GET [identity] [bytes=5000-] [` + etag + `] []`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestAddressByteForByte sends addresses that go-getter would take apart.
func TestAddressByteForByte(t *testing.T) {
	t.Parallel()
	data := content(1000)
	for _, target := range []string{
		"/a//b//image.qcow2",
		"/image.qcow2?z=1&a=2&a=1&archive=false&checksum=md5:00&filename=x",
		"/image.qcow2?X-Amz-Signature=ab%2Fcd+ef%20&empty=&flag&sshkey=x",
		"/image.tar.gz?archive=zip",
		"/a%2Fb/im%20age%7E.qcow2?q=%7e",
		"/dir/..%2fx/image.qcow2",
		"/github.com/hashicorp/x//sub?ref=main",
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			server, url := serve(t, whole(data))
			base := strings.TrimSuffix(url, "/image.qcow2")
			req, sink := request(t, base+target)
			res, err := newFetcher(t, testOptions()).Fetch(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			checkSuccess(t, req, sink, res, data)
			if got := server.requests()[0].RequestURI; got != target {
				t.Errorf("asked for %s, want %s", got, target)
			}
			if strings.ContainsAny(res.Mirror, "?") {
				t.Errorf("the mirror shows its query: %s", res.Mirror)
			}
		})
	}
}

func TestMirrors(t *testing.T) {
	t.Parallel()
	data := content(50_000)
	tests := map[string]struct {
		mirrors [][]http.HandlerFunc
		used    int
		code    artifact.Code
		retry   artifact.Retry
	}{
		"first is good":                {mirrors: [][]http.HandlerFunc{{whole(data)}, {whole(data)}}, used: 0},
		"first is missing":             {mirrors: [][]http.HandlerFunc{{status(404)}, {whole(data)}}, used: 1},
		"first has other bytes":        {mirrors: [][]http.HandlerFunc{{whole(content(40_000))}, {whole(data)}}, used: 1},
		"first is a page":              {mirrors: [][]http.HandlerFunc{{whole([]byte("<html>"))}, {whole(data)}}, used: 1},
		"first is down":                {mirrors: [][]http.HandlerFunc{{status(502)}, {status(404)}, {whole(data)}}, used: 2},
		"first breaks off for ever":    {mirrors: [][]http.HandlerFunc{{cut(data, 100, etag)}, {whole(data)}}, used: 1},
		"all have other bytes":         {mirrors: [][]http.HandlerFunc{{whole(content(40_000))}, {whole(content(40_001))}}, code: artifact.ChecksumMismatch, retry: artifact.RetryNever},
		"other bytes here, down there": {mirrors: [][]http.HandlerFunc{{whole(content(40_000))}, {status(503)}}, code: artifact.SourceUnreachable},
		"other bytes here, missing":    {mirrors: [][]http.HandlerFunc{{whole(content(40_000))}, {status(404)}}, code: artifact.SourceMissing, retry: artifact.RetrySlow},
		"down here, other bytes there": {mirrors: [][]http.HandlerFunc{{status(503)}, {whole(content(40_000))}}, code: artifact.SourceUnreachable},
		"all are missing or forbidden": {mirrors: [][]http.HandlerFunc{{status(403)}, {status(404)}}, code: artifact.SourceForbidden, retry: artifact.RetrySlow},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var urls []string
			for _, steps := range tc.mirrors {
				_, url := serve(t, steps...)
				urls = append(urls, url)
			}
			req, sink := request(t, urls...)
			req.Expect = []artifact.Digest{sha256Of(data), digest(artifact.MD5, data), digest(artifact.SHA512, data)}
			res, err := newFetcher(t, testOptions()).Fetch(t.Context(), req)
			if artifact.CodeOf(err) != tc.code || (err != nil) != (tc.code != "") || artifact.RetryOf(err) != tc.retry {
				t.Fatalf("error %v of class %s, want code %q", err, artifact.RetryOf(err), tc.code)
			}
			if err == nil {
				checkSuccess(t, req, sink, res, data)
				if res.Mirror != urls[tc.used] {
					t.Errorf("mirror %s, want %s", res.Mirror, urls[tc.used])
				}
				return
			}
			for _, url := range urls {
				if !strings.Contains(err.Error(), url) {
					t.Errorf("%v does not name %s", err, url)
				}
			}
		})
	}
}

// TestRestart stops a fetch in the middle and lets a new Fetcher go on.
func TestRestart(t *testing.T) {
	t.Parallel()
	data := content(200_000)
	tests := map[string]struct {
		second  http.HandlerFunc
		between func(Request) error
		resumed bool
	}{
		"goes on":                         {second: ranged(data, etag), resumed: true},
		"the source has changed":          {second: ranged(data, `"v2"`)},
		"the source knows no ranges":      {second: whole(data)},
		"the state is lost":               {second: ranged(data, etag), between: func(r Request) error { return os.Remove(r.State) }},
		"the state is damaged":            {second: ranged(data, etag), between: func(r Request) error { return os.WriteFile(r.State, []byte("{"), 0o600) }},
		"the partial is lost":             {second: ranged(data, etag), between: func(r Request) error { return os.Remove(r.Partial) }},
		"the partial is longer":           {second: ranged(data, etag), between: func(r Request) error { return os.WriteFile(r.Partial, make([]byte, 300_000), 0o600) }},
		"the partial was damaged":         {second: ranged(data, etag), between: func(r Request) error { return os.WriteFile(r.Partial, make([]byte, 1000), 0o600) }},
		"the partial is complete":         {second: status(500), between: func(r Request) error { return os.WriteFile(r.Partial, data, 0o600) }, resumed: true},
		"the partial is complete, broken": {second: whole(data), between: func(r Request) error { return os.WriteFile(r.Partial, make([]byte, len(data)), 0o600) }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			first := func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", etag)
				stall(data, 100_000)(w, r)
			}
			_, url := serve(t, first, tc.second)
			req, _ := request(t, url)
			req.Expect = []artifact.Digest{sha256Of(data)}
			req.Progress = func(done, _ int64) {
				if done == 100_000 {
					cancel()
				}
			}
			_, err := newFetcher(t, testOptions()).Fetch(ctx, req)
			if artifact.CodeOf(err) != artifact.Canceled || !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v", err)
			}
			if tc.between != nil {
				if err := tc.between(req); err != nil {
					t.Fatal(err)
				}
			}
			sink := &recorder{}
			req.Sink, req.Progress = sink, nil
			res, err := newFetcher(t, testOptions()).Fetch(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			checkSuccess(t, req, sink, res, data)
			if (res.Resumed > 0) != tc.resumed {
				t.Errorf("resumed %d bytes", res.Resumed)
			}
		})
	}
}

// TestResumesTheMirrorItHas goes on with the second mirror, which the partial file is from.
func TestResumesTheMirrorItHas(t *testing.T) {
	t.Parallel()
	data := content(50_000)
	first, url1 := serve(t, status(503), whole(data))
	_, url2 := serve(t, cut(data, 20_000, etag), status(503), status(503), ranged(data, etag))
	req, _ := request(t, url1, url2)
	req.Expect = []artifact.Digest{sha256Of(data)}
	o := testOptions()
	o.Attempts = 1
	if _, err := newFetcher(t, o).Fetch(t.Context(), req); artifact.CodeOf(err) != artifact.SourceUnreachable {
		t.Fatalf("error %v", err)
	}
	o.Attempts = 4
	sink := &recorder{}
	req.Sink = sink
	res, err := newFetcher(t, o).Fetch(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	checkSuccess(t, req, sink, res, data)
	if res.Mirror != url2 || res.Resumed != 20_000 || len(first.requests()) != 1 {
		t.Errorf("result %+v, %d requests to the first", res, len(first.requests()))
	}
}

type space struct{ expected, wrote, fail int64 }

func (s *space) Expect(n int64) error { s.expected += n; return nil }

func (s *space) Wrote(n int64) error {
	s.wrote += n
	if s.fail > 0 && s.wrote > s.fail {
		return artifact.NewError(artifact.NoSpace, "full")
	}
	return nil
}

func TestSpace(t *testing.T) {
	t.Parallel()
	data := content(100_000)
	server, url := serve(t, whole(data))
	req, _ := request(t, url, url)
	sp := &space{}
	req.Space = sp
	if _, err := newFetcher(t, testOptions()).Fetch(t.Context(), req); err != nil || sp.expected != 100_000 || sp.wrote != 100_000 {
		t.Errorf("space %+v, error %v", sp, err)
	}
	req, _ = request(t, url, url)
	req.Space = &space{fail: 50_000}
	_, err := newFetcher(t, testOptions()).Fetch(t.Context(), req)
	if artifact.CodeOf(err) != artifact.NoSpace || artifact.RetryOf(err) != artifact.RetryBackoff {
		t.Errorf("error %v", err)
	}
	if got := len(server.requests()); got != 2 {
		t.Errorf("%d requests: a full disk is no fault of the mirror", got)
	}
}

type brokenSink struct{}

var errSink = errors.New("sink")

func (brokenSink) Write([]byte) (int, error) { return 0, errSink }
func (brokenSink) Reset() error              { return nil }

func TestSinkError(t *testing.T) {
	t.Parallel()
	server, url := serve(t, whole(content(1000)))
	req, _ := request(t, url)
	req.Sink = brokenSink{}
	if _, err := newFetcher(t, testOptions()).Fetch(t.Context(), req); !errors.Is(err, errSink) {
		t.Errorf("error %v", err)
	}
	if got := len(server.requests()); got != 1 {
		t.Errorf("%d requests", got)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	data := content(10_000)
	dir := t.TempDir()
	name := filepath.Join(dir, "an image #1?.qcow2")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	escaped := "file://" + strings.NewReplacer(" ", "%20", "#", "%23", "?", "%3F").Replace(name)
	tests := map[string]struct {
		url  string
		max  int64
		deny bool
		code artifact.Code
	}{
		"a file":        {url: escaped},
		"not offered":   {url: escaped, deny: true, code: artifact.InvalidURL},
		"too large":     {url: escaped, max: 9_999, code: artifact.TooLarge},
		"missing":       {url: "file://" + dir + "/none", code: artifact.SourceMissing},
		"a directory":   {url: "file://" + dir, code: artifact.InvalidURL},
		"relative":      {url: "file:image", code: artifact.InvalidURL},
		"another host":  {url: "file://host" + name, code: artifact.InvalidURL},
		"with a query":  {url: escaped + "?archive=zip", code: artifact.InvalidURL},
		"doubled slash": {url: strings.Replace(escaped, "/an", "//an", 1)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testOptions()
			o.AllowFile = !tc.deny
			req, sink := request(t, tc.url)
			req.MaxBytes = tc.max
			res, err := newFetcher(t, o).Fetch(t.Context(), req)
			if artifact.CodeOf(err) != tc.code || (err != nil) != (tc.code != "") {
				t.Fatalf("error %v, want code %q", err, tc.code)
			}
			if err == nil {
				checkSuccess(t, req, sink, res, data)
				if info, err := os.Lstat(req.Partial); err != nil || !info.Mode().IsRegular() {
					t.Errorf("the partial file is no regular file: %v, %v", info, err)
				}
			}
		})
	}
}

func TestSmall(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		steps []http.HandlerFunc
		want  string
		code  artifact.Code
	}{
		"plain":         {steps: []http.HandlerFunc{whole([]byte("abc"))}, want: "abc"},
		"second time":   {steps: []http.HandlerFunc{status(500), whole([]byte("abc"))}, want: "abc"},
		"too large":     {steps: []http.HandlerFunc{chunked(content(20_000))}, code: artifact.TooLarge},
		"page":          {steps: []http.HandlerFunc{whole([]byte("<html>"))}, code: artifact.NotAnImage},
		"missing":       {steps: []http.HandlerFunc{status(404)}, code: artifact.SourceMissing},
		"cut for ever":  {steps: []http.HandlerFunc{cut([]byte("abcdef"), 3, etag)}, code: artifact.SourceInterrupted},
		"cut, then all": {steps: []http.HandlerFunc{cut([]byte("abcdef"), 3, etag), whole([]byte("abcdef"))}, want: "abcdef"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := serve(t, tc.steps...)
			data, err := newFetcher(t, testOptions()).Small(t.Context(), url+"?secret=1", 10_000)
			if artifact.CodeOf(err) != tc.code || string(data) != tc.want {
				t.Errorf("read %q, error %v", data, err)
			}
			if err != nil && (strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), url)) {
				t.Errorf("message %v", err)
			}
		})
	}
}

func TestSmallFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sums"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := testOptions()
	o.AllowFile = true
	f := newFetcher(t, o)
	for name, tc := range map[string]struct {
		max  int64
		want string
		code artifact.Code
	}{
		"/sums": {10, "abc", ""}, "/none": {10, "", artifact.SourceMissing}, "/": {10, "", artifact.InvalidURL}, "//sums": {2, "", artifact.TooLarge},
	} {
		data, err := f.Small(t.Context(), "file://"+dir+name, tc.max)
		if string(data) != tc.want || artifact.CodeOf(err) != tc.code {
			t.Errorf("%s: read %q, error %v", name, data, err)
		}
	}
}
