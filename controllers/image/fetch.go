package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/step"
	"github.com/capcat/capcat/controllers/internal/task"
	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/importer"
	"github.com/capcat/capcat/imagecatalog/importspec"
)

// cool lets a failed import rest. The pause is counted from the status, so a restart does not shorten it.
func (r *Reconciler) cool(_ context.Context, s *scope) error {
	rested, failed := s.in(infrav1.PhaseFailed)
	before := readyCondition(s.before)
	if s.template != nil || !failed || before == nil {
		return nil
	}
	pause, forever := pauseAfter(before.Reason, s.img.Status.Attempts)
	switch {
	case forever:
		return &step.Terminal{Reason: before.Reason, Message: before.Message}
	case rested < pause:
		return &step.Failed{Reason: before.Reason, Message: before.Message, After: pause - rested}
	}
	return nil
}

// fetch has the image fetched, verified, expanded and inspected by a task, and saves what was found before anything is
// made in CloudStack.
func (r *Reconciler) fetch(ctx context.Context, s *scope) error {
	if s.template != nil {
		r.imports.Cancel(s.key)
		return nil
	}
	spec := importspec.Of(*s.img.Spec.Source, s.img.Status.Hypervisor, s.img.Spec.Limits)
	fingerprint, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("naming the import: %w", err)
	}
	if r.imports.State(s.key).Phase == task.Absent {
		s.img.Status.Attempts++
	}
	state := r.imports.Ensure(ctx, s.key, string(fingerprint), r.importWork(spec))
	switch {
	case state.Phase == task.Queued:
		s.enter(infrav1.PhasePending)
		return &step.Waiting{Reason: infrav1.ReasonQueued, Message: "the image waits for its turn to be fetched"}
	case state.Phase == task.Running:
		return s.fetching(state.Progress)
	case state.Err != nil:
		r.imports.Cancel(s.key)
		return s.failImport(state.Err)
	}
	return s.verified(state.Value)
}

func (r *Reconciler) importWork(spec importer.Spec) task.Work[importer.Progress, importer.Result] {
	return func(ctx context.Context, report func(importer.Progress, bool)) (importer.Result, error) {
		start := r.options.Clock.Now()
		gate := &gate{clock: r.options.Clock}
		result, err := r.options.Importer.Import(ctx, spec, func(p importer.Progress) {
			report(p, gate.open(string(p.Phase), percent(p.Bytes, p.TotalBytes)))
		})
		r.metrics.imported(result, err, r.options.Clock.Since(start))
		return result, err
	}
}

// gate lets progress through every 10 seconds, every 5 percent and when the phase changes.
type gate struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	phase   string
	percent int32
	at      time.Time
}

func (g *gate) open(phase string, percent int32) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Now()
	if phase == g.phase && percent-g.percent < progressStep && now.Sub(g.at) < progressEvery {
		return false
	}
	g.phase, g.percent, g.at = phase, percent, now
	return true
}

// percent is 0 when the total is unknown.
func percent(part, total int64) int32 {
	if total <= 0 || part <= 0 {
		return 0
	}
	return int32(min(100, float64(part)/float64(total)*100))
}

func (s *scope) fetching(p importer.Progress) error {
	phase, reason := infrav1.PhaseFetching, infrav1.ReasonFetching
	switch p.Phase {
	case importer.Verifying:
		phase, reason = infrav1.PhaseVerifying, infrav1.ReasonVerifying
	case importer.Expanding:
		phase, reason = infrav1.PhaseExpanding, infrav1.ReasonVerifying
	case importer.Inspecting:
		phase, reason = infrav1.PhaseInspecting, infrav1.ReasonVerifying
	}
	progress := s.enter(phase)
	progress.Bytes, progress.TotalBytes, progress.BytesPerSecond = p.Bytes, p.TotalBytes, p.BytesPerSecond
	progress.Percent = nil
	if p.TotalBytes > 0 {
		share := percent(p.Bytes, p.TotalBytes)
		progress.Percent = &share
	}
	return &step.Waiting{Reason: reason, Message: "the manager fetches and verifies the image"}
}

func (s *scope) failImport(err error) error {
	code := artifact.CodeOf(err)
	reason := importReason(code)
	if reason == infrav1.ReasonContentRejected {
		s.img.Status.ContentCode = string(code)
	}
	out := s.fail(reason, importMessage(err), err)
	var failed *step.Failed
	var cause *artifact.Error
	if errors.As(out, &failed) && errors.As(err, &cause) {
		failed.After = max(failed.After, cause.After)
	}
	return out
}

// importMessage is the message for people: the code of the pipeline and its sentence.
func importMessage(err error) string {
	var cause *artifact.Error
	if !errors.As(err, &cause) {
		return err.Error()
	}
	if cause.Message == "" {
		return cause.Error()
	}
	return string(cause.Code) + ": " + cause.Message
}

// verified takes over the facts of a verified image. New facts end the reconcile, so that they are saved first.
func (s *scope) verified(result importer.Result) error {
	st := &s.img.Status
	if known := s.before.Status.ContentDigest; known != "" && known != result.ContentDigest.String() && st.ImportedAt != nil {
		return s.fail(infrav1.ReasonContentChanged, "the source no longer delivers the bytes that were imported: create a new image", nil)
	}
	format := formatOf(string(result.Format))
	if format == "" {
		st.ContentCode = string(result.Format)
		return s.fail(infrav1.ReasonContentRejected, fmt.Sprintf("CloudStack takes no template of format %s", result.Format), nil)
	}
	s.result = &result
	st.DownloadDigest, st.ContentDigest = result.DownloadDigest.String(), result.ContentDigest.String()
	st.Format, st.VirtualSizeBytes, st.SizeBytes = format, result.VirtualSizeBytes, result.ContentBytes
	if result.MirrorUsed != "" {
		st.MirrorUsed = result.MirrorUsed
	}
	st.ContentCode = ""
	if len(result.Warnings) > 0 {
		st.ContentCode = string(result.Warnings[0].Code)
	}
	if st.ContentDigest == s.before.Status.ContentDigest && st.DownloadDigest == s.before.Status.DownloadDigest {
		return nil
	}
	s.enter(infrav1.PhasePending)
	return &step.Waiting{Reason: infrav1.ReasonRegistering, Message: "the image is verified", After: time.Millisecond}
}
