package cloudsim_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/cloudsim/replay"
)

type step = replay.Step

func readTranscript(t *testing.T, name string) []step {
	t.Helper()
	steps, err := replay.Read(filepath.Join("testdata", "transcripts", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// player replays one transcript on a fresh server with its own clock.
type player struct {
	t     *testing.T
	sim   *cloudsim.Server
	clock *cloudsim.ManualClock
	base  string
	keys  map[string]cloudsim.KeyPair
	plays *replay.Player
}

// reply is what came back.
type reply struct {
	status int
	body   any
}

func newPlayer(t *testing.T, preset string) *player {
	t.Helper()
	clock := cloudsim.NewManualClock(start())
	sim, err := cloudsim.New(cloudsim.Options{Preset: preset, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return playerOn(t, sim, clock)
}

// playerOn plays on a server, which it closes at the end.
func playerOn(t *testing.T, sim *cloudsim.Server, clock *cloudsim.ManualClock) *player {
	t.Helper()
	web := httptest.NewServer(sim)
	t.Cleanup(func() {
		web.Close()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &player{t: t, sim: sim, clock: clock, base: web.URL + "/client/api", keys: sim.Keys()}
	var err error
	p.plays, err = replay.New(replay.Options{URL: p.base, Keys: p.keys, Operator: replay.Simulator{Server: sim, Clock: clock}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// prepare does what had been done on the recording server before the transcript, and tells whether there was anything.
func (p *player) prepare(name string) bool {
	p.t.Helper()
	done, err := p.plays.Prepare(p.t.Context(), name)
	if err != nil {
		p.t.Fatal(err)
	}
	return done
}

func (p *player) play(steps []step) replay.Outcome {
	p.t.Helper()
	out, err := p.plays.Play(p.t.Context(), steps)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

func (p *player) advance(d time.Duration) {
	p.t.Helper()
	if err := p.sim.Advance(d); err != nil {
		p.t.Fatal(err)
	}
}

func (p *player) seeded(ref string) string { return p.plays.Seeded(p.t.Context(), ref) }

func (p *player) send(s *step) *reply { return replied(p.plays.Send(p.t.Context(), s)) }

func (p *player) together(steps []step) []*reply {
	p.t.Helper()
	got, err := p.plays.Together(p.t.Context(), steps)
	if err != nil {
		p.t.Fatal(err)
	}
	out := make([]*reply, len(got))
	for i := range got {
		out[i] = replied(got[i])
	}
	return out
}

func (p *player) roundTrip(req *http.Request) *reply {
	return replied(replay.ReadReply(http.DefaultClient.Do(req)))
}

func replied(r *replay.Reply) *reply { return &reply{status: r.Status, body: r.Body} }

func pairs(list []string) map[string]string { return replay.Pairs(list...) }

func rowsOf(body any) []map[string]any { return replay.Rows(body) }

func dig(v any, path string) any { return replay.Dig(v, path) }

func kindOf(v any) string { return replay.KindOf(v) }
