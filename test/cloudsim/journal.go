package cloudsim

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// maxJournal bounds the journal; older entries fall off.
const maxJournal = 100_000

// Entry is one call in the journal. Keys, signatures, passwords and user data are not kept.
type Entry struct {
	Number  int               `json:"number"`
	Time    time.Time         `json:"time"`
	Caller  string            `json:"caller,omitempty"` // account, empty when the call could not be verified
	Command string            `json:"command"`
	Params  map[string]string `json:"params"`
	Method  string            `json:"method"`
	Status  int               `json:"status"` // 0 when the connection was cut
	Text    string            `json:"text,omitempty"`
}

// begin notes a call as it arrives.
func (s *Server) begin(req *request, name string) *Entry {
	method := "GET"
	if req.post {
		method = "POST"
	}
	return &Entry{Time: s.clock.Now(), Command: name, Params: redact(req.params), Method: method}
}

// redact drops what must not be kept.
func redact(params map[string]string) map[string]string {
	out := maps.Clone(params)
	for name := range out {
		switch strings.ToLower(name) {
		case "signature", "apikey", "sessionkey", "command", "response":
			delete(out, name)
		case "password", "userdata", "secretkey", "privatekey":
			out[name] = "(not kept)"
		case "url":
			out[name] = redactURL(out[name])
		}
	}
	return out
}

// redactURL drops user and query of a URL.
func redactURL(raw string) string {
	raw, _, _ = strings.Cut(raw, "?")
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return raw
	}
	host, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndex(host, "@"); i >= 0 {
		host = host[i+1:]
	}
	return scheme + "://" + host + "/" + path
}

// finish files an entry.
func (s *Server) finish(e *Entry, status int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	e.Number, e.Status, e.Text = s.calls, status, text
	if len(s.journal) >= maxJournal {
		s.journal = slices.Delete(s.journal, 0, maxJournal/10)
	}
	s.journal = append(s.journal, *e)
}

// Journal returns the calls that were answered or cut off, oldest first.
func (s *Server) Journal() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Entry{}, s.journal...)
}
