package cloudsim

import (
	"fmt"
	"strconv"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage"
)

// template is an image that machines are made from.
type template struct {
	base
	owner                                     *account
	name, text                                string
	format, hypervisor, kind, arch            string
	url, checksum                             string
	os                                        *osType
	public, featured, extractable, crossZones bool
	password, sshKey, scalable, hvm, forCKS   bool
	deployAsIs                                bool
	bits                                      int64
	uniqueName                                string
	details                                   map[string]string
	shared                                    []*account
	upload                                    bool
	copies                                    []*templateCopy
	tag                                       string
}

// Kinds of templates.
const (
	templateUser    = "USER"
	templateSystem  = "SYSTEM"
	templateBuiltin = "BUILTIN"
)

// templateCopy is a template in one zone, on the image store of that zone.
type templateCopy struct {
	zone     *zone
	store    *imageStore
	base     base
	state    storeState
	percent  int
	err      string
	size     int64 // virtual bytes
	physical int64
	sized    bool
	ready    bool
	primary  []string // primary stores that hold it too, by name and id
	download *secondarystorage.Download
	path     string // on the store

	searched   bool   // its bytes for a version of Kubernetes
	kubernetes string // that was found there
}

// storeState is what downloaddetails shows.
type storeState string

// States of a copy on its store.
const (
	stateNotDownloaded storeState = "NOT_DOWNLOADED"
	stateInProgress    storeState = "DOWNLOAD_IN_PROGRESS"
	stateDownloaded    storeState = "DOWNLOADED"
	stateError         storeState = "DOWNLOAD_ERROR"
	stateNotUploaded   storeState = "NOT_UPLOADED"
	stateUploading     storeState = "UPLOAD_IN_PROGRESS"
	stateUploadError   storeState = "UPLOAD_ERROR"
	stateAbandoned     storeState = "ABANDONED"
)

// imageStore holds the templates of a zone, behind a storage VM of its own.
type imageStore struct {
	base
	name   string
	zone   *zone
	engine *secondarystorage.Engine
}

// copyIn returns the live copy of a template in a zone, nil when there is none.
func (t *template) copyIn(z *zone) *templateCopy {
	for _, c := range t.copies {
		if c.zone == z && c.base.live() {
			return c
		}
	}
	return nil
}

// liveCopies are the zones that have the template.
func (t *template) liveCopies() []*templateCopy {
	var out []*templateCopy
	for _, c := range t.copies {
		if c.base.live() {
			out = append(out, c)
		}
	}
	return out
}

// printed is a template as refusals print it.
func (t *template) printed() string {
	return fmt.Sprintf(`Template {"format":%q,"id":%d,"name":%s,"uniqueName":%q,"uuid":%q}`, t.format, t.db, quoteJSON(t.name), t.uniqueName, t.id)
}

// status is the text for the owner of a copy.
func (c *templateCopy) status() string {
	switch c.state {
	case stateDownloaded:
		return "Download Complete"
	case stateInProgress:
		if c.percent >= 100 {
			return "Installing Template"
		}
		return strconv.Itoa(c.percent) + "% Downloaded"
	case stateError:
		return c.err
	case stateNotUploaded:
		return "NotUploaded"
	case stateUploading:
		return "UploadInProgress"
	case stateUploadError:
		return "UploadError"
	case stateAbandoned:
		return "UploadAbandoned"
	case stateNotDownloaded:
		if c.err != "" && c.err != " " {
			return c.err
		}
	}
	return "Active"
}

// waitingForUpload says whether bytes may still arrive.
func (t *template) waitingForUpload() bool {
	for _, c := range t.liveCopies() {
		if c.state == stateNotUploaded || c.state == stateUploading {
			return true
		}
	}
	return false
}

// templateRow is one row of a list: a template in a zone.
type templateRow struct {
	t *template
	c *templateCopy
}

// templateObject shows a row. Status and source are for root admins, the owner and the members of its project.
func (c *call) templateObject(r templateRow) object {
	t, cp := r.t, r.c
	o := obj("id", t.id, "name", t.name, "displaytext", t.text, "ispublic", t.public, "created", stamp(cp.base.created), "isready", cp.ready,
		"passwordenabled", t.password, "format", t.format, "isfeatured", t.featured, "crossZones", t.crossZones)
	if t.os != nil {
		o = append(o, obj("ostypeid", t.os.id, "ostypename", t.os.description)...)
	}
	o = append(o, c.ownerFields(t.owner, "account")...)
	o = append(o, obj("zoneid", cp.zone.id, "zonename", cp.zone.name)...)
	private := c.mayUse(t.owner) == nil
	if private {
		o = o.with("status", cp.status())
	}
	if cp.sized {
		o = append(o, obj("size", cp.size, "physicalsize", cp.physical)...)
	}
	o = o.text("templatetype", t.kind).with("hypervisor", t.hypervisor)
	o = append(o, c.domainFields(t.owner)...)
	o = o.with("isextractable", t.extractable)
	if t.checksum != "" || t.kind == templateSystem || t.kind == templateBuiltin {
		o = o.with("checksum", bareChecksum(t.checksum))
	}
	o = o.with("details", detailsObject(t.details)).with("downloaddetails", c.downloadDetails(cp))
	o = o.text("templatetag", t.tag)
	return append(o, c.templateFlags(t, private)...)
}

func (c *call) templateFlags(t *template, private bool) object {
	o := object{}
	if c.knows("4.20") {
		o = o.with("arch", t.arch)
	}
	o = append(o, obj("bits", t.bits, "sshkeyenabled", t.sshKey, "isdynamicallyscalable", t.scalable, "directdownload", false, "deployasis", t.deployAsIs)...)
	if c.knows("4.21") {
		o = o.with("forcks", t.forCKS)
	}
	if t.hypervisor == "VMware" {
		o = o.with("childtemplates", []object{})
	}
	o = o.with("requireshvm", t.hvm)
	if private {
		o = o.text("url", t.url)
	}
	return append(o, obj("tags", c.tagObjects("Template", t.id, false), "hasannotations", false)...)
}

// downloadDetails is the view of the store; root admins read more of it.
func (c *call) downloadDetails(cp *templateCopy) []object {
	if cp.state == stateNotUploaded || cp.state == stateAbandoned || cp.state == "" {
		return []object{}
	}
	one := func(name, role, id string) object {
		o := obj("downloadState", string(cp.state), "datastore", name)
		if c.root() {
			o = o.with("datastoreRole", role)
		}
		o = o.with("downloadPercent", strconv.Itoa(cp.percent))
		if c.root() {
			o = o.with("datastoreId", id)
		}
		return o
	}
	out := []object{one(cp.store.name, "Image", cp.store.id)}
	for i := 0; i+1 < len(cp.primary); i += 2 {
		out = append(out, one(cp.primary[i], "Primary", cp.primary[i+1]))
	}
	return out
}
