package replay

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// maxPolls bounds how often a job is asked for, once a second.
const maxPolls = 120

// Outcome is how a transcript went.
type Outcome struct {
	// Compared is how many answers were compared.
	Compared int
	// Unequal says of each step that was answered differently what differs.
	Unequal map[int]string
	// Unsent is why steps could not be sent: they name what no answer has shown, or are from a caller without keys.
	Unsent map[int]string
}

// Equal is how many answers were the recorded ones.
func (o Outcome) Equal() int { return o.Compared - len(o.Unequal) }

// Play replays a transcript from its first to its last step. An error means that it could not go on.
func (p *Player) Play(ctx context.Context, steps []Step) (Outcome, error) {
	out := Outcome{Unequal: map[int]string{}, Unsent: map[int]string{}}
	p.nameAccounts(ctx, steps)
	last := 0.0
	for i := 0; i < len(steps); i++ {
		s := &steps[i]
		if err := p.operate(ctx, s); err != nil {
			return out, err
		}
		if s.At > last {
			if err := p.operator.Advance(ctx, time.Duration((s.At-last)*float64(time.Second))); err != nil {
				return out, err
			}
			last = s.At
		}
		p.overtake(ctx, steps[i:])
		group := steps[i : i+1]
		for s.Parallel && i+1 < len(steps) && steps[i+1].Parallel && steps[i+1].command() == s.command() {
			i++
			group = steps[i-len(group) : i+1]
		}
		if err := p.playGroup(ctx, group, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// operate does what was done to the server itself.
func (p *Player) operate(ctx context.Context, s *Step) error {
	for _, act := range s.Control {
		for verb, what := range act {
			var err error
			switch verb {
			case "settings":
				o, _ := what.(map[string]any)
				err = p.operator.Set(ctx, fmt.Sprint(o["name"]), fmt.Sprint(o["value"]))
			case "restart":
				err = p.operator.Restart(ctx)
			}
			if err != nil {
				return fmt.Errorf("before step %d: %w", s.Step, err)
			}
		}
	}
	return nil
}

func (p *Player) playGroup(ctx context.Context, group []Step, out *Outcome) error {
	if reason := p.unsendable(&group[0]); reason != "" {
		out.Unsent[group[0].Step] = reason
		return nil
	}
	if group[0].Hangup {
		return p.leave(ctx, &group[0])
	}
	answers, err := p.exchange(ctx, group)
	if err != nil {
		return err
	}
	group = raced(group, answers)
	for i, got := range answers {
		s := &group[i]
		p.bindFrom(s, got)
		pending := strings.Contains(s.Note, "(pending)") && (jobStatus(s.Body) != 0 || jobStatus(got.Body) != 0)
		if pending || strings.HasPrefix(s.Note, "clean up") || strings.HasPrefix(s.Note, "cleanup") {
			continue
		}
		out.Compared++
		if diffs := p.differences(ctx, s, got); len(diffs) > 0 {
			out.Unequal[s.Step] = describe(s, diffs)
		}
	}
	return nil
}

// unsendable says why a step cannot be sent here, if so.
func (p *Player) unsendable(s *Step) string {
	if _, ok := p.keys[s.As]; !ok && s.As != "" && s.Sign != "none" && s.Sign != "session" {
		return "no keys of " + s.As
	}
	if !s.Hangup && p.unknown(s) {
		return "it names what no answer has shown"
	}
	return ""
}

// exchange sends steps and repeats what the recorder repeated: bursts until refused, polls until the job has ended.
func (p *Player) exchange(ctx context.Context, group []Step) ([]*Reply, error) {
	if len(group) > 1 {
		return p.Together(ctx, group)
	}
	s := &group[0]
	if got := p.early[s.Step]; got != nil {
		return []*Reply{got}, nil
	}
	got := p.Send(ctx, s)
	for range s.Burst {
		if got.Status != http.StatusOK {
			break
		}
		got = p.Send(ctx, s)
	}
	if s.command() == "queryAsyncJobResult" && s.Status == http.StatusOK && jobStatus(s.Body) != 0 && !strings.Contains(s.Note, "(pending)") {
		for i := 0; i < maxPolls && jobStatus(got.Body) == 0; i++ {
			if err := p.operator.Advance(ctx, time.Second); err != nil {
				return nil, err
			}
			got = p.Send(ctx, s)
		}
	}
	return []*Reply{got}, nil
}

// overtake sends a step whose reply came late before the steps that were made meanwhile.
func (p *Player) overtake(ctx context.Context, steps []Step) {
	if !strings.Contains(steps[0].Note, "reply is still outstanding") || len(p.early) > 0 {
		return
	}
	for i := range steps {
		if s := &steps[i]; s.At == 0 && !s.Parallel && !s.Hangup {
			p.early[s.Step] = p.Send(ctx, s)
			return
		}
	}
}

// raced pairs the answers to calls that were sent together with recorded ones of the same status: which of equal calls gets which, and how
// many of them get through, is chance.
func raced(group []Step, answers []*Reply) []Step {
	if len(group) == 1 {
		return group
	}
	out := slices.Clone(group)
	for i, got := range answers {
		same := slices.IndexFunc(group, func(s Step) bool { return s.Status == got.Status })
		if same >= 0 && group[i].Status != got.Status {
			out[i] = group[same]
			out[i].Step = group[i].Step
		}
	}
	return out
}

// jobStatus is the state of a polled job, -1 for anything else.
func jobStatus(body any) int {
	v := Dig(body, "queryasyncjobresultresponse.jobstatus")
	if n, ok := v.(float64); ok {
		return int(n)
	}
	return -1
}

// Dig follows a dotted path into an answer; nil is what is not there.
func Dig(v any, path string) any {
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
