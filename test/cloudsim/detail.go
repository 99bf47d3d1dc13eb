package cloudsim

import (
	"maps"
	"slices"
	"strings"
)

// detailsOf finds the details of a resource and who owns it. Of the types that have some, the simulator knows machines and templates.
func (c *call) detailsOf(kind, id string) (details map[string]string, owner *account) {
	switch {
	case strings.EqualFold(kind, "UserVm"):
		if m := resolveRow(c.machines, id); m != nil && m.live() {
			return m.details, m.owner
		}
	case strings.EqualFold(kind, "Template"):
		if t := resolveRow(c.templates, id); t != nil && t.live() {
			return t.details, t.owner
		}
	}
	return nil, nil
}

func listResourceDetails(c *call) (object, error) {
	kind, _ := tagType(c.str("resourcetype"))
	switch {
	case kind == "":
		return nil, invalid("Invalid resource type %s", c.str("resourcetype"))
	case c.str("resourceid") == "":
		return nil, invalid("Insufficient parameters passed for listing by resourceId OR key,value pair. Please check your params and try again.")
	}
	details, owner := c.detailsOf(kind, c.str("resourceid"))
	if owner == nil {
		return nil, invalid("Unable to find resource by id %s and type %s", c.str("resourceid"), kind)
	}
	if err := c.mayUse(owner); err != nil {
		return nil, err
	}
	var keys []string
	for _, k := range slices.SortedFunc(maps.Keys(details), func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }) {
		if allOf(c.text("key", k), c.text("value", details[k])) {
			keys = append(keys, k)
		}
	}
	return pageOf(c, "resourcedetail", keys, func(k string) object {
		return obj("resourceid", c.str("resourceid"), "resourcetype", kind, "key", k, "value", details[k], "fordisplay", true)
	})
}

func addResourceDetail(c *call) (*work, error) {
	return c.changeDetails(func(details map[string]string) {
		for _, e := range c.maps["details"] {
			details[e["key"]] = e["value"]
		}
	}), nil
}

func removeResourceDetail(c *call) (*work, error) {
	return c.changeDetails(func(details map[string]string) {
		if c.str("key") == "" {
			clear(details)
		}
		delete(details, c.str("key"))
	}), nil
}

func (c *call) changeDetails(change func(map[string]string)) *work {
	return &work{run: func() (object, error) {
		kind, _ := tagType(c.str("resourcetype"))
		details, owner := c.detailsOf(kind, c.str("resourceid"))
		switch {
		case kind == "":
			return nil, invalid("Invalid resource type %s", c.str("resourcetype"))
		case owner == nil || details == nil:
			return nil, invalid("Unable to find resource by id %s and type %s", c.str("resourceid"), kind)
		}
		if err := c.mayUse(owner); err != nil {
			return nil, err
		}
		change(details)
		return success(), nil
	}}
}
