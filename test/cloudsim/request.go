package cloudsim

import (
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxForm is the size from which the web server under CloudStack refuses a form.
const maxForm = 1 << 20

// request is one call as the server reads it: a flat map of parameters, names as they were sent.
type request struct {
	params  map[string]string
	post    bool
	json    bool
	cookies map[string]string
	remote  string
	arrival int64 // its number among the calls that came in
}

func (r *request) command() (string, bool) {
	c, ok := r.params["command"]
	return c, ok
}

// readRequest reads query and form. ok is false when the form is larger than the web server takes.
func readRequest(r *http.Request) (req *request, ok bool) {
	req = &request{params: map[string]string{}, post: r.Method == http.MethodPost, cookies: map[string]string{}, remote: r.RemoteAddr}
	for _, c := range r.Cookies() {
		req.cookies[strings.ToLower(c.Name)] = c.Value
	}
	query := pairs(r.URL.RawQuery)
	if req.post {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxForm+1))
		if err != nil || len(body) > maxForm {
			return nil, false
		}
		// The container merges query and form; of a name given twice the first counts.
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
			query = append(query, pairs(string(body))...)
		}
		for _, p := range query {
			if _, have := req.params[p[0]]; !have {
				req.params[p[0]] = p[1]
			}
		}
	} else {
		for _, p := range query { // the server reads the query of a GET itself; the last of a name counts
			req.params[p[0]] = p[1]
		}
	}
	req.json = strings.EqualFold(req.params["response"], "json")
	return req, true
}

// pairs splits a query; a pair without "=" is dropped.
func pairs(raw string) [][2]string {
	var out [][2]string
	for part := range strings.SplitSeq(raw, "&") {
		name, value, ok := strings.Cut(part, "=")
		if ok {
			out = append(out, [2]string{unescape(name), unescape(value)})
		}
	}
	return out
}

// unescape decodes percent escapes and plus signs; what does not decode stays as it was sent.
func unescape(s string) string {
	d, err := url.QueryUnescape(s)
	if err != nil {
		return s
	}
	return strings.ToValidUTF8(d, "\uFFFD")
}
