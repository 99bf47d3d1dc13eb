package replay

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

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

// Seeded returns the id of what the server was seeded with, by kind/name; the second of a name is written name#1. What there is not has an id
// that nothing has.
func (p *Player) Seeded(ctx context.Context, ref string) string {
	kind, name, _ := strings.Cut(ref, "/")
	if p.env[kind] == nil {
		p.env[kind] = map[string]string{}
		command, params, field := known(kind)
		got := p.Send(ctx, &Step{As: "admin", Method: http.MethodGet, Sign: "ok", Command: &command, Params: Pairs(params...)})
		for _, row := range Rows(got.Body) {
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

// Rows returns the rows of the first array in an envelope.
func Rows(body any) []map[string]any {
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

// number reads a count of a transcript; what is none is 0.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxLine {
		return 0
	}
	return n
}

// value writes the values of this server into a recorded text.
func (p *Player) value(ctx context.Context, s string) string {
	if id, ok := p.literal[s]; ok {
		return id
	}
	if m := spoken.FindStringSubmatch(s); m != nil {
		return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(m[2], number(m[1]))))
	}
	s = folded.ReplaceAllStringFunc(s, func(m string) string {
		parts := strings.Split(strings.Trim(m, "${}"), ":")
		n := number(parts[len(parts)-1])
		if parts[0] == "repeat" {
			return strings.Repeat(parts[1], n)
		}
		return strings.Repeat("Y2FwY2F0IGlz", n/12+1)[:n]
	})
	return named.ReplaceAllStringFunc(s, func(m string) string {
		name := m[2 : len(m)-1]
		if ref, ok := strings.CutPrefix(name, "env:"); ok {
			id := p.Seeded(ctx, ref)
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
func (p *Player) unknown(s *Step) bool {
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
func (p *Player) symbolise(v any) any {
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
func (p *Player) learn(ctx context.Context, name, value string) bool {
	real := value
	if symbol.MatchString(value) {
		inner := value[2 : len(value)-1]
		if ref, ok := strings.CutPrefix(inner, "env:"); ok {
			real = p.Seeded(ctx, ref)
		} else {
			real = p.names[inner]
		}
	}
	if ref, ok := strings.CutPrefix(name, "env:"); ok {
		return p.Seeded(ctx, ref) == real
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
