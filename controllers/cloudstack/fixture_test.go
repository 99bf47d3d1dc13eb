package cloudstack_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/test/cloudsim"
)

// stub is a server that answers each command as the test says.
type stub struct {
	*httptest.Server

	mu      sync.Mutex
	seen    []url.Values
	answers map[string]http.HandlerFunc
}

func newStub(t *testing.T) *stub {
	t.Helper()
	s := &stub{answers: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.seen = append(s.seen, r.Form)
		answer := s.answers[r.Form.Get("command")]
		s.mu.Unlock()
		if answer == nil {
			http.Error(w, "no answer prepared", http.StatusTeapot)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stub) on(command string, answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[command] = answer
}

func (s *stub) calls(command string) []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []url.Values
	for _, form := range s.seen {
		if form.Get("command") == command {
			out = append(out, form)
		}
	}
	return out
}

// says answers with a status and a body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// refuses answers as the server refuses a call.
func refuses(key string, status, code int, text string) http.HandlerFunc {
	return says(status, fmt.Sprintf(`{%q:{"uuidList":[],"errorcode":%d,"cserrorcode":%d,"errortext":%q}}`, key, status, code, text))
}

func newSessions(t *testing.T, o cloudstack.Options) *cloudstack.Sessions {
	t.Helper()
	if o.Clock == nil {
		o.Clock = clocktesting.NewFakeClock(time.Now())
	}
	if o.CallsPerSecond == 0 {
		o.CallsPerSecond = -1
	}
	sessions, err := cloudstack.NewSessions(o)
	if err != nil {
		t.Fatal(err)
	}
	return sessions
}

func config(address string) cloudstack.Config {
	return cloudstack.Config{
		UID: "uid", Revision: "1", URL: address, APIKey: "the-api-key", SecretKey: "the-secret-key",
	}
}

// session opens a session with a stub.
func session(t *testing.T, s *stub) *cloudstack.Session {
	t.Helper()
	out, err := newSessions(t, cloudstack.Options{}).For(t.Context(), config(s.URL+"/client/api"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// cloud is a simulated CloudStack.
type cloud struct {
	*cloudsim.Server
	clock    *clocktesting.FakeClock
	address  string
	sessions *cloudstack.Sessions
}

func newCloud(t *testing.T, o cloudsim.Options) *cloud {
	t.Helper()
	c := &cloud{clock: clocktesting.NewFakeClock(time.Now())}
	o.Clock, o.StorageDir = c.clock, t.TempDir()
	server, err := cloudsim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.Server = server
	web := httptest.NewServer(server)
	t.Cleanup(func() {
		web.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	c.address = web.URL + "/client/api"
	c.sessions = newSessions(t, cloudstack.Options{Clock: c.clock})
	return c
}

// as opens a session of a caller.
func (c *cloud) as(t *testing.T, caller string) *cloudstack.Session {
	t.Helper()
	keys, ok := c.Keys()[caller]
	if !ok {
		t.Fatalf("the cloud knows no caller %s", caller)
	}
	s, err := c.sessions.For(t.Context(), cloudstack.Config{
		UID: caller, Revision: "1", URL: c.address, APIKey: keys.APIKey, SecretKey: keys.SecretKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
