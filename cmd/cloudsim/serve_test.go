package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/capcat/capcat/test/cloudsim"
)

// TestServe starts the command as a script would: reads its line, calls the API and control, sees it end.
func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		cmd := newCommand(in)
		cmd.SetArgs([]string{"--listen", "127.0.0.1:0", "--preset", "recorded", "--clock", "manual", "--resolve", "images.example.org=127.0.0.1:8000"})
		ended <- cmd.ExecuteContext(ctx)
	}()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err, <-ended)
	}
	var a announcement
	if err := json.Unmarshal(line, &a); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	params := map[string]string{"command": "listZones", "response": "json", "apiKey": a.Keys["tenant"][0]}
	query := fmt.Sprintf("?command=listZones&response=json&apiKey=%s&signature=%s", a.Keys["tenant"][0],
		strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(cloudsim.Sign(params, a.Keys["tenant"][1])))
	for _, c := range []struct{ method, url, contains string }{
		{http.MethodGet, a.URL + query, `"count":3`},
		{http.MethodPost, a.Control + "/advance", "now"},
		{http.MethodGet, a.Control + "/journal", `"command":"listZones"`},
	} {
		if body := fetch(t, c.method, c.url); !strings.Contains(body, c.contains) {
			t.Errorf("%s: %.300s", c.url, body)
		}
	}
	if ca, err := os.ReadFile(a.CAFile); err != nil || !strings.HasPrefix(string(ca), "-----BEGIN CERTIFICATE-----") || !strings.HasPrefix(a.Upload, "https://127.0.0.1:") {
		t.Errorf("CA file %q for %s: %v", ca, a.Upload, err)
	}
	if len(a.Keys) != 12 {
		t.Errorf("%d callers", len(a.Keys))
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(a.CAFile); !os.IsNotExist(err) {
		t.Errorf("the CA file stays behind: %v", err)
	}
}

// TestGuests: with guests there is something to see of them.
func TestGuests(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		cmd := newCommand(in)
		cmd.SetArgs([]string{"--listen", "127.0.0.1:0", "--preset", "loopback", "--guests", "inmemory"})
		ended <- cmd.ExecuteContext(ctx)
	}()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err, <-ended)
	}
	var a announcement
	if err := json.Unmarshal(line, &a); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	for path, want := range map[string]string{"/guests": "[]", "/listeners": `{"failed":{},"open":[]}`, "/console?id=nobody": `{"error":"no machine with the id or name \"nobody\" has run"}`} {
		if got := strings.TrimSpace(fetch(t, http.MethodGet, a.Control+path)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func fetch(t *testing.T, method, url string) string {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
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
	return string(data)
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"--preset", "none"}, {"--clock", "sundial"}, {"--version", "4.0"}, {"--resolve", "name"}, {"--resolve", "name="}, {"--listen", "nowhere"}, {"--guests", "ghosts"}, {"--loopback", "10.0.0.0/16", "--preset", "loopback"}, {"--loopback", "x"}, {"extra"}} {
		cmd := newCommand(io.Discard)
		cmd.SetErr(io.Discard)
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%v accepted", args)
		}
	}
}
