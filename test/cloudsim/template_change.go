package cloudsim

import (
	"slices"
	"strings"
)

// updateTemplate changes what may be changed. Details replace all there were.
func updateTemplate(c *call) (object, error) {
	t, err := c.ownTemplate("id")
	if err != nil {
		return nil, err
	}
	if c.has("format") {
		f, err := c.templateFormat()
		if err != nil {
			return nil, err
		}
		t.format = f
	}
	if os, ok := refer(c, c.osTypes, "ostypeid"); ok {
		if os == nil {
			return nil, invalid("Please specify a valid guest OS type")
		}
		t.os = os
	}
	if c.has("arch") {
		if t.arch, err = c.templateArch(); err != nil {
			return nil, err
		}
	}
	c.updateTexts(t)
	detailed := c.mapOf("details")
	switch {
	case c.flag("cleanupdetails"):
		t.details = nil
	case detailed != nil:
		t.details = detailed
	}
	c.record(t.owner, c.user, "TEMPLATE.UPDATE", "Updating template: "+t.id, "Template", t.id, t.name, "Completed")
	return obj("template", c.updatedTemplate(t)), nil
}

func (c *call) updateTexts(t *template) {
	if v := c.str("name"); v != "" {
		t.name = v
	}
	if v := c.str("displaytext"); v != "" {
		t.text = v
	}
	for name, to := range map[string]*bool{"passwordenabled": &t.password, "sshkeyenabled": &t.sshKey, "isdynamicallyscalable": &t.scalable,
		"requireshvm": &t.hvm, "forcks": &t.forCKS} {
		*to = c.flagOr(name, *to)
	}
	if c.root() {
		t.featured, t.public = c.flagOr("isfeatured", t.featured), c.flagOr("ispublic", t.public)
		t.extractable = c.flagOr("isextractable", t.extractable)
	}
}

// updatedTemplate is what the update answers: less than a list, and never ready.
func (c *call) updatedTemplate(t *template) object {
	o := obj("id", t.id, "name", t.name, "displaytext", t.text, "ispublic", t.public, "created", stamp(t.created), "isready", false, "format", t.format,
		"bootable", true, "isfeatured", t.featured, "crossZones", t.crossZones)
	if t.os != nil {
		o = append(o, obj("ostypeid", t.os.id, "ostypename", t.os.description)...)
	}
	o = append(o, c.ownerFields(t.owner, "account")...)
	o = append(o, obj("templatetype", t.kind, "hypervisor", t.hypervisor)...)
	o = append(o, c.domainFields(t.owner)...)
	if len(t.details) > 0 {
		o = o.with("details", detailsObject(t.details))
	}
	return append(o, obj("bits", t.bits, "isdynamicallyscalable", t.scalable, "tags", c.tagObjects("Template", t.id, true), "hasannotations", false)...)
}

// updateTemplatePermissions shares a template, or stops sharing it.
func updateTemplatePermissions(c *call) (object, error) {
	t, err := c.ownTemplate("id")
	if err != nil {
		return nil, err
	}
	op := strings.ToLower(c.str("op"))
	accounts := c.list("accounts")
	projects, _ := referAll(c, c.projects, "projectids")
	switch {
	case op != "" && op != "add" && op != "remove" && op != "reset":
		return nil, invalid("Invalid value provided for operation. Value must be one of the following: \"add\", \"remove\", \"reset\"")
	case op == "" && len(accounts)+len(projects) > 0:
		return nil, invalid("Specify operation: add or remove or reset, for which to update the permissions for the accounts")
	case (op == "add" || op == "remove") && len(accounts)+len(projects) == 0:
		return nil, invalid("invalid operation %s without accounts", op)
	}
	var named []*account
	for _, name := range accounts {
		a := c.findAccount(name, t.owner.domain)
		if a == nil {
			return nil, invalid("Unable to grant a launch permission to account %s in domain id=%s, account not found.  No permissions updated, please verify the account names and retry.", name, t.owner.domain.id)
		}
		named = append(named, a)
	}
	for _, p := range projects {
		named = append(named, p.account)
	}
	t.public = c.flagOr("ispublic", t.public)
	t.extractable = c.flagOr("isextractable", t.extractable)
	if c.root() {
		t.featured = c.flagOr("isfeatured", t.featured)
	}
	t.share(op, named)
	return success(), nil
}

func (t *template) share(op string, named []*account) {
	switch op {
	case "add":
		for _, a := range named {
			if !contains(t.shared, a) {
				t.shared = append(t.shared, a)
			}
		}
	case "remove":
		t.shared = slices.DeleteFunc(t.shared, func(a *account) bool { return contains(named, a) })
	case "reset":
		t.public, t.featured, t.shared = false, false, nil
	}
}

// liveTemplate returns the template of an async command; one that was deleted is refused before a job is made.
func (c *call) liveTemplate() (*template, error) {
	t, _ := refer(c, c.templates, "id")
	if t == nil {
		return nil, invalid("Unable to find UUID for id [%s] of type [VirtualMachineTemplate]", c.str("id"))
	}
	if !t.live() {
		return nil, invalid("Unable to find UUID for id [%d] of type [VirtualMachineTemplate]", t.db)
	}
	return t, nil
}

func deleteTemplate(c *call) (*work, error) {
	t, err := c.liveTemplate()
	if err != nil {
		return nil, err
	}
	return &work{instanceType: "Template", instanceID: t.id, run: func() (object, error) {
		if err := c.mayDelete(t); err != nil {
			return nil, err
		}
		z, oneZone := refer(c, c.zones, "zoneid")
		c.dropCopies(t, z, oneZone)
		return success(), nil
	}}, nil
}

func (c *call) mayDelete(t *template) error {
	if err := c.mayOperate(t); err != nil {
		return err
	}
	switch {
	case !t.live():
		return invalid("unable to find template with id %d", t.db)
	case t.kind == templateSystem, t.kind == templateBuiltin && !c.root():
		return denied(noPermission)
	case t.waitingForUpload():
		return invalid("The template is either getting uploaded or it may be initiated shortly, please wait for it to be completed")
	}
	if users := c.machinesFrom(t); len(users) > 0 && !c.flag("forced") {
		return invalid("Unable to delete template: %s because VM instances: [%s] are using it.", t.printed(), strings.Join(users, ","))
	}
	for _, cp := range t.liveCopies() {
		z, one := refer(c, c.zones, "zoneid")
		if cp.state == stateInProgress && (!one || cp.zone == z) {
			return invalid("The template is either getting uploaded or it may be initiated shortly, please wait for it to be completed")
		}
	}
	return nil
}

// dropCopies removes a template from one zone or from all; without any zone left the template itself is gone.
func (c *call) dropCopies(t *template, z *zone, one bool) {
	for _, cp := range t.liveCopies() {
		if one && cp.zone != z {
			continue
		}
		cp.base.removed = c.now()
		c.discard(cp)
	}
	if len(t.liveCopies()) == 0 {
		t.removed = c.now()
		c.dropTags("Template", t.id)
	}
	c.record(t.owner, c.user, "TEMPLATE.DELETE", "Deleting Template "+t.id, "Template", t.id, t.name, "Completed")
}

// discard ends what storage does for a copy and removes what it keeps of it.
func (s *Server) discard(cp *templateCopy) {
	if cp.download != nil {
		cp.download.Abort()
	}
	if cp.path == "" {
		return
	}
	if err := cp.store.engine.Delete(cp.path); err != nil {
		s.opts.Log.Error(err, "removing a template from the store", "path", cp.path)
	}
}

// copyTemplate copies to other zones; the id stays the same.
func copyTemplate(c *call) (*work, error) {
	t, err := c.liveTemplate()
	if err != nil {
		return nil, err
	}
	from, haveFrom := refer(c, c.zones, "sourcezoneid")
	to, many := referAll(c, c.zones, "destzoneids")
	if z, ok := refer(c, c.zones, "destzoneid"); ok && !many {
		to, many = []*zone{z}, true
	}
	if !many {
		return nil, badParam("Either destzoneid or destzoneids parameters have to be specified.")
	}
	return &work{instanceType: "Template", instanceID: t.id, run: func() (object, error) {
		return c.copyTo(t, from, haveFrom, to)
	}}, nil
}

func (c *call) copyTo(t *template, from *zone, haveFrom bool, to []*zone) (object, error) {
	if err := c.mayLaunch(t); err != nil {
		return nil, err
	}
	if haveFrom && contains(to, from) {
		return nil, invalid("Please specify different source and destination zones.")
	}
	source := t.copyIn(from)
	if !haveFrom && len(t.liveCopies()) > 0 {
		source = t.liveCopies()[0]
	}
	if source == nil || source.state != stateDownloaded {
		return nil, invalid("There is no template %s ready on image store.", t.printed())
	}
	var last *templateCopy
	for _, z := range to {
		if last = t.copyIn(z); last == nil {
			last = c.addCopy(t, z)
			last.state, last.percent, last.ready, last.sized = stateDownloaded, 100, source.ready, source.sized
			last.size, last.physical = source.size, source.physical
		}
	}
	c.record(t.owner, c.user, "TEMPLATE.COPY", "Copying Template "+t.id, "Template", t.id, t.name, "Completed")
	return obj("template", c.templateObject(templateRow{t, last})), nil
}

// extractTemplate hands out a URL of the stored image.
func extractTemplate(c *call) (*work, error) {
	t, err := c.liveTemplate()
	if err != nil {
		return nil, err
	}
	return &work{instanceType: "Template", instanceID: t.id, run: func() (object, error) {
		z, _ := refer(c, c.zones, "zoneid")
		cp := t.copyIn(z)
		if cp == nil && len(t.liveCopies()) > 0 && z == nil {
			cp = t.liveCopies()[0]
		}
		switch {
		case c.mayUse(t.owner) != nil && !(t.extractable && c.mayLaunch(t) == nil):
			return nil, c.launchDenied(t)
		case !t.extractable && !c.root():
			return nil, invalid("Unable to extract template %s as it's not extractable", t.printed())
		case cp == nil || cp.state != stateDownloaded:
			return nil, invalid("The template has not been downloaded ")
		}
		o := obj("id", t.id, "name", t.name, "extractId", c.ids.uuid())
		o = append(o, c.ownerFields(t.owner, "account")...)
		return obj("template", append(o, obj("state", "DOWNLOAD_URL_CREATED", "storagetype", "template", "zoneid", cp.zone.id, "zonename", cp.zone.name,
			"extractMode", "HTTP_DOWNLOAD", "url", c.uploads.url()+"/userdata/"+c.ids.uuid()+"."+strings.ToLower(t.format), "created", stamp(c.now()))...)), nil
	}}, nil
}
