package fetch

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// sniffBytes is how much of a body is looked at before it is believed to be a file.
const sniffBytes = 512

// contentRange is a parsed "bytes first-last/total"; total is 0 when the server does not say.
type contentRange struct{ first, last, total int64 }

func parseContentRange(s string) (contentRange, bool) {
	unit, rest, ok := strings.Cut(strings.TrimSpace(s), " ")
	if !ok || !strings.EqualFold(unit, "bytes") {
		return contentRange{}, false
	}
	span, size, ok := strings.Cut(strings.TrimSpace(rest), "/")
	first, last, ok2 := strings.Cut(span, "-")
	if !ok || !ok2 {
		return contentRange{}, false
	}
	var r contentRange
	var err1, err2, err3 error
	r.first, err1 = parseSize(first)
	r.last, err2 = parseSize(last)
	if size != "*" {
		r.total, err3 = parseSize(size)
	}
	if err1 != nil || err2 != nil || err3 != nil || r.last < r.first || (size != "*" && r.total <= r.last) {
		return contentRange{}, false
	}
	return r, true
}

func parseSize(s string) (int64, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 63)
	return int64(n), err
}

// checkHeaders refuses answers that cannot be the file, whatever their status.
func checkHeaders(h http.Header) error {
	for _, v := range h.Values("Content-Encoding") {
		for e := range strings.SplitSeq(v, ",") {
			if e = strings.TrimSpace(e); e != "" && !strings.EqualFold(e, "identity") {
				return artifact.NewError(artifact.SourceEncoded, fmt.Sprintf("the server sent Content-Encoding %.40q, which nobody asked for", e))
			}
		}
	}
	kind := h.Get("Content-Type")
	media, _, err := mime.ParseMediaType(kind)
	if err != nil {
		media, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(kind)), ";")
	}
	switch strings.TrimSpace(media) {
	case "text/html", "application/xhtml+xml":
		return artifact.NewError(artifact.NotAnImage, "the server sent an HTML page (by its content type) instead of a file")
	case "multipart/byteranges":
		return artifact.NewError(artifact.SourceRefused, "the server sent several ranges in one answer")
	}
	return nil
}

// checkHead refuses bodies that begin as HTML or XML, whatever their content type says.
func checkHead(head []byte) error {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	if kind == "text/html" || kind == "text/xml" {
		return artifact.NewError(artifact.NotAnImage, "the server sent an HTML or XML page (by its first bytes) instead of a file")
	}
	return nil
}

// validator gives what If-Range may name: a strong ETag, or a date that is old enough to be one; "" for neither.
func validator(h http.Header) string {
	if strings.EqualFold(strings.TrimSpace(h.Get("Accept-Ranges")), "none") {
		return ""
	}
	if tag := strings.TrimSpace(h.Get("ETag")); len(tag) > 2 && tag[0] == '"' && tag[len(tag)-1] == '"' {
		return tag
	}
	modified, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return ""
	}
	if sent, err := http.ParseTime(h.Get("Date")); err != nil || sent.Sub(modified) < time.Second {
		return ""
	}
	return h.Get("Last-Modified")
}

// sameValidator says whether a 206 speaks of the version that If-Range named, as far as it says anything.
func sameValidator(h http.Header, want string) bool {
	if strings.HasPrefix(want, `"`) {
		tag := strings.TrimSpace(h.Get("ETag"))
		return tag == "" || tag == want
	}
	modified := h.Get("Last-Modified")
	return modified == "" || modified == want
}
