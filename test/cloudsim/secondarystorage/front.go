package secondarystorage

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// patience is how long the front waits for its receiver.
	patience = 300 * time.Second
	// manyBytes is the length of a body from which on an early refusal always gets lost.
	manyBytes = 1 << 20
	// maxDrain bounds what is read of a body that nobody wants.
	maxDrain = 64 << 20
)

// Front is the web server in front of the upload server, at POST /upload/<id>: what a client of a storage VM talks to.
func (e *Engine) Front() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Server", "Apache/2.4.71 (Debian) OpenSSL/3.0.22")
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Methods", "POST, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "x-requested-with, content-type, origin, authorization, accept, client-security-token, x-signature, x-metadata, x-expires")
		id, ok := strings.CutPrefix(r.URL.Path, "/upload/")
		switch {
		case r.Method == http.MethodOptions:
			h.Set("Allow", allowed)
			h.Set("Content-Length", "0")
		case r.Method == http.MethodPost && ok && id != "":
			e.forward(w, r, id)
		case r.Method == http.MethodPost || r.Method == http.MethodGet || r.Method == http.MethodHead:
			page(w, http.StatusNotFound, "Not Found", "The requested URL was not found on this server.")
		default:
			h.Set("Allow", allowed)
			page(w, http.StatusMethodNotAllowed, "Method Not Allowed", "The requested method "+strings.ToUpper(r.Method)+" is not allowed for this URL.")
		}
	})
}

const allowed = "GET,POST,OPTIONS,HEAD,TRACE"

func (e *Engine) forward(w http.ResponseWriter, r *http.Request, id string) {
	if r.Header.Get("Expect") != "" {
		e.hang(w, r)
		return
	}
	a := e.receive(r, []string{id}, r.Host)
	switch {
	case a.status == 0:
		return // the client is gone
	case a.early && r.ContentLength != 0 && e.refusalLost(r):
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		page(w, http.StatusBadGateway, "Bad Gateway", "The proxy server received an invalid\r\nresponse from an upstream server.<br />\r\n")
		return
	case a.early:
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
	}
	if a.status >= http.StatusBadRequest && a.status != http.StatusUnprocessableEntity {
		w.Header().Set("Connection", "close")
	}
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	writeReply(w, r, a)
}

// refusalLost tells how the race between the refusal and the sending of the body ended.
func (e *Engine) refusalLost(r *http.Request) bool {
	if e.options.RefusalLost != nil {
		return e.options.RefusalLost(r)
	}
	return r.ContentLength < 0 || r.ContentLength >= manyBytes
}

// hang is what an Expect leads to: the front passes it on, the receiver never answers it.
func (e *Engine) hang(w http.ResponseWriter, r *http.Request) {
	if receipt, err := e.admit(ticket{
		id: strings.TrimPrefix(r.URL.Path, "/upload/"), signature: r.Header.Get("X-Signature"), metadata: r.Header.Get("X-Metadata"),
		expires: r.Header.Get("X-Expires"), host: r.Host, length: r.ContentLength,
	}); err == nil {
		receipt.count(0)
	}
	t := e.clock.NewTimer(patience)
	defer t.Stop()
	select {
	case <-t.C():
	case <-r.Context().Done():
		return // the client is gone
	case <-e.ctx.Done():
	}
	w.Header().Set("Connection", "close")
	proxyError(w, "The server is temporarily unable to service your\nrequest due to maintenance downtime or capacity\nproblems. Please try again later.")
}

// proxyError writes the one answer that has a reason of its own in its status line.
func proxyError(w http.ResponseWriter, text string) {
	c, buffer, err := http.NewResponseController(w).Hijack()
	if err != nil {
		page(w, http.StatusServiceUnavailable, "Proxy Error", text)
		return
	}
	defer c.Close()
	body := errorPage(http.StatusServiceUnavailable, "Proxy Error", text)
	w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	fmt.Fprintf(buffer, "HTTP/1.1 %d Proxy Error\r\n", http.StatusServiceUnavailable)
	_ = w.Header().Write(buffer)
	fmt.Fprintf(buffer, "\r\n%s", body)
	_ = buffer.Flush()
}

func errorPage(status int, title, text string) string {
	return fmt.Sprintf("<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \"http://www.w3.org/TR/html4/strict.dtd\">\n<html><head>\n"+
		"<title>%d %s</title>\n</head><body>\n<h1>%s</h1>\n<p>%s</p>\n</body></html>\n", status, title, title, text)
}

// page writes an error page of the web server.
func page(w http.ResponseWriter, status int, title, text string) {
	body := errorPage(status, title, text)
	w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// writeReply sends a text, packed when the client takes that. Through the front it goes out in chunks.
func writeReply(w http.ResponseWriter, r *http.Request, a reply) {
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(a.status)
		packed := gzip.NewWriter(w)
		_, _ = io.WriteString(packed, a.body)
		_ = packed.Close()
		return
	}
	if w.Header().Get("Server") == "" {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
		return
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
	_ = http.NewResponseController(w).Flush()
}
