package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/step"
	"github.com/capcat/capcat/controllers/internal/task"
	"github.com/capcat/capcat/imagecatalog/artifact"
)

// sent is the progress of an upload.
type sent struct{ bytes, total int64 }

// uploadStall is how long an upload may move no byte before it is given up.
const uploadStall = 5 * time.Minute

// errAnswerLost says that everything was sent and no answer came: the template may still become ready.
var errAnswerLost = errors.New("the storage VM did not answer after everything had been sent")

// errSilence says that the connection stood still.
var errSilence = errors.New("nothing moved on the connection for too long")

// uploadRefused is an answer of the storage VM other than success. Its address is used up.
type uploadRefused struct {
	status int
	text   string
}

func (e *uploadRefused) Error() string {
	return fmt.Sprintf("the storage VM answered %d: %s", e.status, e.text)
}

// prepareUpload makes the row and begins to upload. The address is told once and kept nowhere but in the task.
func (r *Reconciler) prepareUpload(ctx context.Context, s *scope) error {
	permit, err := s.session.PrepareUpload(ctx, newTemplate(s))
	if err != nil {
		return r.registrationFailed(s, err)
	}
	s.img.Status.TemplateID, s.img.Status.TemplateName = permit.TemplateID, templateName(s.img)
	s.enter(infrav1.PhaseUploading).TotalBytes = s.result.ContentBytes
	// Nothing is sent before the id is saved: a row that nobody recorded is known to be empty.
	if err := s.saver.Status(ctx, s.img); err != nil {
		return err
	}
	job := upload{
		permit: permit, session: s.session, name: s.result.ContentDigest.Hex + "." + s.result.Format.Suffix(),
		answerTime: installTime(r.options.Deadlines.Install, s.result.ContentBytes),
	}
	digest := s.result.ContentDigest
	r.uploads.Ensure(ctx, s.key, permit.TemplateID, func(ctx context.Context, report func(sent, bool)) (struct{}, error) {
		start := r.options.Clock.Now()
		err := r.upload(ctx, job, digest, report)
		r.metrics.uploaded(err, r.options.Clock.Since(start))
		return struct{}{}, err
	})
	return &step.Waiting{Reason: infrav1.ReasonUploading, Message: "the manager uploads the image"}
}

func (r *Reconciler) upload(ctx context.Context, u upload, digest artifact.Digest, report func(sent, bool)) (err error) {
	blob, size, err := r.options.Importer.OpenContent(digest)
	if err != nil {
		return fmt.Errorf("opening the content: %w", err)
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	gate := &gate{clock: r.options.Clock}
	return u.send(ctx, blob, size, func(done int64) {
		phase := "sending"
		if done >= size {
			phase = "sent"
		}
		report(sent{bytes: done, total: size}, gate.open(phase, percent(done, size)))
	})
}

// upload is one POST to a storage VM.
type upload struct {
	permit  cloudstack.Upload
	session *cloudstack.Session
	// name is the file name; its suffix tells the storage VM what to expect.
	name string
	// answerTime is how long the answer may take after the last byte: it comes when the template is installed.
	answerTime time.Duration
}

// send posts the content as the one file of a form, with its exact length.
func (u upload) send(ctx context.Context, content io.Reader, size int64, progress func(int64)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	head, tail, contentType, err := formAround(u.name)
	if err != nil {
		return fmt.Errorf("making the form: %w", err)
	}
	alarm := time.AfterFunc(uploadStall, func() { cancel(errSilence) })
	defer alarm.Stop()
	watched := &watchedReader{
		r: content, size: size, progress: progress, answerTime: u.answerTime, putOff: func(d time.Duration) { alarm.Reset(d) },
	}

	body := io.MultiReader(bytes.NewReader(head), io.LimitReader(watched, size), bytes.NewReader(tail))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.permit.PostURL, io.NopCloser(body))
	if err != nil {
		return errors.New("CloudStack gave a malformed address for the upload")
	}
	req.ContentLength = int64(len(head)) + size + int64(len(tail))
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "capcat")
	req.Header.Set("X-Signature", u.permit.Signature)
	req.Header.Set("X-Metadata", u.permit.Metadata)
	req.Header.Set("X-Expires", u.permit.Expires)
	client := u.client()
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return u.broken(ctx, err, watched.total.Load() >= size)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // an answer cut short still has its status
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &uploadRefused{status: resp.StatusCode, text: u.session.Redact(answerText(resp, string(text)))}
}

// client speaks HTTP/1.1 straight to the storage VM: its signature covers the host, which a proxy may change.
func (u upload) client() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
			TLSClientConfig:     u.session.TLS(),
			TLSHandshakeTimeout: 30 * time.Second,
			DisableKeepAlives:   true,
			DisableCompression:  true,
			WriteBufferSize:     256 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// broken is for an upload without an answer.
func (u upload) broken(ctx context.Context, err error, allSent bool) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	text := u.session.Redact(lastCause(err).Error())
	if allSent {
		return fmt.Errorf("%w: %s", errAnswerLost, text)
	}
	return fmt.Errorf("the upload broke off: %s", text)
}

// lastCause is the innermost error: those around it hold the address.
func lastCause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

func answerText(resp *http.Response, text string) string {
	if strings.Contains(resp.Header.Get("Content-Type"), "html") {
		return http.StatusText(resp.StatusCode) + " (a page of the server in front of it)"
	}
	return text
}

// formAround gives what stands before and after the content in a form with one file.
func formAround(name string) (head, tail []byte, contentType string, err error) {
	var buf bytes.Buffer
	form := multipart.NewWriter(&buf)
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", fmt.Sprintf(`form-data; name="file"; filename="%s"`, name))
	header.Set("Content-Type", "application/octet-stream")
	if _, err := form.CreatePart(header); err != nil {
		return nil, nil, "", err
	}
	head = bytes.Clone(buf.Bytes())
	buf.Reset()
	if err := form.Close(); err != nil {
		return nil, nil, "", err
	}
	return head, buf.Bytes(), form.FormDataContentType(), nil
}

// watchedReader counts what is read and puts the alarm off with every byte: after the last one by the time that the answer
// may take.
type watchedReader struct {
	r          io.Reader
	size       int64
	progress   func(int64)
	answerTime time.Duration
	putOff     func(time.Duration)
	total      atomic.Int64
}

func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n == 0 {
		return n, err
	}
	total := w.total.Add(int64(n))
	if total < w.size {
		w.putOff(uploadStall)
	} else {
		w.putOff(w.answerTime)
	}
	w.progress(total)
	return n, err
}

// awaitUpload follows the task that uploads; without one, what another life of the manager has left.
func (r *Reconciler) awaitUpload(ctx context.Context, s *scope) error {
	state := r.uploads.State(s.key)
	switch {
	case state.Phase == task.Absent:
		return r.awaitOrphan(ctx, s)
	case state.Phase != task.Done:
		return s.uploading(state.Progress)
	case state.Err == nil, errors.Is(state.Err, errAnswerLost):
		return r.awaitInstalled(ctx, s)
	}
	v := verdict{reason: infrav1.ReasonUploadFailed}
	var refused *uploadRefused
	if errors.As(state.Err, &refused) {
		if fault := cloudstack.FaultOf(refused.text); fault != cloudstack.FaultUnknown {
			v = judge(fault, infrav1.DeliveryUpload)
		}
	}
	v.ofMode = false
	ctrl.LoggerFrom(ctx).Info("The upload failed", "templateID", s.template.ID, "cause", state.Err.Error())
	return r.deliveryFailed(s, v, state.Err.Error())
}

func (s *scope) uploading(p sent) error {
	if p.total > 0 && p.bytes >= p.total {
		s.enter(infrav1.PhaseInstalling)
		return &step.Waiting{Reason: infrav1.ReasonInstalling, Message: "CloudStack installs what was uploaded"}
	}
	progress := s.enter(infrav1.PhaseUploading)
	share := percent(p.bytes, p.total)
	progress.Bytes, progress.TotalBytes, progress.Percent = p.bytes, max(p.total, progress.TotalBytes), &share
	return &step.Waiting{Reason: infrav1.ReasonUploading, Message: "the manager uploads the image"}
}

// awaitInstalled waits until the management server learns what its storage VM knows already.
func (r *Reconciler) awaitInstalled(ctx context.Context, s *scope) error {
	if stage := s.template.State.Stage; stage == cloudstack.StageFailed || stage == cloudstack.StageAbandoned {
		return r.deliveryFailed(s, verdict{reason: infrav1.ReasonUploadFailed}, saying(s.template.State))
	}
	return r.stage(ctx, s, stageOf{
		infrav1.PhaseInstalling, infrav1.ReasonInstalling, "CloudStack installs what was uploaded",
		installTime(r.options.Deadlines.Install, s.img.Status.SizeBytes), infrav1.ReasonInstallTimeout,
	})
}

// awaitOrphan is for a row whose upload a manager began that is no more: either everything had been sent, then the row
// becomes ready by itself, or the row is lost, because its address cannot be used again.
func (r *Reconciler) awaitOrphan(ctx context.Context, s *scope) error {
	phase := infrav1.PhaseUploading
	if _, installing := s.in(infrav1.PhaseInstalling); installing {
		phase = infrav1.PhaseInstalling
	}
	switch s.template.State.Stage {
	case cloudstack.StageFailed, cloudstack.StageAbandoned:
		return r.deliveryFailed(s, verdict{reason: infrav1.ReasonUploadFailed}, "the manager was stopped during the upload")
	case cloudstack.StageInstalling, cloudstack.StageDownloading, cloudstack.StageUploading:
		return r.awaitInstalled(ctx, s)
	}
	return r.stage(ctx, s, stageOf{
		phase, infrav1.ReasonUploading, "the manager was stopped during the upload; CloudStack may have all of it",
		r.options.Deadlines.Orphan, infrav1.ReasonUploadFailed,
	})
}
