package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// differences compares an answer with the recorded one: status, headers, envelope and content.
func (p *Player) differences(ctx context.Context, s *Step, got *Reply) []difference {
	p.nameSeeds(ctx, s.Body)
	c := &comparer{learn: func(name, value string) bool { return p.learn(ctx, name, value) }}
	if got.Status != s.Status {
		c.add("status", "want %d got %d", s.Status, got.Status)
	}
	if s.KeysOf == "" && s.ContentType != "" && got.Header.Get("Content-Type") != s.ContentType {
		c.add("content type", "want %q got %q", s.ContentType, got.Header.Get("Content-Type"))
	}
	if d := got.Header.Get("X-Description"); mask(fmt.Sprint(p.symbolise(d))) != strings.TrimSpace(mask(s.Description)) {
		c.add("description", "want %q got %q", s.Description, d)
	}
	for _, name := range s.SetCookie {
		if !hasCookie(got, name) {
			c.add("cookie", "no cookie %s", name)
		}
	}
	body := p.symbolise(got.Body)
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

func hasCookie(r *Reply, name string) bool {
	for _, c := range r.Cookies {
		if c.Name == name && c.Value != "" {
			return true
		}
	}
	return false
}

// loose says whether only the shape of a list counts: what a root admin lists depends on all that ever ran on a server.
func (p *Player) loose(s *Step) bool {
	return s.As == "admin" && strings.HasPrefix(s.command(), "list") && s.Params["id"] == "" && s.Params["ids"] == ""
}

// nameSeeds makes sure that ids of the seed which an answer names are known.
func (p *Player) nameSeeds(ctx context.Context, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		return
	}
	for _, m := range named.FindAllStringSubmatch(string(data), -1) {
		if strings.HasPrefix(m[1], "env:") {
			p.value(ctx, "${"+strings.ReplaceAll(m[1], `\"`, `"`)+"}")
		}
	}
}

// compareTexts compares answers that are no JSON; XML is compared for its elements, masked.
func (c *comparer) compareTexts(want, got any) {
	w, wok := want.(string)
	g, gok := got.(string)
	switch {
	case !wok || !gok:
		c.add("type", "body: %s, not %s", KindOf(want), KindOf(got))
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

func describe(s *Step, diffs []difference) string {
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
