package cloudsim_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/capcat/capcat/test/cloudsim"
)

// step is one recorded exchange.
type step struct {
	Step        int               `json:"step"`
	At          float64           `json:"t"`
	Note        string            `json:"note"`
	As          string            `json:"as"`
	Method      string            `json:"method"`
	Sign        string            `json:"sign"`
	Response    json.RawMessage   `json:"response"` // absent: json; null: none sent
	Command     *string           `json:"command"`
	Params      map[string]string `json:"params"`
	Append      string            `json:"append"`
	BlankAsPlus bool              `json:"blankAsPlus"`
	KeysOf      string            `json:"keysOf"`
	Control     []map[string]any  `json:"control"`
	Burst       int               `json:"burst"`
	Parallel    bool              `json:"parallel"`
	Hangup      bool              `json:"hangup"`
	SetCookie   []string          `json:"setCookie"`
	Status      int               `json:"status"`
	ContentType string            `json:"contentType"`
	Description string            `json:"xdescription"`
	Body        any               `json:"body"`
	Bind        map[string]string `json:"bind"`
}

func (s *step) command() string {
	if s.Command == nil {
		return ""
	}
	return *s.Command
}

func readTranscript(t *testing.T, name string) []step {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "transcripts", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var steps []step
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 32<<20)
	for lines.Scan() {
		var s step
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s.Step > 0 {
			steps = append(steps, s)
		}
	}
	if err := lines.Err(); err != nil {
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
	old   map[string]cloudsim.KeyPair // before the last registerUserKeys

	names   map[string]string // name -> value on this server
	literal map[string]string // id that the transcript writes out -> id on this server
	early   map[int]*reply    // of steps that were sent before their turn
	symbols map[string]string // value -> ${name}
	env     map[string]map[string]string
	cookies map[string]string // of the session of the transcript
	session string
}

// reply is what came back.
type reply struct {
	status  int
	header  http.Header
	cookies []*http.Cookie
	body    any
}

func newPlayer(t *testing.T, preset string) *player {
	t.Helper()
	clock := cloudsim.NewManualClock(start())
	sim, err := cloudsim.New(cloudsim.Options{Preset: preset, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(sim)
	t.Cleanup(func() {
		web.Close()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &player{t: t, sim: sim, clock: clock, base: web.URL + "/client/api", keys: sim.Keys(), old: map[string]cloudsim.KeyPair{},
		literal: map[string]string{}, early: map[int]*reply{}, names: map[string]string{"run": "r6000001"}, symbols: map[string]string{"r6000001": "${run}"}, env: map[string]map[string]string{}, cookies: map[string]string{}}
	p.bind("tenantKey", p.keys["tenant"].APIKey)
	return p
}

// nameAccounts knows the accounts by which the transcripts of such callers speak of each other; to others these names are ids.
func (p *player) nameAccounts(steps []step) {
	if !slices.ContainsFunc(steps, func(s step) bool { return s.As == "user" }) {
		return
	}
	for name, account := range map[string]string{"account": "netuser1", "account2": "netuser2", "account3": "netuser3"} {
		p.bind(name, account)
	}
}

func (p *player) bind(name, value string) {
	p.names[name] = value
	p.symbols[value] = "${" + name + "}"
}

// known are the lists by which ids of the seed are looked up, with what of a row is its name there.
func known(kind string) (command string, params []string, name string) {
	switch kind {
	case "domain", "account":
		return map[string]string{"domain": "listDomains", "account": "listAccounts"}[kind], []string{"listall", "true"}, "name"
	case "user":
		return "listUsers", []string{"listall", "true"}, "username"
	case "template":
		return "listTemplates", []string{"templatefilter", "featured"}, "name"
	case "ostype":
		return "listOsTypes", nil, "description"
	}
	return map[string]string{"zone": "listZones", "offering": "listServiceOfferings", "diskoffering": "listDiskOfferings", "networkoffering": "listNetworkOfferings",
		"vpcoffering": "listVPCOfferings", "role": "listRoles", "physicalnetwork": "listPhysicalNetworks", "acl": "listNetworkACLLists"}[kind], nil, "name"
}

// seeded resolves env:kind/name; the second of a name is written name#1.
func (p *player) seeded(ref string) string {
	kind, name, _ := strings.Cut(ref, "/")
	if p.env[kind] == nil {
		p.env[kind] = map[string]string{}
		command, params, field := known(kind)
		got := p.send(&step{As: "admin", Method: "GET", Sign: "ok", Command: &command, Params: pairs(params)})
		for _, row := range rowsOf(got.body) {
			key := fmt.Sprint(row[field])
			for i := 1; p.env[kind][key] != "" && p.env[kind][key] != row["id"]; i++ {
				key = fmt.Sprintf("%v#%d", row[field], i)
			}
			p.env[kind][key] = fmt.Sprint(row["id"])
		}
	}
	if id, ok := p.env[kind][name]; ok {
		return id
	}
	return "00000000-dead-dead-dead-000000000000"
}

func pairs(list []string) map[string]string {
	out := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		out[list[i]] = list[i+1]
	}
	return out
}

// rowsOf returns the rows of the first array in an envelope.
func rowsOf(body any) []map[string]any {
	var out []map[string]any
	envelope, _ := body.(map[string]any)
	for _, inner := range envelope {
		o, _ := inner.(map[string]any)
		for _, v := range o {
			list, _ := v.([]any)
			for _, e := range list {
				if row, ok := e.(map[string]any); ok {
					out = append(out, row)
				}
			}
		}
	}
	return out
}

var (
	named  = regexp.MustCompile(`\$\{([^}]*)\}`)
	folded = regexp.MustCompile(`\$\{(repeat|base64):([^}]*)\}`)
	spoken = regexp.MustCompile(`^<base64 of (\d+) (.)>$`)
)

// value writes the values of this server into a recorded text.
func (p *player) value(s string) string {
	if id, ok := p.literal[s]; ok {
		return id
	}
	if m := spoken.FindStringSubmatch(s); m != nil {
		var n int
		fmt.Sscan(m[1], &n)
		return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(m[2], n)))
	}
	s = folded.ReplaceAllStringFunc(s, func(m string) string {
		parts := strings.Split(strings.Trim(m, "${}"), ":")
		var n int
		fmt.Sscan(parts[len(parts)-1], &n)
		if parts[0] == "repeat" {
			return strings.Repeat(parts[1], n)
		}
		return strings.Repeat("Y2FwY2F0IGlz", n/12+1)[:n]
	})
	return named.ReplaceAllStringFunc(s, func(m string) string {
		name := m[2 : len(m)-1]
		if ref, ok := strings.CutPrefix(name, "env:"); ok {
			id := p.seeded(ref)
			if _, have := p.symbols[id]; !have {
				p.symbols[id] = m
			}
			return id
		}
		if v, ok := p.names[name]; ok {
			return v
		}
		return "11111111-dead-beef-dead-111111111111"
	})
}

// unknown says whether a step sends a name that nothing bound.
func (p *player) unknown(s *step) bool {
	for _, v := range s.Params {
		for _, m := range named.FindAllStringSubmatch(v, -1) {
			fixed := strings.HasPrefix(m[1], "env:") || strings.HasPrefix(m[1], "repeat:") || strings.HasPrefix(m[1], "base64:")
			if _, ok := p.names[m[1]]; !ok && !fixed {
				return true
			}
		}
	}
	return false
}

// symbolise writes names for the values of this server, longest first so that none is replaced inside another.
func (p *player) symbolise(v any) any {
	values := make([]string, 0, len(p.symbols))
	for s := range p.symbols {
		if len(s) >= 8 {
			values = append(values, s)
		}
	}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	var args []string
	for _, s := range values {
		args = append(args, s, p.symbols[s])
	}
	return replaceIn(v, strings.NewReplacer(args...))
}

func replaceIn(v any, r *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return r.Replace(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = replaceIn(v[i], r)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k := range v {
			out[k] = replaceIn(v[k], r)
		}
		return out
	}
	return v
}

// learn takes a value for a name that is seen for the first time.
func (p *player) learn(name, value string) bool {
	real := value
	if symbol.MatchString(value) {
		inner := value[2 : len(value)-1]
		if ref, ok := strings.CutPrefix(inner, "env:"); ok {
			real = p.seeded(ref)
		} else {
			real = p.names[inner]
		}
	}
	if ref, ok := strings.CutPrefix(name, "env:"); ok {
		return p.seeded(ref) == real
	}
	if have, ok := p.names[name]; ok {
		return have == real
	}
	if real == "" || strings.HasPrefix(name, "repeat:") || strings.HasPrefix(name, "base64:") {
		return false
	}
	p.names[name] = real
	if real == value {
		p.symbols[value] = "${" + name + "}"
	}
	return true
}

// query builds the parameters of a step as its caller sends them.
func (p *player) query(s *step) string {
	params := map[string]string{}
	for k, v := range s.Params {
		params[k] = p.value(v)
	}
	if s.Command != nil {
		params["command"] = *s.Command
	}
	if s.Response == nil {
		params["response"] = "json"
	} else if format := strings.Trim(string(s.Response), `"`); format != "null" {
		params["response"] = format
	}
	switch {
	case s.command() == "login":
		params["password"] = "password"
		if strings.Contains(s.Note, "wrong password") {
			params["password"] = "guess"
		}
	case s.Sign == "session":
		params["sessionkey"] = p.session
		if strings.Contains(s.Note, "wrong session key") {
			params["sessionkey"] = "wrong"
		}
	default:
		signParams(params, s.Sign, p.keysFor(s), p.clock.Now())
	}
	q := url.Values{}
	for k, v := range params {
		q.Set(k, v)
	}
	raw := strings.ReplaceAll(q.Encode(), "+", "%20")
	if s.BlankAsPlus {
		raw = strings.ReplaceAll(raw, "%20", "+")
	}
	return raw + s.Append
}

func (p *player) keysFor(s *step) cloudsim.KeyPair {
	if s.Note == "old keys" {
		return p.old[s.As]
	}
	return p.keys[s.As]
}

func (p *player) request(s *step) *http.Request {
	p.t.Helper()
	raw := p.query(s)
	req, err := http.NewRequest(s.Method, p.base, strings.NewReader(raw))
	if s.Method == http.MethodGet {
		req, err = http.NewRequest(s.Method, p.base+"?"+raw, nil)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if s.Method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if s.Sign == "session" && !strings.Contains(s.Note, "without cookie") {
		for name, value := range p.cookies {
			req.AddCookie(&http.Cookie{Name: name, Value: value})
		}
	}
	return req
}

func (p *player) send(s *step) *reply {
	p.t.Helper()
	return p.roundTrip(p.request(s))
}

func (p *player) roundTrip(req *http.Request) *reply {
	return readReply(http.DefaultClient.Do(req))
}

func readReply(resp *http.Response, err error) *reply {
	if err != nil {
		return &reply{body: err.Error()}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return &reply{body: err.Error()}
	}
	r := &reply{status: resp.StatusCode, header: resp.Header, cookies: resp.Cookies()}
	if err := json.Unmarshal(data, &r.body); err != nil {
		r.body = string(data)
	}
	return r
}

// leave sends a step from a client that is gone when the reply comes: nothing of it is looked at.
func (p *player) leave(s *step) {
	p.t.Helper()
	req := p.request(s)
	conn, err := net.Dial("tcp", req.URL.Host)
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	req.Close = true
	if err := req.Write(conn); err != nil {
		p.t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil { // the server carries the call out all the same
		p.t.Fatal(err)
	}
}

// together sends steps at the same time, over connections that are open already.
func (p *player) together(steps []step) []*reply {
	p.t.Helper()
	out := make([]*reply, len(steps))
	requests, conns := make([]*http.Request, len(steps)), make([]net.Conn, len(steps))
	for i := range steps {
		requests[i] = p.request(&steps[i])
		requests[i].Close = true
		conn, err := net.Dial("tcp", requests[i].URL.Host)
		if err != nil {
			p.t.Fatal(err)
		}
		defer conn.Close()
		conns[i] = conn
	}
	for i, req := range requests {
		if err := req.Write(conns[i]); err != nil {
			p.t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i := range steps {
		wg.Go(func() { out[i] = readReply(http.ReadResponse(bufio.NewReader(conns[i]), requests[i])) })
	}
	wg.Wait()
	return out
}
