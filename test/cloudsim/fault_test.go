package cloudsim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/test/cloudsim"
)

// templatesNamed counts the templates of a name that exist.
func templatesNamed(s *cloudsim.Server, name string) int {
	n := 0
	for _, t := range s.Inventory().Templates {
		if t.Name == name {
			n++
		}
	}
	return n
}

func TestFaults(t *testing.T) {
	cases := map[string]struct {
		fault   cloudsim.Fault
		status  int // 0: the connection is cut
		body    string
		created int
	}{
		"reset before":       {cloudsim.Fault{Kind: "reset"}, 0, "", 0},
		"reset during":       {cloudsim.Fault{Kind: "reset", Phase: "during"}, 0, "", 1},
		"reset after":        {cloudsim.Fault{Kind: "reset", Phase: "after"}, 0, "", 1},
		"error before":       {cloudsim.Fault{Kind: "error"}, 530, "Internal error executing command", 0},
		"error after":        {cloudsim.Fault{Kind: "error", Phase: "after"}, 530, "Internal error executing command", 1},
		"own text":           {cloudsim.Fault{Kind: "error", Text: "out of luck"}, 530, "out of luck", 0},
		"proxy before":       {cloudsim.Fault{Kind: "502"}, 502, "<html>", 0},
		"proxy after":        {cloudsim.Fault{Kind: "502", Phase: "after"}, 502, "<html>", 1},
		"throttled":          {cloudsim.Fault{Kind: "429"}, 429, "api limit", 0},
		"not authorised":     {cloudsim.Fault{Kind: "401"}, 401, "unable to verify", 0},
		"a bad value":        {cloudsim.Fault{Kind: "431"}, 431, "due to invalid value", 0},
		"not in the role":    {cloudsim.Fault{Kind: "432"}, 432, "not available for the account", 0},
		"no capacity":        {cloudsim.Fault{Kind: "533"}, 533, "Insufficient capacity", 0},
		"over the limit":     {cloudsim.Fault{Kind: "535"}, 535, "Maximum number", 0},
		"delay":              {cloudsim.Fault{Kind: "delay", Seconds: 0.001}, 200, "registertemplateresponse", 1},
		"of another command": {cloudsim.Fault{Kind: "error", Command: "deleteTemplate"}, 200, "registertemplateresponse", 1},
		"in another case":    {cloudsim.Fault{Kind: "error", Command: "registertemplate"}, 530, "Internal error executing command", 0},
		"second call only":   {cloudsim.Fault{Kind: "error", Skip: 1}, 200, "registertemplateresponse", 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPlayer(t, "recorded")
			if c.fault.Command == "" {
				c.fault.Command = "registerTemplate"
			}
			if err := p.sim.AddFault(c.fault); err != nil {
				t.Fatal(err)
			}
			command := "registerTemplate"
			got := p.send(&step{As: "tenant", Method: "POST", Sign: "ok", Command: &command, Params: map[string]string{"name": "faulty", "url": "http://images.sim.example.org/a.qcow2",
				"format": "QCOW2", "hypervisor": "KVM", "ostypeid": "${env:ostype/Ubuntu 22.04 LTS}", "zoneid": "${env:zone/zone-a}"}})
			if got.status != c.status || !strings.Contains(text(got.body), c.body) {
				t.Errorf("got %d %.200s", got.status, text(got.body))
			}
			if n := templatesNamed(p.sim, "faulty"); n != c.created {
				t.Errorf("%d templates, want %d", n, c.created)
			}
		})
	}
}

func text(body any) string {
	if s, ok := body.(string); ok {
		return s
	}
	b, err := json.Marshal(body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestFailedJobs(t *testing.T) {
	for phase, deleted := range map[string]bool{"before": false, "during": true, "after": true} {
		t.Run(phase, func(t *testing.T) {
			src := newSource(t, map[string][]byte{"/a.qcow2": tinyQCOW2()})
			p := demo(t, src)
			id := fmt.Sprint(dig(p.call("registerTemplate", p.kvm("a", "/a.qcow2", nil)), "template.0.id"))
			p.advance(5e9)
			if err := p.sim.AddFault(cloudsim.Fault{Command: "deleteTemplate", Kind: "job", Phase: phase}); err != nil {
				t.Fatal(err)
			}
			job := p.runJob("deleteTemplate", map[string]string{"id": id})
			if job["jobstatus"] != 2.0 || job["jobresultcode"] != 530.0 || job["jobresult"] != nil {
				t.Errorf("job %v", job)
			}
			if gone := templatesNamed(p.sim, "a") == 0; gone != deleted {
				t.Errorf("deleted: %v, want %v", gone, deleted)
			}
		})
	}
}

func TestBadFaultsAreRefused(t *testing.T) {
	p := newPlayer(t, "empty")
	for _, f := range []cloudsim.Fault{{Kind: "boom"}, {Kind: "reset", Phase: "later"}, {Kind: "reset", Probability: 2}, {Kind: "delay", Seconds: -1}} {
		if err := p.sim.AddFault(f); err == nil {
			t.Errorf("%+v accepted", f)
		}
	}
}

// controlCall sends a request to the control endpoints.
func controlCall(t *testing.T, base, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(data))
}

func TestControl(t *testing.T) {
	p := newPlayer(t, "recorded")
	web := httptest.NewServer(p.sim.ControlHandler())
	t.Cleanup(web.Close)
	for _, c := range []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"POST", "/advance", `{"seconds": 1.5}`, 200, `"now":"2026-11-30T18:00:01.5Z"`},
		{"POST", "/advance", `{"seconds": -1}`, 400, "cannot go back"},
		{"POST", "/advance", `{"seconds": 1e18}`, 400, "more than"},
		{"POST", "/advance", `{"second": 1}`, 400, "unknown field"},
		{"POST", "/settings", `{"name": "api.throttling.enabled", "value": "true"}`, 200, "true"},
		{"POST", "/settings", `{}`, 400, "needs a name"},
		{"POST", "/restart", ``, 200, "restarted"},
		{"POST", "/restart", `{}`, 200, "restarted"},
		{"POST", "/faults", `{"command": "listZones", "phase": "before", "kind": "502", "count": 1}`, 200, `"listZones"`},
		{"POST", "/faults", `{"kind": "none"}`, 400, "unknown kind"},
		{"GET", "/journal", ``, 200, "["},
		{"GET", "/inventory", ``, 200, `"templates"`},
		{"GET", "/nothing", ``, 404, ""},
	} {
		if status, text := controlCall(t, web.URL, c.method, c.path, c.body); status != c.status || !strings.Contains(text, c.contains) {
			t.Errorf("%s %s %s: %d %.200s", c.method, c.path, c.body, status, text)
		}
	}
}

func TestJournalKeepsNoSecrets(t *testing.T) {
	p := newPlayer(t, "recorded")
	command := "listZones"
	p.send(&step{As: "tenant", Method: "GET", Sign: "ok", Command: &command, Params: map[string]string{"name": "zone-a", "url": "http://u:p@h/x?token=1", "password": "p"}})
	p.send(&step{As: "tenant", Method: "GET", Sign: "bad", Command: &command})
	journal := p.sim.Journal()
	if len(journal) != 2 {
		t.Fatalf("%d entries", len(journal))
	}
	if diff := cmp.Diff(map[string]string{"name": "zone-a", "url": "http://h/x", "password": "(not kept)"}, journal[0].Params); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if journal[0].Caller != "tenant" || journal[0].Status != 200 || journal[1].Caller != "" || journal[1].Status != 401 {
		t.Errorf("journal %+v", journal)
	}
	if !slices.IsSortedFunc(journal, func(a, b cloudsim.Entry) int { return a.Number - b.Number }) {
		t.Error("entries are not numbered in order")
	}
}
