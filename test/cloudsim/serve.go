package cloudsim

import (
	"bytes"
	"maps"
	"net/http"
	"strings"
)

const (
	jsonType = "application/json;charset=utf-8"
	xmlType  = "text/xml;charset=utf-8"
)

// answer is a reply before it is written.
type answer struct {
	status      int
	contentType string
	body        []byte
	description string
	cookies     []*http.Cookie
}

// ServeHTTP answers on /client/api; every other path is not found.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/client/api" && r.URL.Path != "/client/api/" {
		notFound(r.URL.Path).write(w)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		http.Error(w, "HTTP method "+r.Method+" is not supported by this URL", http.StatusMethodNotAllowed)
		return
	}
	req, ok := readRequest(r)
	if !ok {
		notFound(r.URL.Path).write(w)
		return
	}
	s.serveCall(w, r, req)
}

// serveCall plays the faults around a call and writes it to the journal.
func (s *Server) serveCall(w http.ResponseWriter, r *http.Request, req *request) {
	name, _ := req.command()
	entry := s.begin(req, name)
	req.arrival = s.arrivals.Add(1)
	fault := s.nextFault(name)
	if fault != nil && fault.Phase == PhaseBefore && fault.play(w, r, nil) {
		s.finish(entry, fault.status(), fault.describe())
		return
	}
	out := s.answer(req, entry, fault)
	if fault != nil && fault.Phase != PhaseBefore && fault.play(w, r, out) {
		s.finish(entry, fault.status(), fault.describe())
		return
	}
	s.finish(entry, out.status, out.description)
	out.write(w)
}

func (a *answer) write(w http.ResponseWriter) {
	for _, c := range a.cookies {
		http.SetCookie(w, c)
	}
	w.Header().Set("Content-Type", a.contentType)
	if a.description != "" {
		w.Header().Set("X-Description", strings.NewReplacer("\r", " ", "\n", " ").Replace(a.description))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a client that left is not an error of the server
}

// notFound is what the web server under CloudStack says, also to a form that is too large for it.
func notFound(path string) *answer {
	page := "<html>\n<head>\n<meta http-equiv=\"Content-Type\" content=\"text/html;charset=ISO-8859-1\"/>\n<title>Error 404 Not Found</title>\n</head>\n" +
		"<body><h2>HTTP ERROR 404 Not Found</h2>\n<table>\n<tr><th>URI:</th><td>" + escapeXML(path) + "</td></tr>\n<tr><th>STATUS:</th><td>404</td></tr>\n" +
		"<tr><th>MESSAGE:</th><td>Not Found</td></tr>\n</table>\n\n</body>\n</html>\n"
	return &answer{status: http.StatusNotFound, contentType: "text/html;charset=iso-8859-1", body: []byte(page)}
}

// answer carries a request out.
func (s *Server) answer(req *request, entry *Entry, fault *activeFault) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catchUp()
	defer s.settleGuests()
	name, named := req.command()
	if !named {
		return s.refuse(req, "null", unauthorized(), false)
	}
	if name == "login" || name == "logout" {
		return s.authenticator(req, name, entry)
	}
	if err := s.checkMethod(req, name); err != nil {
		return s.refuse(req, s.replyKey(name), err, false)
	}
	u, err := s.verify(req, name)
	if err != nil {
		e := asAPIError(err)
		return s.refuse(req, s.errorKey(name, e), e, false)
	}
	entry.Caller = u.account.name
	c := &call{Server: s, name: name, user: u, acct: u.account, post: req.post, remote: req.remote, arrival: req.arrival, fault: fault}
	body, err := c.run(req)
	s.catchUp()
	if err != nil {
		e := asAPIError(err)
		return s.refuse(req, s.errorKey(name, e), e, c.root())
	}
	return s.accept(req, s.replyKey(name), body)
}

// run checks the parameters and carries the command out.
func (c *call) run(req *request) (object, error) {
	if err := checkCharacters(req.params); err != nil {
		return nil, err
	}
	c.spec = c.commands[c.name]
	api, ok := c.catalog.Get(c.name)
	if !ok {
		return nil, unauthorized()
	}
	c.api = api
	if err := c.unpack(withoutCredentials(req.params)); err != nil {
		return nil, err
	}
	if err := c.checkParams(); err != nil {
		return nil, err
	}
	if err := c.checkProject(); err != nil {
		return nil, err
	}
	switch {
	case c.spec.sync != nil:
		return c.spec.sync(c)
	case c.spec.async != nil:
		return c.startJob()
	default:
		return c.unsupported()
	}
}

// withoutCredentials drops what has to do with the envelope of a call, not with the command.
func withoutCredentials(params map[string]string) map[string]string {
	out := maps.Clone(params)
	maps.DeleteFunc(out, func(name, _ string) bool {
		switch strings.ToLower(name) {
		case "apikey", "signature", "signatureversion", "expires", "response", "command", "sessionkey":
			return true
		}
		return false
	})
	return out
}

func (s *Server) replyKey(command string) string {
	if spec := s.commands[command]; spec.alias != "" {
		return spec.alias + "response"
	}
	return strings.ToLower(command) + "response"
}

// errorKey is the key of an error envelope: commands that are unknown or not available answer without their own name.
func (s *Server) errorKey(command string, e *apiError) string {
	if e.code == 432 || !s.registered(command) {
		return "errorresponse"
	}
	return s.replyKey(command)
}

func (s *Server) accept(req *request, key string, body object) *answer {
	return s.encode(req, key, body, &answer{status: http.StatusOK}, s.release)
}

func (s *Server) refuse(req *request, key string, e *apiError, root bool) *answer {
	out := &answer{status: e.code}
	body := e.body(root)
	if !e.silent {
		out.description = body.str("errortext")
	}
	return s.encode(req, key, body, out, "")
}

func (s *Server) encode(req *request, key string, body object, out *answer, release string) *answer {
	if !req.json {
		out.contentType = xmlType
		out.body = writeXML(key, body, release)
		return out
	}
	out.contentType = jsonType
	out.body = writeReply(key, body)
	return out
}

// writeReply encodes an envelope; replies hold nothing that cannot be encoded.
func writeReply(key string, body object) []byte {
	var b bytes.Buffer
	if err := writeJSON(&b, obj(key, body)); err != nil {
		return []byte(`{"errorresponse":{}}`)
	}
	return b.Bytes()
}
