package cloudsim

import (
	"time"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage"
)

// getUploadParamsForTemplate makes the row of a template at once and hands out a URL that takes its bytes one time.
func getUploadParamsForTemplate(c *call) (object, error) {
	if !c.has("ostypeid") && !c.flag("deployasis") {
		return nil, badParam("Missing parameter ostypeid")
	}
	if c.str("zoneid") == projectsAll {
		return nil, badParam("invalid zoneid")
	}
	t, zones, err := c.newTemplate()
	if err != nil {
		return nil, err
	}
	if t.owner, err = c.templateOwner(zones); err != nil {
		return nil, err
	}
	if err := c.checkLimit(t.owner, limitTemplate, 1, csLimit); err != nil {
		return nil, err
	}
	t.upload, t.hvm, t.kind, t.url = true, false, "", ""
	c.saveTemplate(t)
	cp := c.addCopy(t, zones[0])
	cp.state = stateNotUploaded
	minutes := c.settingNumber("upload.operation.timeout", uploadMinutes)
	p := cp.store.engine.NewUpload(secondarystorage.UploadRequest{
		ID: t.id, Host: c.uploads.host(), HTTPS: true, LifetimeMinutes: int(minutes), Name: t.name, Description: t.text, AccountID: t.owner.db, TemplateID: t.db,
		Format: t.format, RequiresHVM: t.hvm, Checksum: t.checksum, MaxGiB: c.settingNumber("max.template.iso.size", 50),
		LimitGiB: c.gibLimit(t.owner)})
	expires := c.now().Add(time.Duration(minutes) * time.Minute)
	c.after(c.uploadPoll, func() { c.pollUpload(t, cp, expires) })
	c.record(t.owner, c.user, "TEMPLATE.CREATE", "Registering template upload: "+t.name, "Template", t.id, t.name, "Completed")
	return obj("getuploadparams", obj("id", t.id, "postURL", p.PostURL, "metadata", p.Metadata, "expires", p.Expires, "signature", p.Signature)), nil
}

func (s *Server) gibLimit(a *account) int64 {
	if n := s.limitOf(a, limitSecondary); n >= 0 {
		return n >> 30
	}
	return -1
}

// pollUpload asks storage about an upload, each minute by default; one that nobody began in time is given up.
func (s *Server) pollUpload(t *template, cp *templateCopy, expires time.Time) {
	if !cp.base.live() {
		return
	}
	st := cp.store.engine.UploadStatus(t.id)
	switch st.State {
	case secondarystorage.UploadInProgress:
		cp.state, cp.percent = stateUploading, st.Percent
	case secondarystorage.UploadCompleted:
		cp.state, cp.percent, cp.ready, cp.sized = stateDownloaded, 100, true, true
		cp.size, cp.physical, cp.path = st.VirtualSize, st.PhysicalSize, st.InstallPath
		return
	case secondarystorage.UploadFailed:
		cp.state, cp.err = stateUploadError, st.Details
		return
	default:
		if !s.now().Before(expires) {
			cp.state = stateAbandoned
			return
		}
	}
	if cp.state == stateUploading && s.now().Sub(expires) > 3*time.Hour {
		cp.state = stateUploadError
		return
	}
	s.after(s.uploadPoll, func() { s.pollUpload(t, cp, expires) })
}
