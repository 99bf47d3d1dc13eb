package cloudsim

// osCategory groups OS types.
type osCategory struct {
	base
	name string
}

// osType is a guest operating system.
type osType struct {
	base
	description string
	category    *osCategory
}

func listOsTypes(c *call) (object, error) {
	wanted, byID := refer(c, c.osTypes, "id")
	cat, byCat := refer(c, c.osCategories, "oscategoryid")
	rows := c.osTypes.all(func(o *osType) bool {
		switch {
		case byID && o != wanted, byCat && o.category != cat:
			return false
		case c.has("description") && !containsFold(o.description, c.str("description")):
			return false
		}
		return containsFold(o.description, c.str("keyword"))
	})
	return pageOf(c, "ostype", rows, func(o *osType) object {
		out := obj("id", o.id, "oscategoryid", o.category.id)
		if c.knows("4.21") {
			out = out.with("oscategoryname", o.category.name)
		}
		return append(out, obj("name", o.description, "description", o.description, "isuserdefined", false, "fordisplay", true)...)
	})
}

func listOsCategories(c *call) (object, error) {
	wanted, byID := refer(c, c.osCategories, "id")
	rows := c.osCategories.all(func(o *osCategory) bool {
		return (!byID || o == wanted) && (!c.has("name") || containsFold(o.name, c.str("name"))) && containsFold(o.name, c.str("keyword"))
	})
	return pageOf(c, "oscategory", rows, func(o *osCategory) object {
		out := obj("id", o.id, "name", o.name)
		if c.knows("4.21") {
			out = out.with("isfeatured", true)
		}
		return out
	})
}
