package cloudsim

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capcat/capcat/test/cloudsim/internal/meta"
)

// checkCharacters refuses control characters other than line feed and carriage return.
func checkCharacters(params map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		for _, r := range params[name] {
			if (r < 0x20 && r != '\n' && r != '\r') || r == 0x7f {
				return badParam("Received value containing illegal ASCII non-printable characters for parameter %s", name)
			}
		}
	}
	return nil
}

// unpack sorts parameters into plain ones and maps.
func (c *call) unpack(params map[string]string) error {
	c.values, c.maps = map[string]string{}, map[string]map[int]mapValues{}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !strings.Contains(name, "[") {
			c.values[strings.ToLower(name)] = params[name]
			continue
		}
		param, index, key, ok := splitMapName(name)
		if !ok {
			return wrapped(430, "Unable to decode parameter %s; if specifying an object array, please use parameter[index].field=XXX, e.g. userGroupList[0].group=httpGroup", name)
		}
		entries := c.maps[param]
		if entries == nil {
			entries = map[int]mapValues{}
			c.maps[param] = entries
		}
		if entries[index] == nil {
			entries[index] = mapValues{}
		}
		entries[index][key] = params[name]
	}
	return nil
}

// splitMapName reads name[index].key; the key may hold dots.
func splitMapName(name string) (param string, index int, key string, ok bool) {
	param, rest, _ := strings.Cut(name, "[")
	digits, rest, closed := strings.Cut(rest, "]")
	index, err := strconv.Atoi(digits)
	key, dotted := strings.CutPrefix(rest, ".")
	ok = closed && err == nil && index >= 0 && dotted && key != "" && !strings.Contains(rest, "[")
	return strings.ToLower(param), index, key, ok
}

// mapOf merges the entries of a map parameter into one set of keys, in the order of the indexes, the way details are read.
func (c *call) mapOf(name string) map[string]string {
	entries := c.maps[name]
	if len(entries) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, i := range slices.Sorted(maps.Keys(entries)) {
		maps.Copy(out, entries[i])
	}
	return out
}

// checkParams is the parameter layer: what is required, what has a type, a length or must name something that exists.
func (c *call) checkParams() error {
	c.dropUnusable()
	if err := c.checkPaging(); err != nil {
		return err
	}
	for _, name := range c.requiredOrder() {
		_, isMap := c.maps[name]
		if !c.has(name) && !isMap {
			return badParam("Unable to execute API command %s due to missing parameter %s", c.wireName(), name)
		}
	}
	for i := range c.api.Params {
		if err := c.checkParam(&c.api.Params[i]); err != nil {
			return err
		}
	}
	return nil
}

// dropUnusable forgets parameters that this release does not know or that the caller's kind may not set: the server ignores both.
func (c *call) dropUnusable() {
	for i := range c.api.Params {
		p := &c.api.Params[i]
		if !c.knows(p.Since) || (!c.admin() && (slices.Contains(adminOnly(), p.Name) || slices.Contains(c.spec.adminOnly, p.Name))) {
			delete(c.values, p.Name)
			delete(c.maps, p.Name)
		}
	}
}

// adminOnly are the parameters that a plain user may send without any effect.
func adminOnly() []string {
	return []string{"displayvm", "fordisplay", "deploymentplanner", "displayvolume", "displaynetwork"}
}

// wireName is the command's name inside texts.
func (c *call) wireName() string {
	if c.spec.alias != "" {
		return c.spec.alias
	}
	return strings.ToLower(c.name)
}

func (c *call) requiredOrder() []string {
	order := slices.Clone(c.spec.required)
	for _, p := range c.api.Params {
		if p.Required && !slices.Contains(order, p.Name) {
			order = append(order, p.Name)
		}
	}
	return order
}

func (c *call) checkPaging() error {
	if _, paged := c.api.Param("pagesize"); !paged {
		return nil
	}
	page, size := c.has("page"), c.has("pagesize") && c.str("pagesize") != "-1"
	switch {
	case page && !c.has("pagesize"):
		return badParam(`"pagesize" parameter is required when "page" is specified`)
	case size && !page:
		return badParam(`"page" parameter is required when "pagesize" is specified`)
	}
	return nil
}

func (c *call) checkParam(p *meta.Param) error {
	v, sent := c.values[p.Name]
	if !sent {
		return nil
	}
	if v == "" && slices.Contains(c.spec.notEmpty, p.Name) {
		return invalid("Invalid value provided for API arg: %s", p.Name)
	}
	switch p.Type {
	case "uuid":
		return c.checkID(p, v)
	case "list":
		return c.checkList(p)
	case "string":
		if p.Name == "name" && c.spec.hostNames {
			return c.refuseHostName(p.Name)
		}
		if len([]rune(v)) > p.Length {
			return badParam("Unable to execute API command %s due to invalid value. Value greater than max allowed length %d for param: %s", c.wireName(), p.Length, c.javaName(p.Name))
		}
	case "date":
		if _, ok := parseDate(v); !ok && v != "" {
			return badParam("Unable to parse date %s for command %s, please pass dates in the format yyyy-MM-dd|yyyy-MM-dd HH:mm:ss|yyyy-MM-dd'T'HH:mm:ssZ", v, c.wireName())
		}
	default:
		if !readsAs(p.Type, v) {
			return badParam("Unable to execute API command %s due to invalid value %s for parameter %s", c.wireName(), v, p.Name)
		}
	}
	return nil
}

// readsAs says whether a value can be read as a type; booleans can always, maps never, numbers also when empty.
func readsAs(kind, v string) bool {
	switch kind {
	case "map", "object":
		return false
	case "integer", "long", "short":
		bits := map[string]int{"integer": 32, "long": 64, "short": 16}[kind]
		_, err := strconv.ParseInt(v, 10, bits)
		return err == nil || v == ""
	case "double":
		_, err := strconv.ParseFloat(v, 64)
		return err == nil || v == ""
	}
	return true
}

// checkID resolves an id. Numbers pass unchecked where the parameter is as old as numeric ids; newer ones that are no id are dropped.
func (c *call) checkID(p *meta.Param, v string) error {
	if c.resolves(p, v) {
		return nil
	}
	if p.Since != "" && !looksLikeID(v) {
		delete(c.values, p.Name)
		return nil
	}
	return unknownID(c.wireName(), p.Name, v)
}

func (c *call) resolves(p *meta.Param, v string) bool {
	if _, ok := number(v); ok {
		return true
	}
	t := c.kinds[c.kindOf(p)]
	if t == nil {
		return false
	}
	_, ok := t.lookup(v)
	return ok
}

func looksLikeID(s string) bool {
	if len(s) != 36 {
		return false
	}
	return strings.Count(s, "-") == 4
}

// checkList checks every id of a list; lists of plain words hold anything.
func (c *call) checkList(p *meta.Param) error {
	if len(p.RelatedAPIs()) == 0 && kindByName(p.Name) == "" {
		return nil
	}
	if _, known := c.kinds[c.kindOf(p)]; !known {
		return nil
	}
	for _, id := range c.list(p.Name) {
		if !c.resolves(p, id) {
			return unknownID(c.wireName(), p.Name, id)
		}
	}
	return nil
}

// javaName is the field behind a parameter, which one text prints instead of the parameter.
func (c *call) javaName(param string) string {
	if n, ok := c.spec.fields[param]; ok {
		return n
	}
	if n, ok := map[string]string{"displayname": "displayName", "displaytext": "displayText", "networkdomain": "networkDomain",
		"publickey": "publicKey", "accountname": "accountName"}[param]; ok {
		return n
	}
	return param
}

func parseDate(v string) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02T15:04:05-0700", time.RFC3339, "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, v); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
