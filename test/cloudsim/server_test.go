package cloudsim

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// client signs calls of one caller.
type client struct {
	t    *testing.T
	base string
	keys KeyPair
}

func newServer(t *testing.T, o Options) (*Server, *httptest.Server) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, web
}

func as(t *testing.T, s *Server, web *httptest.Server, caller string) *client {
	t.Helper()
	keys, ok := s.Keys()[caller]
	if !ok {
		t.Fatalf("no caller %s", caller)
	}
	return &client{t, web.URL + "/client/api", keys}
}

// get sends a signed GET and returns status and the content of the envelope.
func (c *client) get(command string, pairs ...string) (int, map[string]any) {
	c.t.Helper()
	params := map[string]string{"command": command, "response": "json", "apiKey": c.keys.APIKey}
	for i := 0; i+1 < len(pairs); i += 2 {
		params[pairs[i]] = pairs[i+1]
	}
	params["signature"] = Sign(params, c.keys.SecretKey)
	query := url.Values{}
	for k, v := range params {
		query.Set(k, v)
	}
	resp, err := http.Get(c.base + "?" + query.Encode())
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	var doc map[string]map[string]any
	if err := json.Unmarshal(data, &doc); err != nil || len(doc) != 1 {
		c.t.Fatalf("%s: %d %s: %v", command, resp.StatusCode, data, err)
	}
	for _, inner := range doc {
		return resp.StatusCode, inner
	}
	return 0, nil
}

func TestListZones(t *testing.T) {
	s, web := newServer(t, Options{Preset: PresetDemo, Clock: NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))})
	status, body := as(t, s, web, "tenant").get("listZones")
	if status != 200 || body["count"] != 3.0 {
		t.Fatalf("%d %v", status, body)
	}
}
