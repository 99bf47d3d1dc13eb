package image

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// busyMessage explains why a deletion takes so long.
const busyMessage = "CloudStack lets the template be deleted when its download has ended, or when it gives up the upload, " +
	"an hour after it began: "

// jobPoll is the pause after which a deletion is looked at, should no wake-up come.
const jobPoll = 15 * time.Second

// jobPatience is how long a deletion may take before it is asked for once more.
const jobPatience = 30 * time.Minute

// connectToRetire opens a session only if something in CloudStack may be ours to delete, so that an image without can go
// even when its credentials are gone.
func (r *Reconciler) connectToRetire(ctx context.Context, s *scope) error {
	if !controllerutil.ContainsFinalizer(s.img, infrav1.FinalizerImage) {
		return nil
	}
	s.enter(infrav1.PhaseDeleting)
	s.kept = s.keeps()
	lost := s.img.Status.ZoneID == "" && s.identity() != "" && !s.kept
	made := (s.img.Status.ZoneID != "" || lost) && s.img.Spec.ExistingTemplate == nil && !s.moving()
	unfinished := s.img.Status.Delivery != "" && s.img.Status.ImportedAt == nil
	if !made || (s.kept && len(s.img.Status.Leftovers) == 0 && !unfinished) {
		return nil
	}
	err := r.connect(ctx, s)
	if err == nil && lost {
		err = s.findZone(ctx)
	}
	if err != nil && s.kept {
		// What is retained needs no credentials, and what is left unfinished does not hold up its owner.
		ctrl.LoggerFrom(ctx).Info("Failed templates cannot be deleted, they stay", "cause", err.Error())
		s.session = nil
		return nil
	}
	return err
}

// moving tells whether clusterctl has moved the object to another management cluster, which owns the template now.
func (s *scope) moving() bool {
	_, moved := s.img.Annotations[infrav1.AnnotationDeleteForMove]
	return moved
}

// keeps tells whether the template stays.
func (s *scope) keeps() bool {
	return s.img.Spec.DeletePolicy != infrav1.DeletePolicyDelete || s.img.Spec.ExistingTemplate != nil || s.moving()
}

// protect keeps the template as long as the caller sees machines that use it. CloudStack itself refuses for those that the
// caller does not see.
func (r *Reconciler) protect(ctx context.Context, s *scope) error {
	if s.session == nil || s.kept {
		return nil
	}
	for _, id := range s.doomed() {
		vms, err := s.session.VMsOfTemplate(ctx, s.owner, s.img.Status.ZoneID, id)
		if err != nil {
			return apiFailure("listing the machines that use the template", err)
		}
		s.inUse += len(vms)
		if len(vms) > 0 {
			s.img.Status.References = int32(min(s.inUse, 1<<30))
			return &step.Waiting{Reason: infrav1.ReasonInUse, Message: useMessage(id, vms), After: unsettled}
		}
	}
	s.img.Status.References = 0
	return nil
}

func useMessage(id string, vms []cloudstack.VM) string {
	names := make([]string, 0, len(vms))
	for _, vm := range vms {
		names = append(names, vm.Name)
	}
	slices.Sort(names)
	if len(names) > 5 {
		names = append(names[:5], "...")
	}
	return fmt.Sprintf("%d virtual machines use the template %s: %s", len(vms), id, strings.Join(names, ", "))
}

// doomed are the ids of the templates that go with the image: those with our mark, and the recorded one if we registered
// it and CloudStack hides it or somebody removed the mark.
func (s *scope) doomed() []string {
	var ids []string
	for _, t := range s.ours() {
		ids = append(ids, t.ID)
	}
	st := s.img.Status
	if st.TemplateID == "" || st.Delivery == "" {
		return ids
	}
	if t := row(s.rows, st.TemplateID); t == nil || t.Details[infrav1.MarkOwner] == "" {
		ids = append(ids, st.TemplateID)
	}
	return ids
}

// retire deletes our templates and waits until they are gone.
func (r *Reconciler) retire(ctx context.Context, s *scope) error {
	if s.session == nil {
		return nil
	}
	if !s.kept {
		if err := r.deleteAll(ctx, s); err != nil {
			return err
		}
		if since, open := s.unanswered(); open && since < r.options.Deadlines.Answer {
			return &step.Waiting{
				Reason: infrav1.ReasonDeleting, After: ending.AnswerPoll,
				Message: "a call to register the template got no answer; the template may still turn up",
			}
		}
	}
	if n := len(s.img.Status.Leftovers); n > 0 {
		return &step.Waiting{
			Reason: infrav1.ReasonDeleting, After: unsettled,
			Message: fmt.Sprintf("%d failed templates cannot be deleted yet; CloudStack gives up a failed upload after an hour", n),
		}
	}
	return nil
}

// unanswered tells how long ago a registration was begun whose outcome was never saved.
func (s *scope) unanswered() (time.Duration, bool) {
	p := s.before.Status.Progress
	if p == nil || p.Since == nil || s.before.Status.TemplateID != "" {
		return 0, false
	}
	return s.now.Sub(p.Since.Time), p.Phase == infrav1.PhaseRegistering
}

func (r *Reconciler) deleteAll(ctx context.Context, s *scope) error {
	rows, err := s.session.Templates(ctx, cloudstack.TemplateQuery{Owner: s.owner, ZoneID: s.img.Status.ZoneID})
	if err != nil {
		return apiFailure("listing the templates", err)
	}
	s.rows = rows
	for _, id := range s.doomed() {
		if t := row(rows, id); t != nil && t.CrossZones {
			return &step.Failed{
				Reason: infrav1.ReasonNotPermitted, After: pauseSlow,
				Message: "the template " + id + " is in every zone; deleting it here would delete it everywhere, so a person must",
			}
		}
		gone, err := r.remove(ctx, s, id)
		switch {
		case cloudstack.Is(err, cloudstack.Busy):
			return &step.Waiting{Reason: infrav1.ReasonDeleting, Message: busyMessage + err.Error(), After: unsettled}
		case cloudstack.Is(err, cloudstack.InUse):
			return &step.Waiting{Reason: infrav1.ReasonInUse, Message: err.Error(), After: unsettled}
		case err != nil:
			return apiFailure("deleting the template "+id, err)
		case !gone:
			return &step.Waiting{Reason: infrav1.ReasonDeleting, Message: "CloudStack deletes the template " + id, After: jobPoll}
		}
		if s.img.Status.TemplateID == id {
			s.img.Status.TemplateID, s.img.Status.TemplateName = "", ""
		}
	}
	return nil
}

// remove deletes one template. It is gone when the job has ended well and no listing shows it any more.
func (r *Reconciler) remove(ctx context.Context, s *scope, id string) (gone bool, err error) {
	var d deletion
	r.memo(s.key, func(m *objectMemo) { d = m.jobs[id] })
	if d.job == "" || s.now.Sub(d.since) > jobPatience {
		d.since = s.now
		d.job, err = s.session.DeleteTemplate(ctx, s.owner, s.img.Status.ZoneID, id)
		if cloudstack.Is(err, cloudstack.NotFound) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		r.memo(s.key, func(m *objectMemo) { m.jobs[id] = d })
	}
	outcome := s.session.Follow(d.job, "deleteTemplate", func() { r.waker.Wake(s.key) })
	if outcome.State == cloudstack.JobRunning {
		return false, nil
	}
	r.memo(s.key, func(m *objectMemo) { delete(m.jobs, id) })
	if outcome.Err != nil && outcome.Err.Kind != cloudstack.NotFound {
		return false, outcome.Err
	}
	_, err = s.session.FindTemplate(ctx, s.owner, s.img.Status.ZoneID, id)
	if cloudstack.Is(err, cloudstack.NotFound) || cloudstack.Is(err, cloudstack.Forbidden) {
		return true, nil
	}
	return false, err
}

// sweep deletes what failed deliveries left. It never stands in the way of the image itself.
func (r *Reconciler) sweep(ctx context.Context, s *scope) error {
	if s.session == nil {
		return nil
	}
	if s.deleting() && s.kept && s.img.Status.ImportedAt == nil {
		for _, t := range s.ours() {
			if !t.Ready {
				s.leave(t.ID) // a template that is not ready is nothing to retain
			}
		}
	}
	var left []string
	for _, id := range s.img.Status.Leftovers {
		if t := row(s.rows, id); t != nil && t.State.Stage.Upload() && t.State.Stage != cloudstack.StageAbandoned {
			left = append(left, id)
			continue
		}
		gone, err := r.remove(ctx, s, id)
		if err != nil {
			ctrl.LoggerFrom(ctx).V(2).Info("A failed template cannot be deleted yet", "templateID", id, "cause", err.Error())
		}
		if !gone {
			left = append(left, id)
		}
	}
	s.img.Status.Leftovers = left
	return nil
}

// release lets the object go.
func (r *Reconciler) release(_ context.Context, s *scope) error {
	controllerutil.RemoveFinalizer(s.img, infrav1.FinalizerImage)
	s.released = true
	return nil
}
