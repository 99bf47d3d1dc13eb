package cloudsim

import (
	"fmt"
	"slices"
	"strings"
)

// machineSections are the parts of a machine that a list can be asked for, in the order of a refusal.
func machineSections() []string {
	return []string{"all", "group", "nics", "stats", "secgrp", "tmpl", "servoff", "diskoff", "backoff", "iso", "volume", "min", "affgrp", "vnfnics"}
}

// sections is what of a machine is to be shown; nil is all.
type sections map[string]bool

func (s sections) has(names ...string) bool {
	return s == nil || slices.ContainsFunc(names, func(n string) bool { return s[n] })
}

// machineSectionsAsked reads the parameter details of a list.
func (c *call) machineSectionsAsked() (sections, error) {
	asked := c.list("details")
	_, asMap := c.maps["details"]
	for _, name := range asked {
		asMap = asMap || !contains(machineSections(), name)
	}
	if asMap {
		return nil, invalid("The details parameter contains a non permitted value. The allowed values are [%s]", strings.Join(machineSections(), ", "))
	}
	if len(asked) == 0 || contains(asked, "all") {
		return nil, nil
	}
	out := sections{}
	for _, name := range asked {
		out[name] = true
	}
	return out, nil
}

func (c *call) machineObject(m *machine) object { return c.machineParts(m, nil) }

func (c *call) machineParts(m *machine, show sections) object {
	o := obj("id", m.id, "name", m.name, "displayname", m.displayName)
	o = append(o, c.ownerFields(m.owner, "account")...)
	o = append(o, obj("userid", m.user.id, "username", m.user.username)...)
	o = append(o, c.domainFirst(m.owner)...)
	o = append(o, obj("created", stamp(m.created))...)
	if !m.updated.IsZero() {
		o = o.with("lastupdated", stamp(m.updated))
	}
	o = append(o, obj("state", m.state, "haenable", m.available)...)
	if m.group != nil && show.has("group") {
		o = append(o, obj("groupid", m.group.id, "group", m.group.name)...)
	}
	o = append(o, obj("zoneid", m.zone.id, "zonename", m.zone.name)...)
	if m.host != nil {
		if c.root() {
			o = append(o, obj("hostid", m.host.id, "hostname", m.host.name)...)
		}
		o = o.with("hostcontrolstate", "Enabled")
	}
	o = append(o, machineMake(m, show)...)
	o = append(o, c.machineParticulars(m, show)...)
	return append(o, c.machineTail(m)...)
}

// machineMake is what a machine is made of: template, offerings, size and how it fares.
func machineMake(m *machine, show sections) object {
	o := object{}
	if t := m.template; t != nil && show.has("tmpl") {
		o = append(o, obj("templateid", t.id, "templatename", t.name, "templatetype", t.kind, "templateformat", t.format, "templatedisplaytext", t.text, "passwordenabled", t.password)...)
	}
	if show.has("servoff") {
		o = append(o, obj("serviceofferingid", m.offering.id, "serviceofferingname", m.offering.name)...)
	}
	if d := m.diskOffering(); d != nil && show.has("diskoff", "volume") {
		o = append(o, obj("diskofferingid", d.id, "diskofferingname", d.name)...)
	}
	if show.has("servoff", "stats") {
		cpus, mhz, mib := m.size()
		o = append(o, obj("cpunumber", cpus, "cpuspeed", mhz, "memory", mib)...)
	}
	if m.measured && show.has("stats") {
		o = append(o, obj("cpuused", "10%", "networkkbsread", 32768, "networkkbswrite", 16384, "diskkbsread", 0, "diskkbswrite", 0, "memorykbs", 0,
			"memoryintfreekbs", 0, "memorytargetkbs", 0, "diskioread", 0, "diskiowrite", 0)...)
	}
	return o
}

func (c *call) machineParticulars(m *machine, show sections) object {
	o := object{}
	if m.template != nil && m.template.os != nil {
		o = o.with("guestosid", m.template.os.id)
	}
	if m.root != nil && show.has("volume") {
		o = append(o, obj("rootdeviceid", 0, "rootdevicetype", "ROOT")...)
	}
	nics := c.shownNICs(m, show)
	o = append(o, obj("securitygroup", c.machineSecurity(m), "nic", nics, "hypervisor", m.template.hypervisor)...)
	if len(nics) > 0 {
		o = o.with("ipaddress", nics[0].get("ipaddress"))
		o = append(o, c.publicFields(m, m.nics[0].network)...)
	}
	if c.root() {
		o = o.with("instancename", c.instance(m))
	}
	o = o.with("details", detailsObject(c.visibleDetails(m)))
	if !c.root() {
		o = o.with("readonlydetails", "dataDiskController, rootDiskController")
	}
	return o.text("keypairs", m.details[detailKeyNames]).with("affinitygroup", shownAffinity(m, c.tagsOn("UserVm", m.id), show))
}

// visibleDetails are the details of a machine that the caller may see.
func (c *call) visibleDetails(m *machine) map[string]string {
	out := map[string]string{}
	for k, v := range m.details {
		if c.root() || !contains(c.deniedDetails(), k) {
			out[k] = v
		}
	}
	return out
}

// deniedDetails are those that users may write and not read.
func (s *Server) deniedDetails() []string { return splitTrim(s.settings["user.vm.denied.details"]) }

func (c *call) machineTail(m *machine) object {
	o := object{}
	if c.root() || c.working {
		o = o.with("displayvm", true)
	}
	o = append(o, obj("isdynamicallyscalable", false, "deleteprotection", m.protected)...)
	if m.template.os != nil {
		o = append(o, obj("ostypeid", m.template.os.id, "osdisplayname", m.template.os.description)...)
	}
	if m.state == machineRunning && len(m.details) == 0 { // any detail hides them
		o = append(o, obj("bootmode", "legacy", "boottype", "Bios")...)
	}
	if m.root != nil && m.root.state == volumeReady {
		o = o.with("pooltype", "NetworkFilesystem")
	}
	o = append(o, obj("receivedbytes", 0, "sentbytes", 0)...)
	if c.flag("userdata") && c.name != "deployVirtualMachine" {
		o = o.text("userdata", m.userData)
	}
	if m.registered != nil {
		o = append(o, obj("userdataid", m.registered.id, "userdataname", m.registered.name)...)
	}
	if c.root() && c.knows("4.20") {
		o = o.with("arch", m.template.arch)
	}
	o = append(o, obj("tags", c.tagObjects("UserVm", m.id, false), "hasannotations", false)...)
	if j := c.openJob(m.id); j != nil {
		o = append(o, obj("jobid", j.id, "jobstatus", 0)...)
	}
	return o
}

// shownNICs are the NICs of a machine that a list shows. The server reads a row for each combination of NIC, disk, tag and group, and when
// NICs were not asked for only the rows after the first bring theirs along.
func (c *call) shownNICs(m *machine, show sections) []object {
	all := c.nicObjects(m)
	if show.has("nics") || len(all) == 0 {
		return all
	}
	if max(len(c.tagsOn("UserVm", m.id)), 1)*max(len(m.affinity), 1)*max(len(m.security), 1)*(1+len(c.dataDisks(m))) > 1 {
		return all
	}
	return all[1:]
}

// shownAffinity is shownNICs for affinity groups.
func shownAffinity(m *machine, tags []*tag, show sections) []object {
	groups := m.affinity
	if !show.has("affgrp") && len(groups) > 0 && max(len(tags), 1)*max(len(m.nics), 1) == 1 {
		groups = groups[1:]
	}
	out := []object{}
	for _, g := range groups {
		out = append(out, obj("id", g.id, "name", g.name).text("description", g.about).with("account", g.owner.name))
	}
	return out
}

func (s *Server) nicObjects(m *machine) []object {
	out := []object{}
	for i := range m.nics {
		out = append(out, s.nicObject(m, i))
	}
	return out
}

func (s *Server) nicObject(m *machine, i int) object {
	x := m.nics[i]
	o := obj("id", x.id, "networkid", x.network.id, "networkname", x.network.name)
	if x.address.IsValid() {
		o = append(o, obj("netmask", netmaskOf(x.network.cidr), "gateway", x.network.gateway.String(), "ipaddress", x.address.String())...)
	}
	if x.wired {
		uri := fmt.Sprintf("vlan://%d", x.network.vlan)
		o = append(o, obj("isolationuri", uri, "broadcasturi", uri)...)
	}
	o = append(o, obj("traffictype", "Guest", "type", x.network.kind(), "isdefault", i == 0, "macaddress", x.mac,
		"secondaryip", []object{}, "extradhcpoption", []object{}, "deviceid", fmt.Sprint(i))...)
	o = append(o, s.publicFields(m, x.network)...)
	return append(o, x.network.vpcFields()...)
}
