package secondarystorage

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// page200 is what the server of the record sent for a sign-in page.
const page200 = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Please sign in</body></html>\n"

// imageServer misbehaves as the path of a request asks: /<folder>/<behaviour>/<case>/<file>?<parameters>.
type imageServer struct {
	files map[string]string
	// gates hold stalled answers, by case, until the test closes them.
	gates sync.Map
	// hidden are cases that the server of the record did not find.
	hidden map[string]bool

	mu       sync.Mutex
	requests map[string][]request
	busy     map[string]int
	most     map[string]int
}

func newImageServer(files string) *imageServer {
	return &imageServer{
		files: map[string]string{"f": files, "o": corpus}, hidden: map[string]bool{}, requests: map[string][]request{},
		busy: map[string]int{}, most: map[string]int{},
	}
}

// serve answers on l until the test ends.
func (s *imageServer) serve(t *testing.T, l net.Listener, secure bool) {
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() { s.connection(c, secure) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		wait.Wait()
	})
}

// gate is what a stalled answer of a case waits for.
func (s *imageServer) gate(name string) chan struct{} {
	g, _ := s.gates.LoadOrStore(name, make(chan struct{}))
	return g.(chan struct{})
}

func (s *imageServer) connection(c net.Conn, secure bool) {
	defer c.Close()
	r := bufio.NewReader(c)
	got, ok := readRequest(r, secure)
	if !ok {
		return
	}
	path, query, _ := strings.Cut(got.Target, "?")
	params, _ := url.ParseQuery(query)
	parts := strings.SplitN(strings.TrimPrefix(path, "/"), "/", 4)
	if len(parts) < 4 {
		fmt.Fprintf(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
		return
	}
	name := parts[2]
	s.enter(name, got)
	x := &exchange{s: s, c: c, got: got, name: name, params: params, behaviour: parts[1], leave: sync.OnceFunc(func() { s.leave(name) })}
	defer x.leave()
	x.content, ok = s.file(parts[0], parts[3], params.Get("src"))
	if !ok || s.hidden[name] {
		x.status(http.StatusNotFound)
		return
	}
	x.answer()
}

func readRequest(r *bufio.Reader, secure bool) (request, bool) {
	first, err := r.ReadString('\n')
	words := strings.Fields(first)
	if err != nil || len(words) != 3 {
		return request{}, false
	}
	got := request{Method: words[0], Target: words[1], Version: words[2], TLS: secure}
	for {
		l, err := r.ReadString('\n')
		l = strings.TrimSpace(l)
		if err != nil {
			return request{}, false
		}
		if l == "" {
			return got, true
		}
		k, v, _ := strings.Cut(l, ":")
		got.Headers = append(got.Headers, [2]string{k, strings.TrimSpace(v)})
	}
}

func (s *imageServer) file(folder, name, src string) ([]byte, bool) {
	if src != "" {
		name = src
	}
	name, err := url.PathUnescape(name)
	if err != nil {
		return nil, false
	}
	b, err := os.ReadFile(filepath.Join(s.files[folder], filepath.Base(name)))
	return b, err == nil
}

func (s *imageServer) enter(name string, got request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[name] = append(s.requests[name], got)
	group := strings.TrimRight(name, "0123456789")
	s.busy[group]++
	s.most[group] = max(s.most[group], s.busy[group])
}

func (s *imageServer) leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[strings.TrimRight(name, "0123456789")]--
}

func (s *imageServer) arrived(name string) []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[name]
}

// exchange is one request and its answer.
type exchange struct {
	s               *imageServer
	c               net.Conn
	got             request
	name, behaviour string
	params          url.Values
	content         []byte
	leave           func()
}

func (x *exchange) header(name string) string {
	for _, h := range x.got.Headers {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

func (x *exchange) send(head string, body []byte) {
	fmt.Fprintf(x.c, "HTTP/1.1 %s\r\n\r\n", head)
	_, _ = x.c.Write(body)
}

func (x *exchange) status(code int) {
	body := []byte("this is status " + strconv.Itoa(code) + "\n")
	if code == http.StatusNoContent {
		body = nil
	}
	location := ""
	if to := x.params.Get("to"); to != "" {
		location = "\r\nLocation: " + strings.ReplaceAll(to, "@CASE@", x.name)
	}
	x.send(fmt.Sprintf("%d %s\r\nContent-Length: %d%s", code, http.StatusText(code), len(body), location), body)
}

func (x *exchange) whole(extra string) {
	x.send(fmt.Sprintf("200 OK\r\nContent-Length: %d%s", len(x.content), extra), x.content)
}

func (x *exchange) answer() {
	if code, err := strconv.Atoi(x.behaviour); err == nil && code != http.StatusOK {
		x.status(code)
		return
	}
	half := len(x.content) / 2
	switch x.behaviour {
	case "200":
		x.whole("")
	case "auth":
		if x.header("Authorization") == "" {
			x.status(http.StatusUnauthorized)
			return
		}
		x.whole("")
	case "etag":
		x.whole("\r\nETag: \"one\"")
	case "dispo":
		x.whole("\r\nContent-Disposition: attachment; filename=other.raw")
	case "range":
		x.whole("\r\nAccept-Ranges: bytes")
	case "html":
		x.send(fmt.Sprintf("200 OK\r\nContent-Type: text/html\r\nContent-Length: %d", len(page200)), []byte(page200))
	case "gzenc":
		x.gzipped()
	case "nolen":
		x.send("200 OK\r\nConnection: close", x.content)
	case "http10nolen":
		fmt.Fprintf(x.c, "HTTP/1.0 200 OK\r\n\r\n")
		_, _ = x.c.Write(x.content)
	case "garbage":
		_, _ = x.c.Write([]byte("this is no HTTP\r\n\r\nat all\r\n"))
	case "flaky":
		x.status(http.StatusServiceUnavailable)
	case "cl":
		x.length()
	case "chunked":
		x.chunks()
	case "close":
		x.send(fmt.Sprintf("200 OK\r\nContent-Length: %d", len(x.content)), x.content[:half])
	case "reset":
		x.send(fmt.Sprintf("200 OK\r\nContent-Length: %d", len(x.content)), x.content[:half])
		<-x.s.gate(x.name)
		_ = x.c.(*net.TCPConn).SetLinger(0)
	case "stall":
		x.send(fmt.Sprintf("200 OK\r\nContent-Length: %d", len(x.content)), x.content[:half])
		<-x.s.gate(x.name)
	case "closerange":
		x.rangeAfterCut(half)
	case "slow":
		x.slow()
	}
}

func (x *exchange) gzipped() {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.ModTime = time.Unix(1, 0)
	_, _ = w.Write(x.content)
	_ = w.Close()
	x.send(fmt.Sprintf("200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d", b.Len()), b.Bytes())
}

func (x *exchange) length() {
	value := x.params.Get("v")
	if d, err := strconv.Atoi(x.params.Get("d")); err == nil {
		value = strconv.Itoa(len(x.content) + d)
	}
	x.send("200 OK\r\nContent-Length: "+value, x.content)
}

func (x *exchange) chunks() {
	const chunk = 64 << 10
	hint := ""
	if name := x.params.Get("hint"); name != "" {
		value := x.params.Get("hv")
		if value == "" {
			value = strconv.Itoa(len(x.content))
		}
		hint = "\r\n" + name + ": " + value
	}
	fmt.Fprintf(x.c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked%s\r\n\r\n", hint)
	for b := x.content; len(b) > 0; {
		n := min(chunk, len(b))
		if x.params.Get("cut") != "" && n == len(b) {
			return
		}
		fmt.Fprintf(x.c, "%x\r\n", n)
		_, _ = x.c.Write(b[:n])
		_, _ = io.WriteString(x.c, "\r\n")
		b = b[n:]
	}
	_, _ = io.WriteString(x.c, "0\r\n\r\n")
}

func (x *exchange) rangeAfterCut(half int) {
	var from int
	if _, err := fmt.Sscanf(x.header("Range"), "bytes=%d-", &from); err != nil {
		x.send(fmt.Sprintf("200 OK\r\nAccept-Ranges: bytes\r\nContent-Length: %d", len(x.content)), x.content[:half])
		return
	}
	rest := bytes.Clone(x.content[from:])
	if x.params.Get("change") != "" {
		for i := range rest {
			rest[i] ^= 0x55
		}
	}
	x.send(fmt.Sprintf("206 Partial Content\r\nContent-Range: bytes %d-%d/%d\r\nContent-Length: %d", from, len(x.content)-1, len(x.content), len(rest)), rest)
}

// slow sends the content in n parts, with a breath between them.
func (x *exchange) slow() {
	n, err := strconv.Atoi(x.params.Get("n"))
	if err != nil {
		n = 10
	}
	fmt.Fprintf(x.c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(x.content))
	for i := range n {
		if i == n-1 {
			x.leave()
		}
		_, _ = x.c.Write(x.content[len(x.content)*i/n : len(x.content)*(i+1)/n])
		timer := time.NewTimer(time.Millisecond)
		<-timer.C
	}
}

// listen opens a local port; with a configuration it speaks TLS.
func listen(t *testing.T, config *tls.Config) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	return l
}
