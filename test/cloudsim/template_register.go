package cloudsim

import (
	"fmt"
	"strings"
)

// registerTemplate checks a request, asks the source for its size, writes a row a zone and lets the storage of each fetch it.
func registerTemplate(c *call) (object, error) {
	t, zones, err := c.newTemplate()
	if err != nil {
		return nil, err
	}
	if err := c.checkSource(t.url, t.format); err != nil {
		return nil, err
	}
	t.owner, err = c.templateOwner(zones)
	if err != nil {
		return nil, err
	}
	if err := c.checkLimit(t.owner, limitTemplate, 1, csLimit); err != nil {
		return nil, err
	}
	size := c.probe(t.url)
	if err := c.checkLimit(t.owner, limitSecondary, size, csLimit); err != nil {
		return nil, err
	}
	c.saveTemplate(t)
	var rows []templateRow
	for _, z := range zones {
		cp := c.addCopy(t, z)
		c.fetch(t, cp)
		rows = append(rows, templateRow{t, cp})
	}
	c.record(t.owner, c.user, "TEMPLATE.CREATE", "Registering template: "+t.name, "Template", t.id, t.name, "Completed")
	return whole("template", rows, c.templateObject)
}

// newTemplate reads and checks what a template is to be, for downloads and uploads alike.
func (c *call) newTemplate() (*template, []*zone, error) {
	zones, err := c.templateZones()
	if err != nil {
		return nil, nil, err
	}
	os, err := c.templateOS()
	if err != nil {
		return nil, nil, err
	}
	if err := c.checkRestricted(); err != nil {
		return nil, nil, err
	}
	format, err := c.templateFormat()
	if err != nil {
		return nil, nil, err
	}
	hypervisor := hypervisorNamed(c.str("hypervisor"))
	if hypervisor == "" {
		return nil, nil, invalid("Hypervisor Type: %s is invalid. Supported Hypervisor types are: %s", c.str("hypervisor"), strings.Join(knownHypervisors(), ", "))
	}
	arch, err := c.templateArch()
	if err != nil {
		return nil, nil, err
	}
	t := &template{name: c.str("name"), text: c.str("displaytext"), format: format, hypervisor: hypervisor, kind: templateUser, arch: arch,
		url: c.str("url"), checksum: strings.TrimSpace(c.str("checksum")), os: os, public: c.flag("ispublic"), featured: c.flag("isfeatured") && c.root(),
		extractable: c.flag("isextractable"), password: c.flag("passwordenabled"), sshKey: c.flag("sshkeyenabled"), scalable: c.flag("isdynamicallyscalable"),
		hvm: c.flagOr("requireshvm", true), forCKS: c.flag("forcks"), deployAsIs: c.flag("deployasis"), bits: 0, details: c.mapOf("details"),
		tag: c.str("templatetag"), crossZones: c.str("zoneid") == projectsAll || c.str("zoneids") == projectsAll}
	if t.text == "" {
		t.text = t.name
	}
	if strings.EqualFold(c.str("templatetype"), "VNF") {
		t.kind = "VNF"
	}
	if hypervisor == "XenServer" && t.details["hypervisortoolsversion"] == "" {
		if t.details == nil {
			t.details = map[string]string{}
		}
		t.details["hypervisortoolsversion"] = "xenserver61"
	}
	return t, zones, nil
}

func (c *call) templateZones() ([]*zone, error) {
	one, many := c.has("zoneid"), c.has("zoneids")
	switch {
	case one && many:
		return nil, badParam("Both zoneid and zoneids cannot be specified at the same time")
	case !one && !many:
		return nil, badParam("Either zoneid or zoneids is required. Both cannot be null.")
	case c.str("zoneid") == projectsAll || c.str("zoneids") == projectsAll:
		if !c.root() {
			return nil, invalid("Template registered for 'All zones' can only be owned a Root Admin account. Please select specific zone(s).")
		}
		return c.zones.all(everything), nil
	case many && contains(c.list("zoneids"), projectsAll):
		return nil, badParam("Parameter zoneids cannot combine all zones (-1) option with other zones")
	}
	zones, _ := referAll(c, c.zones, "zoneids")
	if z, ok := refer(c, c.zones, "zoneid"); ok {
		if z == nil {
			return nil, invalid("Unable to find zone by id %s", c.str("zoneid"))
		}
		zones = []*zone{z}
	}
	for _, z := range zones {
		if z.allocation != "Enabled" && !c.root() {
			return nil, denied("Cannot perform this operation, Zone Zone %s is currently disabled", z.printed())
		}
	}
	return zones, nil
}

// printed is a zone as refusals print it.
func (z *zone) printed() string {
	return fmt.Sprintf(`{"id": "%d", "name": %s, "uuid": %q}`, z.db, quoteJSON(z.name), z.id)
}

func (c *call) templateOS() (*osType, error) {
	os, ok := refer(c, c.osTypes, "ostypeid")
	switch {
	case !ok && c.flag("deployasis"):
		return nil, nil
	case !ok:
		return nil, badParam("Please provide a guest OS type")
	case os == nil:
		return nil, invalid("Please specify a valid guest OS type")
	}
	return os, nil
}

// checkRestricted refuses what only root admins may set, or nobody on this server.
func (c *call) checkRestricted() error {
	for _, p := range []string{"isrouting", "templatetag"} {
		if c.has(p) && (p != "isrouting" || c.flag(p)) && !c.root() {
			return denied("Parameter %s can only be specified by a Root Admin, permission denied", p)
		}
	}
	switch kind := strings.ToUpper(c.str("templatetype")); kind {
	case templateSystem, templateBuiltin, "ROUTING":
		return invalid("System and Builtin templates must be cross zone.")
	case "", templateUser, "VNF":
	default:
		return invalid("Template type %s is invalid. Supported template types are: ROUTING, SYSTEM, BUILTIN, PERHOST, USER, VNF, DATADISK, ISODISK", c.str("templatetype"))
	}
	if c.flag("directdownload") {
		return internal("Couldn't find a host to validate URL %s", c.str("url"))
	}
	return nil
}

// formats are the image formats that the server knows by name; the empty one closes the list in its text.
func formats() []string {
	return []string{"QCOW2", "RAW", "VHD", "ISO", "OVA", "VHDX", "BAREMETAL", "EXTERNAL", "VMDK", "VDI", "TAR", "ZIP", "DIR"}
}

func (c *call) templateFormat() (string, error) {
	f := strings.ToUpper(c.str("format"))
	if !contains(formats(), f) {
		return "", badParam("Image format: %s is incorrect. Supported formats are [%s, ]", c.str("format"), strings.Join(formats(), ", "))
	}
	return f, nil
}

func (c *call) templateArch() (string, error) {
	a := c.str("arch")
	switch {
	case a == "":
		return "x86_64", nil
	case strings.EqualFold(a, "x86_64"), strings.EqualFold(a, "i686"), strings.EqualFold(a, "aarch64"), strings.EqualFold(a, "s390x"):
		return strings.ToLower(a), nil
	}
	return "", badParam("Unsupported arch type: %s", a)
}

// templateOwner is ownerOf with the check that comes before it for all zones.
func (c *call) templateOwner([]*zone) (*account, error) { return c.ownerOf() }

func (c *call) saveTemplate(t *template) {
	t.base = c.newBase()
	c.templates.insert(t)
	t.uniqueName = fmt.Sprintf("%d-%d-%s", t.db, t.owner.db, c.ids.uuid())
}

func (c *call) addCopy(t *template, z *zone) *templateCopy {
	cp := &templateCopy{zone: z, store: c.storeOf(z), base: base{created: c.now()}, state: stateNotDownloaded}
	t.copies = append(t.copies, cp)
	return cp
}

// storeOf returns the image store of a zone.
func (s *Server) storeOf(z *zone) *imageStore {
	for _, st := range s.imageStores.rows {
		if st.zone == z {
			return st
		}
	}
	return nil
}
