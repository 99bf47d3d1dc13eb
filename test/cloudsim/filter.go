package cloudsim

import "strings"

// allOf is true when every condition holds: the filters of a list, one a line.
func allOf(conditions ...bool) bool {
	for _, ok := range conditions {
		if !ok {
			return false
		}
	}
	return true
}

// text filters by a text that has to be equal, ignoring case as the database does; a parameter that was not sent filters nothing.
func (c *call) text(param, value string) bool {
	return !c.has(param) || strings.EqualFold(value, c.str(param))
}

// choice is text for parameters that filter nothing when they are empty.
func (c *call) choice(param, value string) bool {
	return c.str(param) == "" || strings.EqualFold(value, c.str(param))
}

// truth filters by a boolean.
func (c *call) truth(param string, value bool) bool {
	return !c.has(param) || value == c.flag(param)
}

// number filters by a number.
func (c *call) number(param string, value int64) bool {
	return !c.has(param) || value == c.num(param, 0)
}

// keyword filters by a part of any of some texts.
func (c *call) keyword(values ...string) bool {
	k := c.str("keyword")
	if k == "" {
		return true
	}
	for _, v := range values {
		if containsFold(v, k) {
			return true
		}
	}
	return false
}

// refersTo filters by an id parameter that names a row.
func refersTo[T entity](c *call, t *table[T], param string) func(T) bool {
	wanted, ok := refer(c, t, param)
	return func(row T) bool { return !ok || row == wanted }
}

// among filters by a list of ids.
func among[T entity](c *call, t *table[T], param string) func(T) bool {
	rows, ok := referAll(c, t, param)
	return func(row T) bool { return !ok || contains(rows, row) }
}
