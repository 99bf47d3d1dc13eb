package image

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/step"
)

const (
	// poll is the longest pause between two looks at a template on its way; all images of a zone share one listing.
	poll = 10 * time.Second
	// resync is the pause between two looks at a ready template.
	resync = 5 * time.Minute
	// unsettled is that pause while something is left to be done.
	unsettled = time.Minute
	// gib is the unit by which CloudStack grants its install script time.
	gib = 1 << 30
)

// await follows the template until it is ready. isready of the row decides.
func (r *Reconciler) await(ctx context.Context, s *scope) error {
	t := s.template
	if t.Ready {
		r.leaveZone(s.key)
		return nil
	}
	if s.adopted || s.img.Status.ImportedAt != nil {
		return s.showLoss(t.State)
	}
	r.memo(s.key, func(m *objectMemo) { m.onItsWay = s.img.Status.ZoneID })
	if s.img.Status.Delivery == infrav1.DeliveryUpload {
		return r.awaitUpload(ctx, s)
	}
	return r.awaitDownload(ctx, s)
}

// showLoss reports a template that was ready and no longer is. While its row exists no second one is registered.
func (s *scope) showLoss(state cloudstack.TemplateState) error {
	message := "the template was ready and CloudStack no longer says so; it shows: " + string(state.Stage)
	if state.Message != "" {
		message += " (" + state.Message + ")"
	}
	switch state.Stage {
	case cloudstack.StageDownloading:
		return &step.Waiting{Reason: infrav1.ReasonDownloading, Message: message, After: unsettled}
	case cloudstack.StageFailed, cloudstack.StageAbandoned:
		return &step.Failed{Reason: infrav1.ReasonInstallFailed, Message: message, After: resync}
	}
	return &step.Waiting{Reason: infrav1.ReasonInstalling, Message: message, After: unsettled}
}

func (r *Reconciler) awaitDownload(ctx context.Context, s *scope) error {
	limits, state := r.options.Deadlines, s.template.State
	if s.img.Status.Delivery == infrav1.DeliveryServe {
		r.keepServing(ctx, s)
	}
	switch state.Stage {
	case cloudstack.StageDownloading:
		return r.stage(ctx, s, stageOf{
			infrav1.PhaseDownloading, infrav1.ReasonDownloading, "CloudStack downloads the template",
			limits.Download, infrav1.ReasonDownloadTimeout,
		})
	case cloudstack.StageInstalling:
		return r.stage(ctx, s, stageOf{
			infrav1.PhaseInstalling, infrav1.ReasonInstalling, "CloudStack installs the template",
			installTime(limits.Install, s.img.Status.SizeBytes), infrav1.ReasonInstallTimeout,
		})
	case cloudstack.StageFailed, cloudstack.StageAbandoned:
		return r.deliveryFailed(s, judge(state.Fault, s.img.Status.Delivery), saying(state))
	}
	return r.stage(ctx, s, stageOf{
		infrav1.PhaseRegistering, infrav1.ReasonDownloading, "CloudStack has not begun to download the template",
		limits.Start, infrav1.ReasonDownloadNotStarted,
	})
}

// saying is what CloudStack said of a fault.
func saying(state cloudstack.TemplateState) string {
	if state.Message == "" {
		return "CloudStack gives no reason"
	}
	return "CloudStack says: " + state.Message
}

// installTime grows with the size as CloudStack's own limit does.
func installTime(least time.Duration, size int64) time.Duration {
	return max(least, time.Duration(size/gib+2)*15*time.Minute)
}

// stageOf is a stage of a delivery with its deadline.
type stageOf struct {
	phase           infrav1.ImagePhase
	reason, message string
	limit           time.Duration
	late            string
}

func (r *Reconciler) stage(_ context.Context, s *scope, g stageOf) error {
	p := s.enter(g.phase)
	if g.phase == infrav1.PhaseDownloading {
		share := s.template.State.Percent
		p.Percent = &share
	}
	spent, _ := s.in(g.phase)
	if spent > g.limit {
		message := fmt.Sprintf("%s, and did not get further within %s", g.message, g.limit)
		return r.deliveryFailed(s, verdict{reason: g.late, ofMode: true}, message)
	}
	// Small images are done in seconds, and nobody waits for the last percent of a large one.
	return &step.Waiting{Reason: g.reason, Message: g.message, After: min(max(spent/4, firstLook), poll)}
}

// keepServing takes the lease again after a restart. Without the blob CloudStack's request fails and the delivery is begun
// anew, so there is nothing to decide here.
func (r *Reconciler) keepServing(ctx context.Context, s *scope) {
	held := false
	r.memo(s.key, func(m *objectMemo) { held = m.lease != nil })
	if held {
		return
	}
	digest, err := digestOf(s.img.Status.ContentDigest)
	if err == nil {
		err = r.lease(s.key, digest)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).V(2).Info("The content that CloudStack downloads is not in the store", "cause", err.Error())
	}
}

// deliveryFailed puts the template aside to be deleted and decides how to go on.
func (r *Reconciler) deliveryFailed(s *scope, v verdict, message string) error {
	s.leave(s.template.ID)
	s.template = nil
	s.img.Status.TemplateID, s.img.Status.TemplateName = "", ""
	r.leaveZone(s.key)
	return r.followUp(s, v, message)
}

// confirm compares what CloudStack made of the image with what was verified and says that it is ready.
func (r *Reconciler) confirm(_ context.Context, s *scope) error {
	st, t := &s.img.Status, s.template
	if mismatch := s.sizeMismatch(); mismatch != "" {
		s.enter(infrav1.PhaseFailed)
		return &step.Terminal{Reason: infrav1.ReasonContentMismatch, Message: mismatch}
	}
	if st.ImportedAt == nil {
		now := metav1.NewTime(s.now.Truncate(time.Second))
		st.ImportedAt = &now
		r.metrics.ready(s.img, s.now)
	}
	hundred := int32(100)
	s.enter(infrav1.PhaseReady).Percent = &hundred
	pause := resync
	if len(st.Leftovers) > 0 {
		pause = unsettled
	}
	return &step.Waiting{Reason: infrav1.ReasonReady, Message: "the template " + t.ID + " is ready", After: pause}
}

// sizeMismatch compares virtual sizes. Sizes of zero or less are unknown to CloudStack, and its simulator makes them up.
func (s *scope) sizeMismatch() string {
	want, got := s.img.Status.VirtualSizeBytes, s.template.SizeBytes
	if s.adopted || want <= 0 || got <= 0 || want == got || s.img.Status.Hypervisor == infrav1.HypervisorSimulator {
		return ""
	}
	return fmt.Sprintf("CloudStack shows a disk of %d bytes, the verified image has %d: "+
		"the template %s is not what was verified; delete it to have it registered again", got, want, s.template.ID)
}
