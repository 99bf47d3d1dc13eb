package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/capcat/capcat/test/cloudsim"
)

// callTimeout bounds one call.
const callTimeout = 2 * time.Minute

// Options say what server to replay on, and how.
type Options struct {
	// URL of the API, as http://host:port/client/api.
	URL string
	// Keys of each caller of the transcripts.
	Keys map[string]cloudsim.KeyPair
	// Operator lets time pass and does what was done to the recording server itself.
	Operator Operator
	// Run makes names unique on a server that is replayed on more than once; at least 8 characters, default r6000001.
	Run string
}

// Player replays one transcript.
type Player struct {
	operator Operator
	client   *http.Client
	base     string
	keys     map[string]cloudsim.KeyPair
	old      map[string]cloudsim.KeyPair // before the last registerUserKeys

	names   map[string]string // name -> value on this server
	literal map[string]string // id that the transcript writes out -> id on this server
	early   map[int]*Reply    // of steps that were sent before their turn
	symbols map[string]string // value -> ${name}
	env     map[string]map[string]string
	cookies map[string]string // of the session of the transcript
	session string
}

// New returns a player for one transcript.
func New(o Options) (*Player, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New("the URL of the server must be a complete http or https URL, as http://127.0.0.1:8080/client/api")
	}
	if o.Operator == nil {
		return nil, errors.New("a replay needs an operator")
	}
	if o.Run == "" {
		o.Run = "r6000001"
	}
	p := &Player{
		operator: o.Operator, client: &http.Client{Timeout: callTimeout}, base: o.URL, keys: maps.Clone(o.Keys), old: map[string]cloudsim.KeyPair{},
		names: map[string]string{}, literal: map[string]string{}, early: map[int]*Reply{}, symbols: map[string]string{},
		env: map[string]map[string]string{}, cookies: map[string]string{},
	}
	p.Bind("run", o.Run)
	if k, ok := o.Keys["tenant"]; ok {
		p.Bind("tenantKey", k.APIKey)
	}
	return p, nil
}

// Bind gives a value of this server the name that transcripts know it by.
func (p *Player) Bind(name, value string) {
	p.names[name] = value
	p.symbols[value] = "${" + name + "}"
}

// nameAccounts knows the accounts by which the transcripts of such callers speak of each other; to others these names are ids.
func (p *Player) nameAccounts(ctx context.Context, steps []Step) {
	called := map[string]bool{}
	for i := range steps {
		called[steps[i].As] = true
	}
	if !called["user"] {
		return
	}
	for name, caller := range map[string]string{"account": "user", "account2": "user2", "account3": "user3"} {
		if _, ok := p.keys[caller]; !ok {
			continue
		}
		rows := Rows(p.Call(ctx, caller, "listAccounts").Body)
		if len(rows) > 0 {
			p.Bind(name, fmt.Sprint(rows[0]["name"]))
		}
	}
}

// Call sends a call that belongs to no transcript. Parameters are names and values in turn.
func (p *Player) Call(ctx context.Context, as, command string, params ...string) *Reply {
	return p.Send(ctx, &Step{As: as, Method: http.MethodPost, Sign: "ok", Command: &command, Params: Pairs(params...)})
}

// Pairs makes parameters of names and values in turn.
func Pairs(list ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		out[list[i]] = list[i+1]
	}
	return out
}
