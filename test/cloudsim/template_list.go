package cloudsim

import (
	"cmp"
	"slices"
	"strings"
)

// templateFilters are the values of templatefilter.
func templateFilters() []string {
	return []string{"featured", "self", "selfexecutable", "shared", "sharedexecutable", "executable", "community", "all"}
}

// listTemplates shows a row for each zone that has a template.
func listTemplates(c *call) (object, error) {
	filter := c.str("templatefilter")
	if !contains(templateFilters(), filter) {
		return nil, badParam("No enum constant com.cloud.template.VirtualMachineTemplate.TemplateFilter.%s", filter)
	}
	if filter == "all" && !c.admin() {
		return nil, invalid("Filter all can be specified by admin only")
	}
	tagged, err := c.tagFilter("Template")
	if err != nil {
		return nil, err
	}
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	if err := c.checkTemplateIDs(); err != nil {
		return nil, err
	}
	rows := c.templateRows(func(r templateRow) bool {
		return c.visible(r, filter, owner) && tagged(r.t.id) && c.matchesTemplate(r)
	})
	return pageOf(c, "template", rows, c.templateObject)
}

// checkTemplateIDs refuses to show a private template of somebody else by id: an error, where other lists show nothing.
func (c *call) checkTemplateIDs() error {
	t, ok := refer(c, c.templates, "id")
	if !ok || t == nil || !t.live() {
		return nil
	}
	if !t.public && c.acct.kind == accountDomain {
		return c.mayUseDomain(t.owner.domain)
	}
	return c.mayLaunch(t)
}

// mayOperate refuses changes to a template of somebody else. One that was shared counts as the caller's own here.
func (c *call) mayOperate(t *template) error {
	switch {
	case c.root(), t.owner == c.acct, t.owner.project != nil && t.owner.project.member(c.acct):
		return nil
	case t.public:
		return denied("Domain Admin and regular users can modify only their own Public templates")
	case contains(t.shared, c.acct):
		return nil
	}
	return c.launchDenied(t)
}

// mayLaunch refuses a template that is neither public nor shared with the caller nor the caller's own.
func (c *call) mayLaunch(t *template) error {
	if t.public || contains(t.shared, c.acct) || c.mayUse(t.owner) == nil {
		return nil
	}
	return c.launchDenied(t)
}

func (c *call) launchDenied(t *template) error {
	return denied("Account %s does not have permission to launch instances from template %s", c.accountText(), t.printed())
}

// templateRows lists the zones of templates that keep accepts, oldest template first; one row a template where uniqueness is asked for.
func (c *call) templateRows(keep func(templateRow) bool) []templateRow {
	var rows []templateRow
	for _, t := range c.templates.rows {
		if !t.live() {
			continue
		}
		copies := t.liveCopies()
		slices.SortStableFunc(copies, func(a, b *templateCopy) int { return cmp.Compare(a.zone.db, b.zone.db) })
		for _, cp := range copies {
			if r := (templateRow{t, cp}); keep(r) {
				rows = append(rows, r)
				if c.flag("showunique") {
					break
				}
			}
		}
	}
	return rows
}

// visible decides by filter whether the caller sees a row.
func (c *call) visible(r templateRow, filter string, own owns) bool {
	t := r.t
	switch {
	case !c.hostsRun(t.hypervisor):
		return false
	case filter == "all":
		return c.root() || t.public || c.acct.domain.contains(t.owner.domain)
	case t.kind == templateSystem:
		return false
	}
	byID := c.has("id") || len(c.list("ids")) > 0
	mine := own(t.owner) || (byID && c.mayUse(t.owner) == nil && t.owner.project == nil)
	if strings.HasPrefix(filter, "self") {
		usable := r.c.ready && t.kind != "" // uploaded ones have no type and are left out
		return mine && (filter == "self" || usable)
	}
	if filter == "executable" && mine {
		return true
	}
	return c.visibleToOthers(r, filter, mine, byID)
}

// visibleToOthers decides for the filters that show what belongs to others.
func (c *call) visibleToOthers(r templateRow, filter string, mine, byID bool) bool {
	t := r.t
	shared := contains(t.shared, c.acct) && !mine
	switch filter {
	case "featured":
		return t.featured && t.public
	case "shared":
		return shared
	case "sharedexecutable":
		return shared && r.c.ready
	case "executable":
		return (t.public || shared) && (byID || r.c.ready)
	}
	return t.public && !t.featured && !mine // community
}

// hostsRun says whether some host runs a hypervisor: templates of others are shown to nobody.
func (s *Server) hostsRun(hypervisor string) bool {
	for _, h := range s.hosts.rows {
		if h.live() && h.hypervisor == hypervisor {
			return true
		}
	}
	return false
}

// matchesTemplate applies the plain filters.
func (c *call) matchesTemplate(r templateRow) bool {
	t := r.t
	category := &osCategory{}
	if t.os != nil {
		category = t.os.category
	}
	return allOf(refersTo(c, c.templates, "id")(t), among(c, c.templates, "ids")(t), refersTo(c, c.zones, "zoneid")(r.c.zone),
		refersTo(c, c.osCategories, "oscategoryid")(category), refersTo(c, c.imageStores, "imagestoreid")(r.c.store),
		c.text("name", t.name), c.keyword(t.name, t.text), c.choice("hypervisor", t.hypervisor), c.truth("isready", r.c.ready),
		c.choice("arch", t.arch), c.choice("templatetype", t.kind), c.truth("forcks", t.forCKS))
}

// listTemplatePermissions shows with whom a template is shared.
func listTemplatePermissions(c *call) (object, error) {
	t, err := c.ownTemplate("id")
	if err != nil {
		return nil, err
	}
	o := obj("id", t.id, "ispublic", t.public)
	if c.root() {
		o = o.with("domainid", t.owner.domain.id)
	}
	if len(t.shared) > 0 {
		names := make([]string, 0, len(t.shared)+1)
		for _, a := range t.shared {
			names = append(names, a.name)
		}
		o = o.with("account", append(names, t.owner.name))
	}
	return obj("templatepermission", o), nil
}

// ownTemplate returns a live template that the caller may change.
func (c *call) ownTemplate(param string) (*template, error) {
	t, _ := refer(c, c.templates, param)
	if t == nil || !t.live() {
		return nil, c.templateGone(t)
	}
	return t, c.mayOperate(t)
}

// templateGone is the refusal of a service that does not find a template any more.
func (c *call) templateGone(t *template) error {
	e := invalid("unable to find template/iso with specified id")
	if t != nil {
		return e.about("templateId", formatInt(t.db))
	}
	return e
}
