package cloudsim

import (
	"strconv"
	"strings"

	"github.com/capcat/capcat/test/cloudsim/internal/meta"
)

// call is one command on behalf of a caller, its parameters unpacked and checked.
type call struct {
	*Server
	name   string // of the command, as registered
	user   *user
	acct   *account
	post   bool
	remote string
	api    *meta.API
	spec   command
	values map[string]string            // plain parameters by lower-case name
	maps   map[string]map[int]mapValues // map parameters by lower-case name, then index
	fault  *activeFault
	// arrival is the number of the call among all that came in.
	arrival int64
	// working is set once the call has answered and its job is at work.
	working bool
}

// mapValues are the fields of one entry of a map parameter, in the order of their names.
type mapValues map[string]string

// root says whether the caller is a root admin.
func (c *call) root() bool { return c.acct.kind == accountRoot }

// admin says whether the caller is a root or domain admin.
func (c *call) admin() bool { return c.acct.kind == accountRoot || c.acct.kind == accountDomain }

// has says whether a plain parameter was sent, empty or not.
func (c *call) has(name string) bool {
	_, ok := c.values[name]
	return ok
}

// str returns a plain parameter, "" when it was not sent.
func (c *call) str(name string) string { return c.values[name] }

// flag reads a boolean: only "true", in any case, is true.
func (c *call) flag(name string) bool { return strings.EqualFold(c.values[name], "true") }

// flagOr is flag with a default for when the parameter was not sent.
func (c *call) flagOr(name string, def bool) bool {
	if !c.has(name) {
		return def
	}
	return c.flag(name)
}

// num reads a number, def when it was not sent. The parameter layer has refused what is none.
func (c *call) num(name string, def int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(c.values[name]), 10, 64)
	if err != nil {
		return def
	}
	return n
}

// list splits a list parameter at its commas; empty tokens vanish.
func (c *call) list(name string) []string {
	var out []string
	for part := range strings.SplitSeq(c.values[name], ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// refer returns the row that an id parameter names, removed rows too; ok is false when the parameter was not sent.
// A number that no row has gives ok with a zero row.
func refer[T entity](c *call, t *table[T], name string) (row T, ok bool) {
	v, sent := c.values[name]
	if !sent {
		return row, false
	}
	return resolveRow(t, v), true
}

func resolveRow[T entity](t *table[T], v string) (row T) {
	if r, ok := t.index[strings.ToLower(v)]; ok {
		return r
	}
	if n, ok := number(v); ok {
		return t.byDB(n)
	}
	return row
}

// referAll returns the rows that a list of ids names; sent is false when nothing was asked for.
func referAll[T entity](c *call, t *table[T], name string) (rows []T, sent bool) {
	var zero T
	ids := c.list(name)
	for _, id := range ids {
		if r := resolveRow(t, id); r != zero {
			rows = append(rows, r)
		}
	}
	return rows, len(ids) > 0
}
