package cloudsim_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// outcome is how a transcript went.
type outcome struct {
	compared int
	unequal  map[int]string // step -> what differs
}

// play replays a transcript from its first to its last step.
func (p *player) play(steps []step) outcome {
	p.t.Helper()
	out := outcome{unequal: map[int]string{}}
	p.nameAccounts(steps)
	last := 0.0
	for i := 0; i < len(steps); i++ {
		s := &steps[i]
		p.operate(s)
		if s.At > last {
			p.advance(time.Duration((s.At - last) * float64(time.Second)))
			last = s.At
		}
		p.overtake(steps[i:])
		group := steps[i : i+1]
		for s.Parallel && i+1 < len(steps) && steps[i+1].Parallel && steps[i+1].command() == s.command() {
			i++
			group = steps[i-len(group) : i+1]
		}
		p.playGroup(group, &out)
	}
	return out
}

func (p *player) advance(d time.Duration) {
	p.t.Helper()
	if err := p.sim.Advance(d); err != nil {
		p.t.Fatal(err)
	}
}

// operate does what was done to the server itself.
func (p *player) operate(s *step) {
	for _, act := range s.Control {
		for verb, what := range act {
			switch verb {
			case "settings":
				o, _ := what.(map[string]any)
				p.sim.Set(fmt.Sprint(o["name"]), fmt.Sprint(o["value"]))
			case "restart":
				p.sim.Restart()
			}
		}
	}
}

func (p *player) playGroup(group []step, out *outcome) {
	p.t.Helper()
	if group[0].Hangup {
		p.leave(&group[0])
		return
	}
	if p.unknown(&group[0]) {
		return
	}
	answers := p.exchange(group)
	group = raced(group, answers)
	for i, got := range answers {
		s := &group[i]
		p.bindFrom(s, got)
		pending := strings.Contains(s.Note, "(pending)") && (jobStatus(s.Body) != 0 || jobStatus(got.body) != 0)
		if pending || strings.HasPrefix(s.Note, "clean up") || strings.HasPrefix(s.Note, "cleanup") {
			continue
		}
		out.compared++
		if diffs := p.differences(s, got); len(diffs) > 0 {
			out.unequal[s.Step] = describe(s, diffs)
		}
	}
}

// exchange sends steps and repeats what the recorder repeated: bursts until refused, polls until the job has ended.
func (p *player) exchange(group []step) []*reply {
	p.t.Helper()
	if len(group) > 1 {
		return p.together(group)
	}
	s := &group[0]
	if got := p.early[s.Step]; got != nil {
		return []*reply{got}
	}
	got := p.send(s)
	for range s.Burst {
		if got.status != 200 {
			break
		}
		got = p.send(s)
	}
	if s.command() == "queryAsyncJobResult" && s.Status == 200 && jobStatus(s.Body) != 0 && !strings.Contains(s.Note, "(pending)") {
		for i := 0; i < 120 && jobStatus(got.body) == 0; i++ {
			p.advance(time.Second)
			got = p.send(s)
		}
	}
	return []*reply{got}
}

// overtake sends a step whose reply came late before the steps that were made meanwhile.
func (p *player) overtake(steps []step) {
	p.t.Helper()
	if !strings.Contains(steps[0].Note, "reply is still outstanding") || len(p.early) > 0 {
		return
	}
	for i := range steps {
		if s := &steps[i]; s.At == 0 && !s.Parallel && !s.Hangup {
			p.early[s.Step] = p.send(s)
			return
		}
	}
}

// raced pairs the answers to calls that were sent together with recorded ones of the same status: which of equal calls gets which, and how
// many of them get through, is chance.
func raced(group []step, answers []*reply) []step {
	if len(group) == 1 {
		return group
	}
	out := slices.Clone(group)
	for i, got := range answers {
		same := slices.IndexFunc(group, func(s step) bool { return s.Status == got.status })
		if same >= 0 && group[i].Status != got.status {
			out[i] = group[same]
			out[i].Step = group[i].Step
		}
	}
	return out
}

// jobStatus is the state of a polled job, -1 for anything else.
func jobStatus(body any) int {
	v := dig(body, "queryasyncjobresultresponse.jobstatus")
	if n, ok := v.(float64); ok {
		return int(n)
	}
	return -1
}

// dig follows a dotted path into an answer.
func dig(v any, path string) any {
	for part := range strings.SplitSeq(path, ".") {
		switch o := v.(type) {
		case map[string]any:
			v = o[part]
		case []any:
			var n int
			if _, err := fmt.Sscan(part, &n); err != nil || n >= len(o) {
				return nil
			}
			v = o[n]
		default:
			return nil
		}
	}
	return v
}

// bindFrom takes names for ids out of an answer: those of the transcript, jobs, keys, sessions.
func (p *player) bindFrom(s *step, got *reply) {
	for name, path := range s.Bind {
		if v := dig(got.body, path); v != nil {
			p.bind(name, fmt.Sprint(v))
		}
	}
	envelope, _ := got.body.(map[string]any)
	for _, inner := range envelope {
		if id, ok := dig(inner, "jobid").(string); ok && s.command() != "queryAsyncJobResult" {
			p.takeLiteral(s, id)
			p.names[fmt.Sprintf("job%d", s.Step)] = id
			if _, have := p.symbols[id]; !have {
				p.symbols[id] = fmt.Sprintf("${job%d}", s.Step)
			}
		}
	}
	if s.KeysOf != "" {
		p.old[s.KeysOf] = p.keys[s.KeysOf]
		k := p.keys[s.KeysOf]
		k.APIKey, _ = dig(got.body, "registeruserkeysresponse.userkeys.apikey").(string)
		k.SecretKey, _ = dig(got.body, "registeruserkeysresponse.userkeys.secretkey").(string)
		p.keys[s.KeysOf] = k
	}
	if s.command() == "login" && got.status == 200 {
		p.session, _ = dig(got.body, "loginresponse.sessionkey").(string)
		p.bind("sessionkey", p.session)
		for _, c := range got.cookies {
			p.cookies[c.Name] = c.Value
		}
	}
}

// takeLiteral notes what the job is here whose id the transcript writes out.
func (p *player) takeLiteral(s *step, id string) {
	envelope, _ := s.Body.(map[string]any)
	for _, inner := range envelope {
		if written, ok := dig(inner, "jobid").(string); ok && !strings.HasPrefix(written, "${") {
			p.literal[written] = id
		}
	}
}

// differences compares an answer with the recorded one: status, headers, envelope and content.
func (p *player) differences(s *step, got *reply) []difference {
	p.nameSeeds(s.Body)
	c := &comparer{learn: p.learn}
	if got.status != s.Status {
		c.add("status", "want %d got %d", s.Status, got.status)
	}
	if s.KeysOf == "" && s.ContentType != "" && got.header.Get("Content-Type") != s.ContentType {
		c.add("content type", "want %q got %q", s.ContentType, got.header.Get("Content-Type"))
	}
	if d := got.header.Get("X-Description"); mask(fmt.Sprint(p.symbolise(d))) != strings.TrimSpace(mask(s.Description)) {
		c.add("description", "want %q got %q", s.Description, d)
	}
	for _, name := range s.SetCookie {
		if !hasCookie(got, name) {
			c.add("cookie", "no cookie %s", name)
		}
	}
	body := p.symbolise(got.body)
	want, wok := s.Body.(map[string]any)
	have, hok := body.(map[string]any)
	switch {
	case !wok || !hok:
		c.compareTexts(s.Body, body)
	default:
		c.compareEnvelopes(want, have, p.loose(s))
	}
	return c.diffs
}

func hasCookie(r *reply, name string) bool {
	for _, c := range r.cookies {
		if c.Name == name && c.Value != "" {
			return true
		}
	}
	return false
}

// loose says whether only the shape of a list counts: what a root admin lists depends on all that ever ran on a server.
func (p *player) loose(s *step) bool {
	return s.As == "admin" && strings.HasPrefix(s.command(), "list") && s.Params["id"] == "" && s.Params["ids"] == ""
}

// nameSeeds makes sure that ids of the seed which an answer names are known.
func (p *player) nameSeeds(body any) {
	data, err := json.Marshal(body)
	if err != nil {
		return
	}
	for _, m := range named.FindAllStringSubmatch(string(data), -1) {
		if strings.HasPrefix(m[1], "env:") {
			p.value("${" + strings.ReplaceAll(m[1], `\"`, `"`) + "}")
		}
	}
}

// compareTexts compares answers that are no JSON; XML is compared for its elements, masked.
func (c *comparer) compareTexts(want, got any) {
	w, wok := want.(string)
	g, gok := got.(string)
	switch {
	case !wok || !gok:
		c.add("type", "body: %s, not %s", kindOf(want), kindOf(got))
	case strings.HasPrefix(w, "<?xml") && mask(w) != mask(g):
		c.add("text", "XML: want %.300q got %.300q", mask(w), mask(g))
	}
}

func (c *comparer) compareEnvelopes(want, got map[string]any, loose bool) {
	for k, w := range want {
		g, ok := got[k]
		if !ok {
			c.add("key", "no %s", k)
			return
		}
		c.compare(w, g, k, loose)
	}
}

func describe(s *step, diffs []difference) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s | %s", s.As, s.command(), s.Note)
	for i, d := range diffs {
		if i == 6 {
			fmt.Fprintf(&b, "\n      ... %d more", len(diffs)-i)
			break
		}
		fmt.Fprintf(&b, "\n      %s %.300s", d.kind, d.text)
	}
	return b.String()
}

// whole lists the transcripts that are to be equal in every step, with the steps that are not and why. A step that becomes equal must
// leave the list.
func whole() map[string]map[int]string {
	return map[string]map[int]string{
		"00-wire":                {},
		"01-discovery":           {},
		"02-templates":           {},
		"08-enforced-timestamps": {},
	}
}

// TestReplayWhole replays what the simulator answers completely.
func TestReplayWhole(t *testing.T) {
	for name, excused := range whole() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := newPlayer(t, "recorded").play(readTranscript(t, name))
			for n, text := range out.unequal {
				if excused[n] == "" {
					t.Errorf("step %d: %s", n, text)
				}
			}
			for n, reason := range excused {
				if out.unequal[n] == "" {
					t.Errorf("step %d is equal now, though listed as not: %s", n, reason)
				}
			}
			t.Logf("%d of %d equal", out.compared-len(out.unequal), out.compared)
		})
	}
}
