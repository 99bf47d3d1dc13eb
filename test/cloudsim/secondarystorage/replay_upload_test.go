package secondarystorage

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

const (
	uploadHost = "storage.sim.example.org"
	boundary   = "----------------------------sim"
)

// attempt is one POST of an upload, as it is put together.
type attempt struct {
	method, path, version string
	headers               [][2]string
	host, forwarded       string
	body                  []byte
	// length is the header, "-" for none.
	length  string
	chunked bool
	stop    int
}

// uploads replays the lines of one way in.
type uploads struct {
	t      *testing.T
	files  string
	engine *Engine
	server *httptest.Server
	clock  *clocktesting.FakeClock
	front  bool
	// lost is how the race of the next refusal ends: the record tells, since it was chance there.
	lost bool
	// params are what was handed out, by the begin of the names of lines.
	params map[string]UploadParams
	serial int64
}

// impossible are the lines that cannot be equal. One that becomes equal fails.
var impossible = map[string]string{
	"u-content-length-text":        "Go's server refuses the header before the handler is asked",
	"u-content-length-negative":    "Go's server refuses the header before the handler is asked",
	"u-apache-content-length-text": "Go's server refuses the header with a page of its own",
	"u-concurrent-a":               "two uploads at once at the receiver itself get into each other's folder; behind its front they do not",
}

func replayUploads(t *testing.T, files string) {
	t.Helper()
	for _, front := range []bool{false, true} {
		name := map[bool]string{false: "receiver", true: "front"}[front]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUploads(t, files, front)
			for _, l := range readTranscript(t) {
				if l.Area == "u" && front == strings.Contains(l.Via, "front") {
					t.Run(l.Name, func(t *testing.T) { u.replay(t, l) })
				}
			}
		})
	}
}

func newUploads(t *testing.T, files string, front bool) *uploads {
	t.Helper()
	u := &uploads{t: t, files: files, front: front, params: map[string]UploadParams{}, clock: clocktesting.NewFakeClock(now)}
	e, err := New(Options{Dir: t.TempDir(), Clock: u.clock, RefusalLost: func(*http.Request) bool { return u.lost }})
	if err != nil {
		t.Fatal(err)
	}
	u.engine = e
	handler := e.Receiver()
	if front {
		handler = e.Front()
	}
	u.server = httptest.NewServer(handler)
	t.Cleanup(func() {
		u.server.CloseClientConnections()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		u.server.Close()
	})
	return u
}

// follows are the ends of names of lines that go on with the URL of the line before them.
var follows = regexp.MustCompile(`-(second-post-before-poll|second-post-after-poll|status-first|status-second|retry-right|retry-after-poll|retry|retry2|status|keep)$`)

func (u *uploads) id(name string) string {
	base := follows.ReplaceAllString(name, "")
	switch base {
	case "u-ok", "u-second-post-before-poll", "u-status-first", "u-status-second", "u-second-post-after-poll", "u":
		return "u-ok"
	case "u-apache-ok", "u-apache":
		return "u-apache-ok"
	}
	return strings.NewReplacer("+", "-", " ", "-").Replace(base)
}

func (u *uploads) replay(t *testing.T, l line) {
	id := u.id(l.Name)
	if strings.HasPrefix(l.Note, "status") {
		u.settle(id, l)
		compareStatus(t, l, u.engine.UploadStatus(id))
		return
	}
	if strings.Contains(l.Note, "after management") {
		u.engine.UploadStatus(id)
	}
	if len(l.Seen) > 0 {
		u.replayTries(t, l)
		return
	}
	a, p := u.build(t, id, l)
	u.lost = l.Response != nil && strings.Contains(l.Response.StatusLine, " 502 ")
	got := u.send(t, l, a, p)
	if l.Response != nil {
		compareAnswer(t, l, got)
	}
	if l.Note == "uuid of another template in the URL" {
		id += "-other"
	}
	if strings.Contains(l.Note, "status asked every") {
		// The end was told to one of the many questions.
		u.engine.UploadStatus(id)
	}
	if _, ok := impossible[l.Name]; !ok && l.StatusAfter != nil && !chanceStatus(l) {
		u.settle(id, l)
		compareStatus(t, l, u.engine.UploadStatus(id))
	} else if l.StatusAfter != nil {
		u.engine.UploadStatus(id)
	}
}

// settle waits until a hung-up connection was noticed.
func (u *uploads) settle(id string, l line) {
	for range 20000 {
		if l.StatusAfter == nil || string(u.engine.uploadState(id)) == l.StatusAfter.Status {
			return
		}
		timer := time.NewTimer(time.Millisecond)
		<-timer.C
	}
}

// uploadState looks without asking: nothing is taken out.
func (e *Engine) uploadState(id string) UploadState {
	e.mu.Lock()
	defer e.mu.Unlock()
	if u, ok := e.uploads[id]; ok {
		return u.state
	}
	return UploadUnknown
}

// chanceStatus are lines of which the state afterwards depends on whether the server saw the connection close before it was asked.
func chanceStatus(l line) bool {
	if l.Response == nil {
		return strings.HasSuffix(l.Name, "cut-before-body")
	}
	s := l.Response.StatusLine
	return strings.Contains(s, " 422 ") || strings.Contains(s, " 500 ") && strings.Contains(l.Response.Body, "Exception occurred") || strings.Contains(s, " 502 ") && strings.Contains(l.StatusAfter.Details, "file receive failed")
}

func compareStatus(t *testing.T, l line, got UploadStatus) {
	t.Helper()
	if l.StatusAfter == nil {
		return
	}
	want := UploadStatus{
		State: UploadState(l.StatusAfter.Status), Details: mask(l.StatusAfter.Details), VirtualSize: l.StatusAfter.VirtualSize,
		PhysicalSize: l.StatusAfter.PhysicalSize, Percent: l.StatusAfter.DownloadPercent,
	}
	got.InstallPath, got.Details = "", mask(got.Details)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

type answered struct{ Status, Body string }

func compareAnswer(t *testing.T, l line, got answered) {
	t.Helper()
	want := answered{Status: strings.TrimPrefix(l.Response.StatusLine, "HTTP/1.1 "), Body: plainBody(t, l)}
	if cut, ok := cutOffBody(want.Body); ok {
		want.Body, got.Body = cut, prefix(got.Body, cut)
	}
	diff := cmp.Diff(want, got)
	reason, known := impossible[l.Name]
	switch {
	case diff != "" && !known:
		t.Errorf("(-want +got):\n%s", diff)
	case diff == "" && known:
		t.Errorf("equal, although it cannot be: %s", reason)
	}
}

// cutOffBody returns what the record kept of a long body.
func cutOffBody(s string) (string, bool) {
	const kept = 500
	if i := strings.Index(s, " ... (cut to "); i > kept {
		return s[:kept], true
	}
	return s, false
}

func prefix(s, like string) string { return s[:min(len(s), len(like))] }

// plainBody takes the chunks and the packing off a recorded body. Where another answer follows on the connection, only the first
// counts.
func plainBody(t *testing.T, l line) string {
	t.Helper()
	b := []byte(nil)
	for _, r := range l.Response.Body {
		if r < 256 {
			b = append(b, byte(r))
		} else {
			b = append(b, string(r)...)
		}
	}
	chunked, packed := false, false
	for _, h := range l.Response.Headers {
		chunked = chunked || strings.EqualFold(h, "Transfer-Encoding: chunked")
		packed = packed || strings.EqualFold(h, "Content-Encoding: gzip")
	}
	if chunked {
		if size, rest, ok := bytes.Cut(b, []byte("\r\n")); ok {
			n, err := strconv.ParseInt(string(size), 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			var all []byte
			for n > 0 && len(rest) >= int(n) {
				all = append(all, rest[:n]...)
				size, rest, _ = bytes.Cut(bytes.TrimPrefix(rest[n:], []byte("\r\n")), []byte("\r\n"))
				n, _ = strconv.ParseInt(string(size), 16, 64)
			}
			if len(all) == 0 {
				all = rest
			}
			b = all
		}
	}
	if packed {
		return unpacked(t, b)
	}
	return string(b)
}

func unpacked(t *testing.T, b []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// send makes the attempt over a connection of its own.
func (u *uploads) send(t *testing.T, l line, a attempt, p UploadParams) answered {
	t.Helper()
	c, err := net.Dial("tcp", u.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s %s\r\nHost: %s\r\n", a.method, a.path, a.version, a.host)
	if a.forwarded != "" {
		fmt.Fprintf(&head, "X-Forwarded-Host: %s\r\n", a.forwarded)
	}
	if a.length != "-" {
		fmt.Fprintf(&head, "Content-Length: %s\r\n", a.length)
	}
	if a.chunked {
		fmt.Fprintf(&head, "Transfer-Encoding: chunked\r\n")
	}
	for _, h := range a.headers {
		fmt.Fprintf(&head, "%s: %s\r\n", h[0], h[1])
	}
	head.WriteString("\r\n")
	if _, err := c.Write(head.Bytes()); err != nil {
		t.Fatal(err)
	}
	body := a.body
	if a.chunked {
		body = fmt.Appendf(nil, "%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	id := u.id(l.Name)
	switch {
	case strings.HasPrefix(l.Transport, "client closed"):
		_, _ = c.Write(body[:a.stop])
		await(t, func() bool { return u.engine.uploadState(id) == UploadInProgress })
		c.Close()
		await(t, func() bool { return u.engine.uploadState(id) == UploadFailed })
		return answered{}
	case l.Transport != "":
		_, _ = c.Write(body)
		return u.silence(t, c, l)
	case strings.HasPrefix(l.Note, "10 parts"):
		body = u.inParts(t, c, id, body)
	case strings.Contains(l.Note, "waited 300 s"):
		answered := make(chan struct{})
		defer close(answered)
		go u.stepUntil(answered)
	}
	go func() { _, _ = c.Write(body) }()
	return readAnswer(t, c, a.method)
}

// stepUntil lets the front run out of patience again and again: one step could pass before this connection's wait began, since
// those of clients that hung up may still stand.
func (u *uploads) stepUntil(answered <-chan struct{}) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-answered:
			return
		case <-tick.C:
			if u.clock.HasWaiters() {
				u.clock.Step(patience)
			}
		}
	}
}

// inParts sends all but the last of ten parts and looks at the percentage after each.
func (u *uploads) inParts(t *testing.T, c net.Conn, id string, body []byte) []byte {
	t.Helper()
	part := len(body) / 10
	for i := range 9 {
		_, _ = c.Write(body[i*part : (i+1)*part])
		await(t, func() bool { return u.engine.UploadStatus(id).Percent == 10*i+9 })
	}
	return body[9*part:]
}

// silence checks that nothing comes.
func (u *uploads) silence(t *testing.T, c net.Conn, l line) answered {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("an answer came although the record has none (%s)", l.Transport)
	}
	return answered{}
}

func readAnswer(t *testing.T, c net.Conn, method string) answered {
	t.Helper()
	r := bufio.NewReader(c)
	for {
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return answered{Status: err.Error()}
		}
		if resp.StatusCode == http.StatusContinue {
			continue
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return answered{Status: err.Error()}
		}
		if resp.Header.Get("Content-Encoding") == "gzip" {
			b = []byte(unpacked(t, b))
		}
		return answered{resp.Status, string(b)}
	}
}

// replayTries compares what the client can see of a race: 400 or 502.
func (u *uploads) replayTries(t *testing.T, l line) {
	for status := range l.Seen {
		u.serial++
		id := l.Name + strconv.FormatInt(u.serial, 10)
		a, p := u.build(t, id, line{Name: l.Name, Note: "signature of something else"})
		u.lost = strings.Contains(status, "502")
		if got := u.send(t, l, a, p); "HTTP/1.1 "+got.Status != status {
			t.Errorf("got %s, want %s", got.Status, status)
		}
	}
}

func (u *uploads) content(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(u.files, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDifferencesAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reference/simulator-storage.md")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for name := range different {
		names = append(names, name)
	}
	for name := range impossible {
		names = append(names, name)
	}
	for _, name := range names {
		if !strings.Contains(string(b), "`"+name+"`") {
			t.Errorf("%s is not in docs/reference/simulator-storage.md", name)
		}
	}
}
