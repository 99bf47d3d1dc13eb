package httpclient

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// serve answers each connection with the next of the answers, and closes it.
func serve(t *testing.T, answers ...string) *Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for _, a := range answers {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r := bufio.NewReader(c)
			for {
				if line, err := r.ReadString('\n'); err != nil || line == "\r\n" {
					break
				}
			}
			_, _ = io.WriteString(c, a)
			_ = c.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		wait.Wait()
	})
	return &Client{
		Dial: func(ctx context.Context, _ string, _ int) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", l.Addr().String())
		},
		Slot: func(context.Context, string) (func(), error) { return func() {}, nil }, Now: time.Now, FollowRedirects: true,
	}
}

func TestGet(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
	for _, test := range []struct {
		name    string
		answers []string
		body    string
		err     string
	}{
		{name: "plain", answers: []string{ok}, body: "hi"},
		{name: "closed once without an answer", answers: []string{"", ok}, body: "hi"},
		{name: "closed twice without an answer", answers: []string{"", ""}, err: "The server h failed to respond"},
		{name: "no HTTP", answers: []string{"hello\r\n"}, err: "The server h failed to respond with a valid HTTP response"},
		{name: "noise before HTTP", answers: []string{"hello\r\n" + ok}, body: "hi"},
		{name: "interim answer", answers: []string{"HTTP/1.1 100 Continue\r\n\r\n" + ok}, body: "hi"},
		{name: "bad header", answers: []string{"HTTP/1.1 200 OK\r\nnothing\r\n\r\n"}, err: "Unable to parse header: nothing"},
		{name: "bad status", answers: []string{"HTTP/1.1 fine\r\n\r\n"}, err: "Unable to parse status code from status line: 'HTTP/1.1 fine'"},
		{name: "until the end", answers: []string{"HTTP/1.1 200 OK\r\n\r\nhi there"}, body: "hi there"},
		{name: "chunks", answers: []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhi\r\n6\r\n there\r\n0\r\n\r\n"}, body: "hi there"},
		{name: "no last chunk", answers: []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"}, body: "hi", err: "chunked stream ended unexpectedly"},
		{name: "cut after a chunk", answers: []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi"}, body: "hi", err: "CRLF expected at end of chunk: -1/-1"},
		{name: "cut in a chunk", answers: []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhi"}, body: "hi"},
		{name: "bad chunk", answers: []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"}, err: "Bad chunk size: xyz"},
		{name: "redirect", answers: []string{"HTTP/1.1 302 Found\r\nLocation: /b?c=d\r\n\r\n", ok}, body: "hi"},
		{name: "redirect without a target", answers: []string{"HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nno"}, body: "no"},
		{name: "redirect to itself", answers: []string{"HTTP/1.1 302 Found\r\nLocation: ?again\r\n\r\n"}, err: "Circular redirect to 'http://h:80/a'"},
		{name: "redirect to a file", answers: []string{"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n"}, err: "unsupported protocol: 'file'"},
		{name: "redirect with a blank", answers: []string{"HTTP/1.1 302 Found\r\nLocation: http://h/a b\r\n\r\n"}, err: "Invalid redirect location: http://h/a b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := serve(t, test.answers...)
			l, err := Parse("http://h/a")
			if err != nil {
				t.Fatal(err)
			}
			body, err := read(t.Context(), c, l)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != test.err || body != test.body {
				t.Errorf("got %q, %q, want %q, %q", body, text, test.body, test.err)
			}
		})
	}
}

func read(ctx context.Context, c *Client, l Location) (string, error) {
	a, err := c.Get(ctx, l, 0)
	if err != nil {
		return "", err
	}
	defer a.Close()
	body := ""
	for {
		block := make([]byte, 5)
		n, err := a.Next(block, func(int) {})
		body += string(block[:n])
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return body, err
		}
	}
}

func TestHead(t *testing.T) {
	for _, test := range []struct {
		url, want string
		from      int64
		user      string
	}{
		{url: "http://h/a%20b?c=%2F", want: "GET /a%20b?c=%2F HTTP/1.1\r\nUser-Agent: Jakarta Commons-HttpClient/3.1\r\nHost: h\r\n\r\n"},
		{url: "https://h:443", from: 7, want: "GET / HTTP/1.1\r\nUser-Agent: Jakarta Commons-HttpClient/3.1\r\nRange: bytes=7-\r\nHost: h\r\n\r\n"},
		{url: "http://a:b@[::1]:81/x#y", user: "user", want: "GET /x HTTP/1.1\r\nAuthorization: Basic dXNlcjpwYXNz\r\nUser-Agent: Jakarta Commons-HttpClient/3.1\r\nHost: [::1]:81\r\n\r\n"},
	} {
		t.Run(test.url, func(t *testing.T) {
			l, err := Parse(test.url)
			if err != nil {
				t.Fatal(err)
			}
			c := &Client{User: test.user, Password: "pass"}
			if got := c.head(l, test.from); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for _, bad := range []string{"", "h/a", "//h/a", "http://h/a b", "http://h/%zz", "http://h/%2", "http://h:port/", "http://h:99999/", "http://h/<a>"} {
		if l, err := Parse(bad); err == nil {
			t.Errorf("%q: got %+v", bad, l)
		}
	}
}
