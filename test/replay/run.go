package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/cloudsim/replay"
)

const defaultDir = "test/cloudsim/testdata/transcripts"

// maxKeys bounds the file of keys, in bytes.
const maxKeys = 1 << 20

type options struct {
	url, keys, control, dir string
	files                   []string
}

// server is what a file of keys tells.
type server struct {
	URL  string               `json:"url"`
	Keys map[string][2]string `json:"keys"`
}

// total counts over all transcripts.
type total struct{ compared, equal, unnamed, keyless int }

func (t *total) add(o replay.Outcome) {
	t.compared += o.Compared
	t.equal += o.Equal()
	for _, reason := range o.Unsent {
		if strings.HasPrefix(reason, "no keys") {
			t.keyless++
		} else {
			t.unnamed++
		}
	}
}

// run replays the files one after another and tells whether every answer that could be compared was the recorded one. A step of a
// caller without keys counts as different.
func run(ctx context.Context, o options, out io.Writer) (bool, error) {
	s, err := readServer(o.keys)
	if err != nil {
		return false, err
	}
	if o.url == "" {
		o.url = s.URL
	}
	files, err := o.transcripts()
	if err != nil {
		return false, err
	}
	operator, err := o.operator(ctx)
	if err != nil {
		return false, err
	}
	keys := map[string]cloudsim.KeyPair{}
	for who, k := range s.Keys {
		keys[who] = cloudsim.KeyPair{APIKey: k[0], SecretKey: k[1]}
	}
	var all total
	for n, t := range files {
		p, err := replay.New(replay.Options{URL: o.url, Keys: keys, Operator: operator, Run: fmt.Sprintf("r%07d%02d", time.Now().Unix()%1e7, n)})
		if err != nil {
			return false, err
		}
		outcome, err := play(ctx, p, t, out)
		if err != nil {
			return false, err
		}
		all.add(outcome)
	}
	fmt.Fprintf(out, "%d steps compared, %d equal, %d different; not sent: %d that name what no answer has shown, %d of callers without keys\n",
		all.compared, all.equal, all.compared-all.equal, all.unnamed, all.keyless)
	return all.equal == all.compared && all.keyless == 0, nil
}

func readServer(path string) (server, error) {
	var s server
	if path == "" {
		return s, errors.New(`name the file of keys by -keys: {"keys": {"admin": ["API key", "secret key"], ...}}`)
	}
	f, err := os.Open(path)
	if err != nil {
		return s, fmt.Errorf("reading the keys: %w", err)
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxKeys)).Decode(&s); err != nil {
		return s, fmt.Errorf("reading the keys: %s: %w", path, err)
	}
	if _, ok := s.Keys["admin"]; !ok {
		return s, fmt.Errorf("%s has no keys of admin, who looks up what the server was seeded with", path)
	}
	return s, nil
}

// unplayed are the transcripts that are for reading, and the one that was not made through the API.
func unplayed(name string) bool {
	return slices.Contains([]string{"2a-backend-failures", "39-start-failures", "60-secondary-storage"}, name)
}

// transcript is a file that was read.
type transcript struct {
	name  string
	steps []replay.Step
}

// operated tells whether something was done to the recording server itself.
func (t transcript) operated() bool {
	return slices.ContainsFunc(t.steps, func(s replay.Step) bool { return len(s.Control) > 0 })
}

// transcripts reads the files that are named, or all of the folder: there, what changes the settings of the server comes last.
func (o options) transcripts() ([]transcript, error) {
	paths := o.files
	if len(paths) == 0 {
		all, err := filepath.Glob(filepath.Join(o.dir, "*.jsonl"))
		if err != nil {
			return nil, err
		}
		paths = slices.DeleteFunc(all, func(path string) bool { return unplayed(nameOf(path)) })
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s has no transcripts", o.dir)
	}
	var first, last []transcript
	for _, path := range paths {
		steps, err := replay.Read(path)
		if err != nil {
			return nil, err
		}
		t := transcript{name: nameOf(path), steps: steps}
		if len(o.files) == 0 && t.operated() {
			last = append(last, t)
		} else {
			first = append(first, t)
		}
	}
	return append(first, last...), nil
}

func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), ".jsonl") }

func (o options) operator(ctx context.Context) (replay.Operator, error) {
	if o.control == "" {
		return &replay.Bystander{}, nil
	}
	r, err := replay.Control(ctx, o.control)
	if err != nil {
		return nil, fmt.Errorf("asking the control endpoints: %w", err)
	}
	return r, nil
}

// play replays one transcript and prints what differs and a count.
func play(ctx context.Context, p *replay.Player, t transcript, out io.Writer) (replay.Outcome, error) {
	if _, err := p.Prepare(ctx, t.name); err != nil {
		fmt.Fprintf(out, "%s: what was there before is missing, so some steps will differ: %v\n", t.name, err)
	}
	outcome, err := p.Play(ctx, t.steps)
	if err != nil {
		return outcome, fmt.Errorf("replaying %s: %w", t.name, err)
	}
	for _, n := range slices.Sorted(maps.Keys(outcome.Unequal)) {
		fmt.Fprintf(out, "%s:%d %s\n", t.name, n, outcome.Unequal[n])
	}
	for _, n := range slices.Sorted(maps.Keys(outcome.Unsent)) {
		fmt.Fprintf(out, "%s:%d was not sent: %s\n", t.name, n, outcome.Unsent[n])
	}
	fmt.Fprintf(out, "%-28s %d of %d equal\n", t.name, outcome.Equal(), outcome.Compared)
	return outcome, nil
}
