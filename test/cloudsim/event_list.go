package cloudsim

import (
	_ "embed"
	"slices"
	"strings"
	"time"
)

//go:embed seed/eventtypes.txt
var eventTypesText string

func listEventTypes(c *call) (object, error) {
	return whole("eventtype", strings.Fields(eventTypesText), func(name string) object { return obj("name", name) })
}

// listEvents shows the log: the newest page comes first, within a page the oldest event.
func listEvents(c *call) (object, error) {
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	from, to := c.dates()
	rows := c.events.all(func(e *eventRow) bool {
		switch {
		case !owner(e.account):
			return false
		case c.has("id") && !strings.EqualFold(e.id, c.str("id")):
			return false
		case c.has("type") && e.kind != c.str("type"), c.has("level") && !strings.EqualFold(e.level, c.str("level")):
			return false
		case c.has("state") && !strings.EqualFold(e.state, c.str("state")):
			return false
		case c.has("resourceid") && !strings.EqualFold(e.resource, c.str("resourceid")):
			return false
		case c.has("resourcetype") && !strings.EqualFold(e.resourceType, c.str("resourcetype")):
			return false
		case c.has("startid") && e.start != c.str("startid") && e.id != c.str("startid"):
			return false
		case e.created.Before(from) || e.created.After(to):
			return false
		}
		k := c.str("keyword")
		return k == "" || containsFold(e.kind, k) || containsFold(e.text, k) || containsFold(e.level, k)
	})
	slices.Reverse(rows)
	out, err := pageOf(c, "event", rows, c.eventObject)
	if page, ok := out.get("event").([]object); ok {
		slices.Reverse(page)
	}
	return out, err
}

func (c *call) dates() (from, to time.Time) {
	to = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	if t, ok := parseDate(c.str("startdate")); ok {
		from = t
	}
	if t, ok := parseDate(c.str("enddate")); ok {
		to = t
		if len(c.str("enddate")) == len("2006-01-02") {
			to = to.Add(24*time.Hour - time.Second)
		}
	}
	return from, to
}

func (c *call) eventObject(e *eventRow) object {
	o := obj("id", e.id, "username", e.user, "type", e.kind, "level", e.level, "description", e.text)
	o = append(o, c.ownerFields(e.account, "account")...)
	o = append(o, c.domainFirst(e.account)...)
	o = o.text("resourceid", e.resource).text("resourcetype", e.resourceType).text("resourcename", e.resourceName)
	return o.with("created", stamp(e.created)).with("state", e.state).text("parentid", e.start)
}
