package cloudsim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage"
)

// simulatedSize is what every image measures on simulated storage.
const simulatedSize = 5242880

// How often the management server asks its storage about what is going on.
const (
	downloadPoll  = 10 * time.Second
	uploadSeconds = 60
	firstAnswer   = 3 * time.Second
	uploadMinutes = 60
)

// openStorage starts the storage VM of each zone and the upload endpoint in front of them.
func (s *Server) openStorage() error {
	for _, st := range s.imageStores.rows {
		dir := s.opts.StorageDir
		if dir != "" {
			dir = filepath.Join(dir, st.zone.name)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return errors.Join(fmt.Errorf("making the store of zone %s: %w", st.zone.name, err), s.closeStores())
			}
		}
		e, err := secondarystorage.New(secondarystorage.Options{Dir: dir, Clock: storageClock{clock.RealClock{}, s.opts.Clock},
			Network: secondarystorage.Network{Hosts: s.opts.Resolve}, NoXZ: !s.knows("4.22"), KeepHead: s.keptHead()})
		if err != nil {
			return errors.Join(fmt.Errorf("opening the store of zone %s: %w", st.zone.name, err), s.closeStores())
		}
		st.engine = e
	}
	var err error
	if s.uploads, err = serveUploads(s.opts.UploadAddress, http.HandlerFunc(s.receiveUpload)); err != nil {
		return errors.Join(err, s.closeStores())
	}
	return nil
}

// keptHead is how much of each image stays to be searched when a machine is made from it.
func (s *Server) keptHead() int64 {
	if s.opts.Guests == nil {
		return 0
	}
	return contentRead
}

func (s *Server) closeStores() error {
	var errs []error
	for _, st := range s.imageStores.rows {
		if st.engine != nil {
			errs = append(errs, st.engine.Close())
		}
	}
	return errors.Join(errs...)
}

// receiveUpload hands an upload to the storage VM of its template's zone. On a real cloud each has an address of its own.
func (s *Server) receiveUpload(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	var front http.Handler
	if t := s.templates.find(path.Base(r.URL.Path)); t != nil && len(t.copies) > 0 {
		front = t.copies[0].store.engine.Front()
	} else if len(s.imageStores.rows) > 0 {
		front = s.imageStores.rows[0].engine.Front()
	}
	s.mu.Unlock()
	if front == nil {
		http.NotFound(w, r)
		return
	}
	front.ServeHTTP(w, r)
}

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
	d, err := cp.store.engine.Download(context.Background(), secondarystorage.DownloadRequest{
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
