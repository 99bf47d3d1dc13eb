package machine

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// moving tells whether clusterctl has moved the object to another management cluster, which owns the VM now.
func (s *scope) moving() bool {
	_, moved := s.m.Annotations[infrav1.AnnotationDeleteForMove]
	return moved
}

// untouched tells whether nothing in CloudStack is that of this object: it never got so far, or has been moved.
func (s *scope) untouched() bool {
	return !controllerutil.ContainsFinalizer(s.m, infrav1.FinalizerMachine) || s.moving() || s.identity() == ""
}

// connect opens a session only if something in CloudStack may be ours to delete, so that a machine without can go even when
// its credentials are gone.
func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	st := &s.m.Status
	switch {
	case s.untouched():
		return nil
	case st.Resolved != nil:
		if st.InstanceID == "" && st.Attempts == 0 && !s.provisioned() && st.Resolved.AffinityGroupName == "" {
			return nil // nothing was begun
		}
		s.place = placeOf(st.Resolved)
		return r.open(ctx, s)
	}
	return r.reconnect(ctx, s)
}

// reconnect finds the VM of a machine that lost its status, by id or else by name and mark. A machine whose every try was
// refused has nothing resolved and no VM.
func (r *Reconciler) reconnect(ctx context.Context, s *scope) error {
	id, err := s.recordedID()
	if err != nil {
		return nil // what is no id of a VM names none
	}
	for _, domain := range s.searched() {
		if err := r.placeIn(ctx, s, domain); err != nil {
			return err
		}
		found, err := s.search(ctx, id)
		if err != nil {
			return err
		}
		if found != nil {
			s.m.Status.InstanceID, s.m.Status.FailureDomain = found.ID, domain
			return nil
		}
	}
	s.session = nil
	return nil
}

// search looks for the VM in the place. Only one with our mark counts.
func (s *scope) search(ctx context.Context, id string) (*cloudstack.VM, error) {
	var found []cloudstack.VM
	var err error
	if id != "" {
		var vm cloudstack.VM
		vm, err = s.session.FindVM(ctx, s.place.owner, id)
		found = []cloudstack.VM{vm}
	} else {
		found, err = s.vmsNamed(ctx, s.names(), s.m.DeletionTimestamp.Time)
	}
	if err != nil {
		if cloudstack.Is(err, cloudstack.NotFound) || cloudstack.Is(err, cloudstack.Forbidden) {
			return nil, nil
		}
		return nil, apiFailure("looking for the VM", err)
	}
	for i := range found {
		if s.ours(found[i]) && !found[i].State.Removed() {
			return &found[i], nil
		}
	}
	return nil, nil
}

// vmsNamed lists the VMs of several names.
func (s *scope) vmsNamed(ctx context.Context, names []string, since time.Time) ([]cloudstack.VM, error) {
	var all []cloudstack.VM
	for _, name := range names {
		found, err := s.session.VMsNamedSince(ctx, s.place.owner, s.place.zoneID, name, since)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// destroy destroys every VM of the machine and waits until the caller's list no longer shows them.
func (r *Reconciler) destroy(ctx context.Context, s *scope) error {
	if s.session == nil {
		return nil
	}
	if s.m.Status.Deletion == nil {
		since := metav1.NewTime(s.now)
		s.m.Status.Deletion = &infrav1.DeletionProgress{Since: &since}
	}
	if s.inJob(infrav1.JobDestroy) {
		if err := r.awaitDestroyed(ctx, s); err != nil {
			return err
		}
	}
	if s.m.Status.InstanceID == "" {
		if err := r.findMore(ctx, s); err != nil || s.m.Status.InstanceID == "" {
			return err
		}
	}
	return r.beginDestroy(ctx, s)
}

// findMore looks for VMs that calls without an answer, or with a failure, may have left. One deployment that was answered
// left one VM.
func (r *Reconciler) findMore(ctx context.Context, s *scope) error {
	age, open := s.intent()
	id, err := s.recordedID()
	if err == nil && id != "" && s.m.Status.Deletion.Attempts == 0 {
		s.m.Status.InstanceID = id
		return nil
	}
	if !open && s.m.Status.Attempts == 1 && len(s.m.Status.Refusals) == 0 {
		return nil
	}
	found, err := s.vmsNamed(ctx, s.usedNames(), s.now)
	if err != nil {
		return apiFailure("looking for more VMs of the machine", err)
	}
	for _, v := range found {
		if s.ours(v) && !v.State.Removed() {
			s.m.Status.InstanceID, s.m.Status.Job = v.ID, nil
			return nil
		}
	}
	if open && age < r.options.Answer {
		return &step.Waiting{
			Reason: infrav1.ReasonDestroying, After: ending.AnswerPoll,
			Message: "a call to create the VM got no answer; the VM may still turn up",
		}
	}
	s.m.Status.Job = nil
	return nil
}

// beginDestroy sends one destroy. Only disks that were made with the VM go with it.
func (r *Reconciler) beginDestroy(ctx context.Context, s *scope) error {
	st := &s.m.Status
	caps, err := s.session.Capabilities(ctx)
	if err != nil && !cloudstack.Is(err, cloudstack.NotPermitted) {
		return apiFailure("asking what the account may do", err)
	}
	plain := false
	r.memo(s.key, func(m *memo) { plain = m.plain })
	o := cloudstack.DestroyOptions{Expunge: caps.MayExpunge && !plain}
	if o.VolumeIDs, err = s.disksToDestroy(ctx); err != nil {
		return err
	}
	s.session.WatchVM(s.place.owner, st.InstanceID, r.wake(s))
	job, err := s.session.DestroyVM(ctx, st.InstanceID, o)
	switch {
	case cloudstack.Is(err, cloudstack.NotFound):
		return s.destroyed()
	case err != nil:
		return r.refusedDestroy(s, err)
	}
	s.begin(infrav1.JobDestroy, string(job), st.InstanceID)
	r.follow(s)
	return &step.Waiting{Reason: infrav1.ReasonDestroying, Message: "CloudStack destroys the VM " + st.InstanceID, After: ending.JobPoll}
}

// disksToDestroy are the disks that go with the VM. Those of one that never ran, or whose status was lost, were not noted.
func (s *scope) disksToDestroy(ctx context.Context) ([]string, error) {
	st := &s.m.Status
	switch {
	case len(st.VolumeIDs) == 0:
		return s.ownDisks(ctx, st.InstanceID)
	case st.Deletion.Attempts > 0:
		return s.attachedOf(ctx, st.VolumeIDs)
	}
	return st.VolumeIDs, nil
}

// attachedOf leaves out disks that somebody has detached meanwhile: with one of them CloudStack refuses the whole call.
func (s *scope) attachedOf(ctx context.Context, ids []string) ([]string, error) {
	volumes, err := s.session.VolumesOf(ctx, s.place.owner, s.m.Status.InstanceID)
	if err != nil {
		return nil, apiFailure("listing the disks of the VM", err)
	}
	var out []string
	for _, v := range volumes {
		for _, id := range ids {
			if v.ID == id {
				out = append(out, id)
			}
		}
	}
	return out, nil
}

// awaitDestroyed ends when the job has ended well and no list shows the VM any more.
func (r *Reconciler) awaitDestroyed(ctx context.Context, s *scope) error {
	st := &s.m.Status
	outcome := r.follow(s)
	id := st.Job.ResourceID
	if outcome.State == cloudstack.JobRunning {
		return &step.Waiting{Reason: infrav1.ReasonDestroying, Message: "CloudStack destroys the VM " + id, After: ending.JobPoll}
	}
	if outcome.Err != nil && outcome.Err.Kind != cloudstack.NotFound {
		st.Job = nil
		return r.refusedDestroy(s, outcome.Err)
	}
	sight := s.session.WatchVM(s.place.owner, id, r.wake(s))
	shown := !sight.At.After(st.Job.Since.Time) || sight.Found && !sight.VM.State.Removed()
	if shown {
		vm, err := s.session.FindVM(ctx, s.place.owner, id)
		switch {
		case err == nil && !vm.State.Removed():
			st.Job = nil
			st.Deletion.Attempts++
			return &step.Waiting{Reason: infrav1.ReasonDestroying, Message: fmt.Sprintf("the VM %s is still there (%s)", id, vm.State), After: statePoll}
		case err != nil && !cloudstack.Is(err, cloudstack.NotFound) && !cloudstack.Is(err, cloudstack.Forbidden):
			return apiFailure("looking whether the VM is gone", err)
		}
	}
	st.InstanceID = id
	st.Job = nil
	return s.destroyed()
}

// destroyed goes on without the VM. Another one that an unanswered call left is looked for in the next step.
func (s *scope) destroyed() error {
	s.session.UnwatchVM(s.place.owner, s.m.Status.InstanceID)
	st := &s.m.Status
	st.InstanceID, st.VolumeIDs, st.LoadBalancerRuleIDs = "", nil, nil
	st.Deletion.Attempts++
	if st.Attempts <= 1 && len(st.Refusals) == 0 {
		return nil
	}
	return &step.Waiting{Reason: infrav1.ReasonDestroying, Message: "the VM is gone", After: ending.AtOnce}
}

// refusedDestroy tells why a VM stays.
func (r *Reconciler) refusedDestroy(s *scope, err error) error {
	s.m.Status.Deletion.Attempts++
	pause := pauseAfter(s.m.Status.Deletion.Attempts)
	message := fmt.Sprintf("destroying the VM %s (try %d): %v", s.m.Status.InstanceID, s.m.Status.Deletion.Attempts, err)
	switch cloudstack.KindOf(err) {
	case cloudstack.Forbidden:
		again := false
		r.memo(s.key, func(m *memo) { again, m.plain = m.plain, true })
		if !again {
			// The right to expunge may be what is missing: a plain destroy follows.
			return &step.Failed{Reason: infrav1.ReasonDestroying, Message: message, After: ending.AtOnce, Err: err}
		}
		return &step.Failed{
			Reason: infrav1.ReasonDeleteProtected, After: max(pause, ending.JobPoll), Err: err,
			Message: message + "; remove the delete protection of the VM, or have the account given the right",
		}
	case cloudstack.Conflict:
		return &step.Failed{Reason: infrav1.ReasonDestroying, Message: message, After: ending.AnswerPoll, Err: err}
	case cloudstack.Throttled, cloudstack.Unavailable, cloudstack.LostReply, cloudstack.Unauthorized, cloudstack.NotPermitted:
		return apiFailure("destroying the VM", err)
	}
	return &step.Failed{Reason: infrav1.ReasonDeletionBlocked, Message: message, After: pause, Err: err}
}

// release lets the object go.
func (r *Reconciler) release(_ context.Context, s *scope) error {
	controllerutil.RemoveFinalizer(s.m, infrav1.FinalizerMachine)
	s.released = true
	return nil
}
