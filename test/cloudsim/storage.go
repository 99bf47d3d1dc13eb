package cloudsim

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage"
)

// simulatedSize is what every image measures on simulated storage.
const simulatedSize = 5242880

// How often the management server asks its storage about what is going on.
const (
	downloadPoll  = 10 * time.Second
	uploadPoll    = 60 * time.Second
	firstAnswer   = 3 * time.Second
	uploadMinutes = 60
)

// simulated says whether storage only pretends, as that of the recording server did.
func (s *Server) simulated() bool {
	return s.opts.Preset == PresetRecorded || s.opts.Preset == PresetRecordedNetSG
}

// simulatedHost is the source of images that the recording server knew.
func (s *Server) simulatedHost(host string) bool {
	return s.simulated() && host == "images.sim.example.org"
}

// fetch begins the download of a copy.
func (c *call) fetch(t *template, cp *templateCopy) {
	if c.simulated() {
		cp.state, cp.percent, cp.size, cp.physical, cp.sized = stateDownloaded, 100, simulatedSize, simulatedSize, true
		cp.ready = t.format != "OVA" // the simulated storage never finishes taking an appliance apart
		return
	}
	d, err := c.engine.Download(context.Background(), secondarystorage.DownloadRequest{
		URL: t.url, Name: t.uniqueName, Description: t.text, AccountID: t.owner.db, TemplateID: t.db, Format: t.format, RequiresHVM: t.hvm, Public: t.public,
		Checksum: t.checksum, MaxBytes: c.settingNumber("max.template.iso.size", 50) << 30,
		FollowRedirects: c.settingTrue("store.download.follow.redirects"), AllowedInternalSites: splitTrim(c.settings["secstorage.allowed.internal.sites"])})
	if err != nil {
		cp.state, cp.err = stateError, err.Error()
		return
	}
	cp.download = d
	cp.sized = true
	c.after(firstAnswer, func() { c.pollDownload(t, cp, true) })
}

// pollDownload takes over what storage says about a copy, and comes back until it has ended.
func (s *Server) pollDownload(t *template, cp *templateCopy, first bool) {
	if !cp.base.live() || cp.download == nil {
		return
	}
	st := cp.download.Answer()
	if first {
		st = cp.download.Status()
	}
	s.takeOver(t, cp, st)
	if st.State == secondarystorage.DownloadInProgress || (st.State == secondarystorage.NotDownloaded && len(st.ErrorText) <= 1) {
		s.after(downloadPoll, func() { s.pollDownload(t, cp, false) })
	}
}

func (s *Server) takeOver(t *template, cp *templateCopy, st secondarystorage.Status) {
	cp.state, cp.percent, cp.err = storeState(st.State), st.Percent, st.ErrorText
	if st.State != secondarystorage.Downloaded {
		return
	}
	cp.percent, cp.ready, cp.size, cp.physical, cp.path = 100, true, st.VirtualSize, st.PhysicalSize, st.InstallPath
	if t.checksum == "" {
		t.checksum = st.Checksum
	}
}

// storageClock shows the time of the server, and lets timers run on the wall clock: storage moves real bytes.
type storageClock struct {
	clock.Clock
	server clock.PassiveClock
}

// Now returns the server's time.
func (c storageClock) Now() time.Time { return c.server.Now() }

// Since returns what has passed of the server's time.
func (c storageClock) Since(t time.Time) time.Duration { return c.server.Since(t) }
