package secondarystorage

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const gib = 1 << 30

// upload is what the receiver remembers of one.
type upload struct {
	state    UploadState
	details  string
	done     installed
	path     string
	received int64
	length   int64
}

// NewUpload signs the parameters of one upload.
func (e *Engine) NewUpload(r UploadRequest) UploadParams {
	scheme := "http"
	if r.HTTPS {
		scheme = "https"
	}
	p := UploadParams{
		PostURL: fmt.Sprintf("%s://%s/upload/%s", scheme, r.Host, r.ID),
		Expires: e.clock.Now().UTC().Add(time.Duration(r.LifetimeMinutes) * time.Minute).Format("2006-01-02T15:04:05.000Z07:00"),
	}
	p.Metadata = e.seal(r)
	p.Signature = e.Sign(p.Metadata, p.PostURL, p.Expires)
	return p
}

// UploadStatus answers management's question about an upload. The end of an upload is told once: asked again it is unknown.
func (e *Engine) UploadStatus(id string) UploadStatus {
	e.mu.Lock()
	defer e.mu.Unlock()
	u, ok := e.uploads[id]
	if !ok {
		return UploadStatus{State: UploadUnknown}
	}
	s := UploadStatus{
		State: u.state, Details: u.details, VirtualSize: u.done.virtual, PhysicalSize: u.done.physical, InstallPath: u.path,
	}
	switch u.state {
	case UploadInProgress:
		s.Percent = int(u.received * 100 / max(u.length, 1))
		return s
	case UploadCompleted:
		s.Percent = 100
	}
	delete(e.uploads, id)
	return s
}

// failUpload remembers an error, also of an upload that never began.
func (e *Engine) failUpload(id, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.uploads[id] = &upload{state: UploadFailed, details: text}
}

// refusal is a request that is not taken: the text of the answer 400.
type refusal string

func (r refusal) Error() string { return string(r) }

// refuse remembers the refusal: the URL is used up by it.
func (e *Engine) refuse(id, text string) error {
	e.failUpload(id, text)
	return refusal(text)
}

// ticket is what came with an upload's request.
type ticket struct {
	id, signature, metadata, expires, host string
	length                                 int64
}

// admit checks a request in the order of the server. The error is a refusal, or text for an answer 500.
func (e *Engine) admit(t ticket) (*receipt, error) {
	switch {
	case t.signature == "" || t.metadata == "" || t.expires == "":
		return nil, e.refuse(t.id, "signature, metadata and expires are compulsory fields.")
	case t.length <= 0:
		return nil, refusal("content length is not set in the request or has invalid value.")
	case !e.signed(t):
		return nil, e.refuse(t.id, "signature validation failed.")
	}
	expires, err := parseExpires(t.expires)
	switch {
	case err != nil:
		return nil, exception(err.Error())
	case expires.Before(e.clock.Now()):
		return nil, e.refuse(t.id, "request not valid anymore.")
	}
	r, err := e.open(t.metadata)
	if err != nil {
		return nil, e.refuse(t.id, "unable decode and deserialize metadata.")
	}
	return e.begin(r, t.length)
}

func (e *Engine) signed(t ticket) bool {
	for _, scheme := range []string{"https", "http"} {
		if e.Sign(t.metadata, scheme+"://"+t.host+"/upload/"+t.id, t.expires) == t.signature {
			return true
		}
	}
	return false
}

// exception is the text of an answer 500 for what the server did not expect.
func exception(text string) error { return errors.New("\r\nException occurred: " + text) }

// receipt is an upload that was let in.
type receipt struct {
	engine *Engine
	job    job
	id     string
	format string
	given  string
	state  *upload
}

func (e *Engine) begin(r UploadRequest, length int64) (*receipt, error) {
	folder := path.Join("template/tmpl", strconv.FormatInt(r.AccountID, 10), strconv.FormatInt(r.TemplateID, 10))
	if err := e.unused(r.ID, folder); err != nil {
		return nil, err
	}
	need := wholeGiB(length)
	if need > r.MaxGiB {
		return nil, e.refuse(r.ID, fmt.Sprintf("Maximum file upload size exceeded. Content Length received: %dGB. Maximum allowed size: %dGB.", need, r.MaxGiB))
	}
	if r.LimitGiB >= 0 && wholeGiB(e.usedBytes(r.AccountID))+need > r.LimitGiB {
		return nil, e.refuse(r.ID, "Maximum number of resources of type secondary_storage for account/project has exceeded")
	}
	u := &upload{state: UploadInProgress, length: length}
	e.mu.Lock()
	e.uploads[r.ID] = u
	e.mu.Unlock()
	return &receipt{
		engine: e, id: r.ID, format: strings.ToUpper(r.Format), given: strings.TrimSpace(r.Checksum), state: u,
		job: job{
			engine: e, folder: folder, name: r.Name, format: strings.ToUpper(r.Format), maxBytes: r.MaxGiB * gib, description: r.Description,
			hvm: r.RequiresHVM, public: true, account: r.AccountID, template: r.TemplateID,
			invalidQCOW2: "The uploaded file is not a valid QCOW2. Ask the administrator to check the logs for more details.",
		},
	}, nil
}

// unused tells whether the URL may still be used.
func (e *Engine) unused(id, folder string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	const used = "The one time post url is already used"
	if u, ok := e.uploads[id]; ok {
		return refusal(fmt.Sprintf("%s and the upload is in %s state.", used, u.state))
	}
	if _, err := os.Stat(filepath.Join(e.root, filepath.FromSlash(folder))); err == nil {
		return refusal(used)
	}
	return nil
}

func wholeGiB(bytes int64) int64 { return (bytes + gib - 1) / gib }

func (r *receipt) count(n int64) {
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	r.state.received += n
}

// install runs the install step on a received file. The error is the text of an answer 500.
func (r *receipt) install(file *tempFile) error {
	found, err := mismatch(file, file.size, "image."+strings.ToLower(r.format))
	if err != nil {
		return err
	}
	if found != "" {
		return failure(fmt.Sprintf("File type mismatch between uploaded file and selected format. Selected file format: %s. Received: %s", r.format, short(found)))
	}
	if r.given != "" {
		// The script does not understand the option that the checksum is handed over with.
		_ = os.RemoveAll(r.job.dir())
		return failure("Usage: createtmplt.sh: -t <template-fs> -n <templatename> -f <root disk file> -d <descr> -h  [-u] [-v]")
	}
	r.job.choose()
	done, err := r.job.run(file)
	if err != nil {
		return err
	}
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	r.state.state, r.state.done, r.state.path = UploadCompleted, done, r.job.installPath()
	return nil
}
