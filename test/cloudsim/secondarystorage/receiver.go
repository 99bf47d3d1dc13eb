package secondarystorage

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage/filetype"
)

const (
	notAFile   = "received entity is not a file"
	cutOff     = "file receive failed or connection closed prematurely."
	successful = "upload successful."
)

// reply is an answer of the receiver. early is true when it was given without reading the body.
type reply struct {
	status int
	body   string
	early  bool
}

// Receiver is the upload server itself, at /upload?uuid=<id>, which nobody reaches but its front web server.
func (e *Engine) Receiver() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := e.receive(r, r.URL.Query()["uuid"], r.Header.Get("X-Forwarded-Host"))
		if a.status == 0 {
			return // the client is gone
		}
		w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
		writeReply(w, r, a)
	})
}

// receive takes one request. The status of the reply is 0 when the client is gone.
func (e *Engine) receive(r *http.Request, uuid []string, host string) reply {
	if r.Method != http.MethodPost {
		return reply{http.StatusBadRequest, "only post requests are allowed", true}
	}
	if len(uuid) == 0 {
		return reply{http.StatusInternalServerError, exception(`Cannot invoke "java.util.List.get(int)" because the return value of "java.util.Map.get(Object)" is null`).Error(), true}
	}
	if host == "" {
		host = "null"
	}
	receipt, err := e.admit(ticket{
		id: uuid[0], signature: r.Header.Get("X-Signature"), metadata: r.Header.Get("X-Metadata"), expires: r.Header.Get("X-Expires"),
		host: host, length: r.ContentLength,
	})
	var refused refusal
	switch {
	case errors.As(err, &refused):
		return reply{http.StatusBadRequest, refused.Error(), true}
	case err != nil:
		return reply{http.StatusInternalServerError, err.Error(), true}
	}
	body := &watched{r: r.Body}
	a := receipt.read(r.Header.Get("Content-Type"), body)
	if body.broken {
		e.failUpload(receipt.id, cutOff)
		return reply{}
	}
	return a
}

// watched remembers whether the client went away before the end.
type watched struct {
	r      io.Reader
	broken bool
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.broken = true
	}
	return n, err
}

// read takes the body apart and installs the first file in it.
func (r *receipt) read(contentType string, body io.Reader) reply {
	kind, params, _ := mime.ParseMediaType(contentType)
	if !strings.HasPrefix(kind, "multipart/") {
		return readForm(body)
	}
	if params["boundary"] == "" {
		_, _ = io.Copy(io.Discard, body)
		return reply{http.StatusInternalServerError, exception("null").Error(), false}
	}
	file, name, err := r.firstFile(body, params["boundary"])
	if err != nil {
		return reply{http.StatusInternalServerError, err.Error(), false}
	}
	if file == nil {
		return reply{http.StatusUnprocessableEntity, notAFile, false}
	}
	defer file.discard()
	found, err := mismatch(file, file.size, name)
	switch {
	case err != nil:
		return r.failed(http.StatusInternalServerError, err.Error())
	case found != "":
		return r.failed(http.StatusBadRequest, "File type mismatch between the sent file and the actual content. Received: "+short(found))
	}
	if err := r.install(file); err != nil {
		return r.failed(http.StatusInternalServerError, err.Error())
	}
	return reply{http.StatusOK, successful, false}
}

func (r *receipt) failed(status int, text string) reply {
	r.engine.failUpload(r.id, text)
	return reply{status, text, false}
}

func short(description string) string { return filetype.Short(description) }

// maxForm bounds what is read of a body that is no multipart.
const maxForm = 64 << 20

// readForm reads a body that is taken for an HTML form: nothing good comes of it.
func readForm(body io.Reader) reply {
	b, _ := io.ReadAll(io.LimitReader(body, maxForm))
	_, _ = io.Copy(io.Discard, body)
	for pair := range strings.SplitSeq(string(b), "&") {
		for part := range strings.SplitSeq(pair, "=") {
			if _, err := url.QueryUnescape(part); err != nil {
				return reply{http.StatusInternalServerError, fmt.Sprintf("Bad string: '%s'", strings.ToValidUTF8(part, "�")), false}
			}
		}
	}
	return reply{http.StatusInternalServerError, exception("null").Error(), false}
}
