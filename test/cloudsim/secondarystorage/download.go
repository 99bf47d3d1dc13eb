package secondarystorage

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage/httpclient"
)

// firstAnswer is how long the storage VM waits before it answers the command that began a download.
const firstAnswer = 3 * time.Second

// noText is what stands for an error while there is none.
const noText = " "

// Download is one download job.
type Download struct {
	engine  *Engine
	request DownloadRequest
	begun   time.Time
	cancel  context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	status  Status
	ended   time.Time
	aborted bool
	// total counts what came, remote is what is to come, both in bytes.
	total, remote int64
}

// Download starts a download and returns at once. The error is what the storage VM's agent would throw before it has a job: a
// URL that it cannot read, or a scheme that it does not know. The download lives until it ends, is aborted, ctx ends or the
// Engine is closed.
func (e *Engine) Download(ctx context.Context, r DownloadRequest) (*Download, error) {
	if r.MaxBytes < 0 {
		r.MaxBytes = DefaultMaxBytes
	}
	r.Checksum = strings.TrimSpace(r.Checksum)
	d := &Download{engine: e, request: r, begun: e.clock.Now(), cancel: func() {}, done: make(chan struct{})}
	d.status = Status{State: NotDownloaded, ErrorText: noText, InstallPath: d.folder(), Checksum: r.Checksum}
	if _, err := parseChecksum(r.Checksum); err != nil {
		d.status = Status{State: NotDownloaded, ErrorText: "invalid algorithm: " + r.Checksum}
		close(d.done)
		return d, nil
	}
	source, err := newSource(r.URL)
	if err != nil {
		return nil, fmt.Errorf("com.cloud.utils.exception.CloudRuntimeException: %w", err)
	}
	ctx, d.cancel = context.WithCancel(ctx)
	stop := context.AfterFunc(e.ctx, d.cancel)
	e.wait.Go(func() {
		defer stop()
		defer d.cancel()
		defer close(d.done)
		d.run(ctx, source)
	})
	return d, nil
}

// newSource reads the URL as the agent does when it chooses a downloader.
func newSource(url string) (httpclient.Location, error) {
	l, err := httpclient.Parse(url)
	switch {
	case err != nil && strings.HasPrefix(url, "/"):
		return l, failure(fmt.Sprintf("Unable to download from URL: %s", url))
	case err != nil:
		return l, failure(fmt.Sprintf("URI is incorrect: %s", url))
	case l.Scheme != "http" && l.Scheme != "https" && l.Scheme != "file":
		return l, failure(fmt.Sprintf("Scheme is not supported %s", url))
	}
	return l, nil
}

// folder is where the template goes, relative to the store.
func (d *Download) folder() string {
	name := d.request.Folder
	if name == "" {
		name = strconv.FormatInt(d.request.TemplateID, 10)
	}
	return path.Join("template/tmpl", strconv.FormatInt(d.request.AccountID, 10), path.Base(path.Clean("/"+name)))
}

// Status is what management shows: as Answer, but with PhysicalSize equal to VirtualSize when the download was ready within
// three seconds, because then management never asks again.
func (d *Download) Status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.answer()
	if s.State == Downloaded && d.ended.Sub(d.begun) < firstAnswer {
		s.PhysicalSize = s.VirtualSize
	}
	return s
}

// Answer is what the storage VM answers at this moment.
func (d *Download) Answer() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answer()
}

func (d *Download) answer() Status {
	s := d.status
	if d.remote != 0 {
		s.Percent = int(d.total * 100 / d.remote)
	}
	return s
}

// Done is closed when the state cannot change any more.
func (d *Download) Done() <-chan struct{} { return d.done }

// Abort breaks the download off: it ends in DownloadError.
func (d *Download) Abort() {
	d.mu.Lock()
	d.aborted = true
	d.mu.Unlock()
	d.cancel()
}

func (d *Download) set(state State, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status.State, d.status.ErrorText = state, text
	if state == DownloadError || state == Downloaded {
		d.ended = d.engine.clock.Now()
	}
}

func (d *Download) fail(text string) { d.set(DownloadError, text) }

// run is the whole life of a job.
func (d *Download) run(ctx context.Context, source httpclient.Location) {
	file, err := d.engine.tempFile(d.folder())
	if err != nil {
		d.fail(err.Error())
		return
	}
	defer file.discard()
	switch {
	case source.Scheme == "file":
		err = d.copyLocal(source, file)
	case strings.HasSuffix(strings.ToLower(source.Path), ".metalink"):
		err = failure(noText)
	default:
		err = d.fetch(ctx, source, file)
	}
	if err != nil {
		d.fail(err.Error())
		return
	}
	d.install(source, file)
}

// failure is a text that ends a download and is shown as it is.
type failure string

func (f failure) Error() string { return string(f) }

// install runs what comes after the last byte.
func (d *Download) install(source httpclient.Location, file *tempFile) {
	d.set(DownloadInProgress, "Download success, starting install ")
	const prefix = "Failed post download script: "
	sum, err := checkSum(d.request.Checksum, file)
	if err != nil {
		d.fail(prefix + err.Error())
		return
	}
	j := job{
		engine: d.engine, folder: d.folder(), name: d.request.Name, format: strings.ToUpper(d.request.Format), maxBytes: d.request.MaxBytes,
		description: d.request.Description, hvm: d.request.RequiresHVM, public: d.request.Public, account: d.request.AccountID,
		template: d.request.TemplateID, invalidQCOW2: "The downloaded file is not a valid QCOW2. Ask the administrator to check the logs for more details.",
	}
	j.choose()
	d.mu.Lock()
	d.status.Checksum, d.status.InstallPath = sum, j.installPath()
	d.mu.Unlock()
	done, err := j.run(file)
	if err != nil {
		d.fail(prefix + err.Error())
		return
	}
	d.mu.Lock()
	d.status.VirtualSize, d.status.PhysicalSize = done.virtual, done.physical
	d.mu.Unlock()
	d.set(Downloaded, "Install completed successfully at "+d.engine.clock.Now().UTC().Format("1/2/06, 3:04 PM"))
}
