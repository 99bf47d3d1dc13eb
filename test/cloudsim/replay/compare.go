package replay

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// difference is one point at which an answer is not the recorded one.
type difference struct{ kind, text string }

// comparer compares an answer with the recorded one, masked: ids, addresses, numbers and dates inside texts vary from server to server.
type comparer struct {
	learn func(name, value string) bool // learns a name that nothing bound so far
	diffs []difference
}

// decisive are the fields whose values clients decide by; of the others only presence and type count.
func decisive(field string) bool {
	return slices.Contains(strings.Fields(`state status type traffictype algorithm protocol publicport privateport startport endport icmptype icmpcode cidrlist name
		displayname displaytext account format hypervisor jobstatus jobresultcode jobinstancetype cmd success isdefault isready ispublic isfeatured issourcenat
		isstaticnat errorcode cserrorcode key value resourcetype clustertype size controlnodes guestiptype networktype allocationstate iscustomized cpunumber memory
		cpuspeed egressdefaultpolicy deviceid resourcetypename max templatetype crossZones passwordenabled sshkeyenabled roletype accounttype level path projectid
		project jobprocstatus jobresulttype vmstate virtualmachineIds`), field)
}

var (
	symbol = regexp.MustCompile(`^\$\{[^}]*\}$`)
	masks  = []struct {
		re *regexp.Regexp
		to string
	}{
		{regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`), "<id>"},
		{regexp.MustCompile(`\$\{[^}]*\}`), "<id>"},
		{regexp.MustCompile(`\bi-\d+-\d+-[A-Z]+\b`), "<instance>"},
		{regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+(/\d+)?\b`), "<ip>"},
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d{4})?`), "<date>"},
		{regexp.MustCompile(`[0-9a-f]{2}(:[0-9a-f]{2}){5}`), "<mac>"},
		{regexp.MustCompile(`\d+`), "<n>"},
	}
)

func mask(s string) string {
	for _, m := range masks {
		s = m.re.ReplaceAllString(s, m.to)
	}
	return s
}

func (c *comparer) add(kind, format string, args ...any) {
	c.diffs = append(c.diffs, difference{kind, fmt.Sprintf(format, args...)})
}

// KindOf is the JSON type of a decoded value.
func KindOf(v any) string {
	switch v.(type) {
	case bool:
		return "bool"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "list"
	case map[string]any:
		return "object"
	}
	return "null"
}

// compare walks both answers. loose drops values and lengths: what root admins list depends on everything that ever ran on a server.
func (c *comparer) compare(want, got any, path string, loose bool) {
	ws, wok := want.(string)
	gs, gok := got.(string)
	if wok && gok && ws != gs && symbol.MatchString(ws) && c.learn(ws[2:len(ws)-1], gs) {
		return
	}
	if KindOf(want) != KindOf(got) {
		c.add("type", "%s: %s, not %s", path, KindOf(want), KindOf(got))
		return
	}
	switch w := want.(type) {
	case map[string]any:
		c.compareObjects(w, got.(map[string]any), path, loose)
	case []any:
		c.compareLists(w, got.([]any), path, loose)
	default:
		c.compareValues(want, got, path, loose)
	}
}

func (c *comparer) compareObjects(want, got map[string]any, path string, loose bool) {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[k]; !ok {
			c.add("missing", "%s.%s", path, k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		w, ok := want[k]
		switch {
		case !ok:
			c.add("extra", "%s.%s", path, k)
		case k == "details" || (k == "count" && loose):
		default:
			c.compare(w, got[k], path+"."+k, loose)
		}
	}
}

func (c *comparer) compareLists(want, got []any, path string, loose bool) {
	if !loose && len(want) != len(got) {
		c.add("rows", "%s: %d, not %d", path, len(want), len(got))
	}
	if len(want) == 0 || len(got) == 0 {
		return
	}
	first, isRow := want[0].(map[string]any)
	if _, hasID := first["id"]; isRow && hasID {
		c.compareRows(want, got, path, loose)
		return
	}
	if _, hasName := first["name"]; isRow && hasName && strings.Contains(path, "listapis") {
		c.compareByName(want, got, path, loose)
		return
	}
	for i := range min(len(want), len(got), 3) {
		c.compare(want[i], got[i], path+"[]", loose || isRow)
	}
}

// compareRows pairs rows by the ids that are known; without any it compares the first rows for their fields.
func (c *comparer) compareRows(want, got []any, path string, loose bool) {
	byID := map[string][]any{} // a template has a row of the same id for each zone
	for _, r := range got {
		if o, ok := r.(map[string]any); ok {
			id := fmt.Sprint(o["id"])
			byID[id] = append(byID[id], o)
		}
	}
	pairs, known := 0, 0
	for _, r := range want {
		o, ok := r.(map[string]any)
		id := fmt.Sprint(o["id"])
		if !ok || !strings.HasPrefix(id, "${") {
			continue
		}
		known++
		if g := byID[id]; len(g) > 0 {
			pairs++
			c.compare(o, g[0], path+"[]", loose)
			byID[id] = g[1:]
		}
	}
	if pairs > 0 {
		return
	}
	if known == 1 && len(want) == 1 && len(got) == 1 { // a name that is learnt here
		c.compare(want[0], got[0], path+"[0]", loose)
		return
	}
	if known > 0 && !loose {
		c.add("value", "%s: none of the known ids", path)
	}
	c.compare(want[0], got[0], path+"[0]", true)
}

// compareByName compares what a real server lists in the order of a hash set.
func (c *comparer) compareByName(want, got []any, path string, loose bool) {
	byName := map[string]any{}
	for _, r := range got {
		if o, ok := r.(map[string]any); ok {
			byName[fmt.Sprint(o["name"])] = o
		}
	}
	for _, r := range want {
		o, _ := r.(map[string]any)
		name := fmt.Sprint(o["name"])
		if g, ok := byName[name]; ok {
			c.compare(o, g, path+"["+name+"]", loose)
		} else {
			c.add("missing", "%s[%s]", path, name)
		}
	}
}

func (c *comparer) compareValues(want, got any, path string, loose bool) {
	field := path[strings.LastIndex(path, ".")+1:]
	field, _, _ = strings.Cut(field, "[")
	ws, isText := want.(string)
	gs, _ := got.(string)
	isSymbol := strings.HasPrefix(ws, "${") && !strings.HasPrefix(ws, "${any")
	switch {
	case field == "errortext":
		if mask(ws) != mask(gs) {
			c.add("text", "%s: want %q got %q", path, ws, gs)
		}
	case decisive(field) || isSymbol:
		equal := want == got
		if isText && !isSymbol {
			equal = mask(ws) == mask(gs)
		}
		if !equal && !loose {
			c.add("value", "%s: want %v got %v", path, want, got)
		}
	case field == "count" && want != got:
		c.add("rows", "%s: want %v got %v", path, want, got)
	}
}
