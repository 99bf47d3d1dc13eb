package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capcat/capcat/test/cloudsim"
)

const transcripts = "../cloudsim/testdata/transcripts/"

// fresh starts a simulator and returns where it is and a file of its keys.
func fresh(t *testing.T) options {
	t.Helper()
	sim, err := cloudsim.New(cloudsim.Options{Preset: cloudsim.PresetRecorded, Clock: cloudsim.NewManualClock(time.Now())})
	if err != nil {
		t.Fatal(err)
	}
	api, control := httptest.NewServer(sim), httptest.NewServer(sim.ControlHandler())
	t.Cleanup(func() {
		api.Close()
		control.Close()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	s := server{URL: api.URL + "/client/api", Keys: map[string][2]string{}}
	for who, k := range sim.Keys() {
		s.Keys[who] = [2]string{k.APIKey, k.SecretKey}
	}
	return options{url: s.URL, keys: keysFile(t, s), control: control.URL}
}

func keysFile(t *testing.T, s server) string {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReplayOfAnEqualServer(t *testing.T) {
	for name, change := range map[string]func(*options){
		"with control":                 func(*options) {},
		"without control":              func(o *options) { o.control = "" },
		"URL from the file of keys":    func(o *options) { o.url = "" },
		"settings and restarts change": func(o *options) { o.files = []string{transcripts + "08-enforced-timestamps.jsonl"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := fresh(t)
			o.files = []string{transcripts + "00-wire.jsonl"}
			change(&o)
			var out bytes.Buffer
			same, err := run(t.Context(), o, &out)
			if err != nil || !same || !strings.Contains(out.String(), " 0 different") {
				t.Errorf("got %v, %v\n%s", same, err, &out)
			}
		})
	}
}

func TestReplayTellsWhatDiffers(t *testing.T) {
	o := fresh(t)
	text, err := os.ReadFile(transcripts + "00-wire.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), "changed.jsonl")
	if err := os.WriteFile(changed, bytes.Replace(text, []byte(`"status": 200`), []byte(`"status": 203`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	o.files = []string{changed}
	var out bytes.Buffer
	same, err := run(t.Context(), o, &out)
	if err != nil || same || !strings.Contains(out.String(), "status want 203 got 200") || !strings.Contains(out.String(), " 1 different") {
		t.Errorf("got %v, %v\n%s", same, err, &out)
	}
}

func TestReplayMissesKeys(t *testing.T) {
	o := fresh(t)
	s, err := readServer(o.keys)
	if err != nil {
		t.Fatal(err)
	}
	delete(s.Keys, "teamadmin")
	o.keys, o.files = keysFile(t, s), []string{transcripts + "01-discovery.jsonl"}
	var out bytes.Buffer
	same, err := run(t.Context(), o, &out)
	if err != nil || same || !strings.Contains(out.String(), "no keys of teamadmin") || !strings.Contains(out.String(), "2 of callers without keys") {
		t.Errorf("got %v, %v\n%s", same, err, &out)
	}
}

func TestReplayRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*options)
		want   string
	}{
		"no keys":           {func(o *options) { o.keys = "" }, "-keys"},
		"a URL of no host":  {func(o *options) { o.url = "here" }, "complete http or https URL"},
		"no transcripts":    {func(o *options) { o.files, o.dir = nil, t.TempDir() }, "has no transcripts"},
		"another kind":      {func(o *options) { o.files = []string{transcripts + "60-secondary-storage.jsonl"} }, "not a transcript of calls"},
		"control elsewhere": {func(o *options) { o.control = o.url }, "control endpoints"},
	} {
		t.Run(name, func(t *testing.T) {
			o := fresh(t)
			o.files = []string{transcripts + "00-wire.jsonl"}
			c.change(&o)
			var out bytes.Buffer
			if _, err := run(t.Context(), o, &out); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q\n%s", err, c.want, &out)
			}
		})
	}
}
