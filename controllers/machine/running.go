package machine

import (
	"context"
	"fmt"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// awaitRunning follows the VM until it runs, and from then on tells how it is.
//
// Before the machine is a Node's, a deployment that failed is cleared away and tried again. Afterwards nothing is repaired:
// the conditions tell, and a MachineHealthCheck or a person decides.
func (r *Reconciler) awaitRunning(ctx context.Context, s *scope) error {
	var ended *cloudstack.Outcome
	if s.inJob(infrav1.JobDeploy, infrav1.JobStart, infrav1.JobDestroy) {
		outcome := r.follow(s)
		if outcome.State == cloudstack.JobRunning {
			return s.stillAtIt()
		}
		ended = &outcome
	}
	if err := r.look(ctx, s, ended); err != nil {
		return err
	}
	if s.unseen {
		return &step.Waiting{Reason: infrav1.ReasonRunning, Message: "the VM has not been looked at yet"}
	}
	job := s.m.Status.Job
	if s.inJob(infrav1.JobDeploy, infrav1.JobStart, infrav1.JobDestroy) {
		s.m.Status.Job = nil
	}
	switch {
	case s.vm == nil:
		return s.gone(job, ended)
	case s.vm.State == cloudstack.VMRunning, s.vm.State == cloudstack.VMMigrating:
		return nil
	case s.provisioned():
		return s.fallen()
	case s.vm.State == cloudstack.VMError:
		return r.clear(ctx, s, ended)
	}
	return r.bringUp(ctx, s, job, ended)
}

// follow asks for the recorded job, which wakes the machine when it has ended.
func (r *Reconciler) follow(s *scope) cloudstack.Outcome {
	job := s.m.Status.Job
	if job.ID == unanswered {
		return cloudstack.Outcome{State: cloudstack.JobGone}
	}
	switch job.Kind {
	case infrav1.JobAttachToLoadBalancer:
		return s.session.Follow(cloudstack.Job(job.ID), "assignToLoadBalancerRule", r.wake(s))
	case infrav1.JobDetachFromLoadBalancer:
		return s.session.Follow(cloudstack.Job(job.ID), "removeFromLoadBalancerRule", r.wake(s))
	}
	commands := map[infrav1.JobKind]string{
		infrav1.JobDeploy: "deployVirtualMachine", infrav1.JobStart: "startVirtualMachine", infrav1.JobDestroy: "destroyVirtualMachine",
	}
	return s.session.FollowVM(cloudstack.Job(job.ID), commands[job.Kind], s.place.owner, job.ResourceID, r.wake(s))
}

// stillAtIt tells what CloudStack is doing.
func (s *scope) stillAtIt() error {
	job := s.m.Status.Job
	age := s.now.Sub(job.Since.Time)
	reason, doing := infrav1.ReasonDeploying, "creates the VM"
	switch job.Kind {
	case infrav1.JobStart:
		reason, doing = infrav1.ReasonStarting, "starts the VM"
	case infrav1.JobDestroy:
		reason, doing = infrav1.ReasonDeployFailed, "destroys the VM that could not be started, before another try"
	}
	message := "CloudStack " + doing
	if age > ending.Slow {
		message += fmt.Sprintf("; the job %s is open since %s", job.ID, job.Since.UTC().Format("15:04 on 2006-01-02"))
	}
	return &step.Waiting{Reason: reason, Message: message, After: ending.JobPoll}
}

// look learns how the VM is: from what the listing of all machines showed, or, where that is not enough, by asking for it.
func (r *Reconciler) look(ctx context.Context, s *scope, ended *cloudstack.Outcome) error {
	id := s.m.Status.InstanceID
	sight := s.session.WatchVM(s.place.owner, id, r.wake(s))
	var seen time.Time
	r.memo(s.key, func(m *memo) { seen = m.seen })
	settled := ended == nil && s.provisioned() && isTrue(s.m.Status.Initialization.Provisioned)
	switch {
	case settled && !sight.At.After(seen):
		s.unseen = true
		return nil
	case settled && sight.Found,
		sight.Found && sight.VM.State == cloudstack.VMRunning && (ended == nil || ended.State == cloudstack.JobSucceeded):
		s.vm = &sight.VM
		return nil
	}
	vm, err := s.session.FindVM(ctx, s.place.owner, id)
	r.memo(s.key, func(m *memo) { m.seen = s.now })
	switch {
	case err == nil:
		s.vm = &vm
	case cloudstack.Is(err, cloudstack.NotFound), cloudstack.Is(err, cloudstack.Forbidden):
	default:
		return apiFailure("looking at the VM", err)
	}
	return nil
}

// gone is for a VM that CloudStack does not list. A deployment that failed is tried again; a VM that was there is not
// replaced.
func (s *scope) gone(job *infrav1.JobReference, ended *cloudstack.Outcome) error {
	cleared := job != nil && job.Kind == infrav1.JobDestroy
	failed := ended != nil && ended.State == cloudstack.JobFailed && job.Kind == infrav1.JobDeploy
	if !s.provisioned() && (cleared || failed) {
		s.m.Status.InstanceID = ""
		if failed {
			s.refuse(jobReason(ended))
		}
		return &step.Failed{Reason: s.lastReason(), Message: "the VM that could not be started is gone; it is tried again", After: ending.AtOnce}
	}
	s.lost = true
	return &step.Failed{
		Reason: infrav1.ReasonInstanceLost, After: 2 * ending.Slow,
		Message: fmt.Sprintf("CloudStack no longer lists the VM %s: it was destroyed or expunged behind our back; delete the Machine to replace it", s.m.Status.InstanceID),
	}
}

// lastReason is why the failure domain refused the machine.
func (s *scope) lastReason() string {
	if last := refusalOf(s.m.Status.Refusals, s.place.domain); last != nil && last.Reason != "" {
		return last.Reason
	}
	return infrav1.ReasonDeployFailed
}

func jobReason(ended *cloudstack.Outcome) string {
	if ended != nil && ended.Err != nil {
		switch ended.Err.Kind {
		case cloudstack.Capacity, cloudstack.Quota, cloudstack.ZoneDisabled:
			return refusals().Of(ended.Err.Kind)
		}
	}
	return infrav1.ReasonDeployFailed
}

// fallen tells what happened to the VM of a Node behind our back.
func (s *scope) fallen() error {
	id, state := s.m.Status.InstanceID, s.vm.State
	failed := &step.Failed{After: 2 * ending.Slow}
	switch state {
	case cloudstack.VMStarting:
		return &step.Waiting{Reason: infrav1.ReasonStarting, Message: "the VM " + id + " is being started", After: statePoll}
	case cloudstack.VMStopped, cloudstack.VMStopping:
		failed.Reason = infrav1.ReasonInstanceStopped
		failed.Message = fmt.Sprintf("the VM %s is %s and nobody here stopped it: start it, or delete the Machine to replace it", id, state)
	case cloudstack.VMDestroyed, cloudstack.VMExpunging:
		failed.Reason = infrav1.ReasonInstanceDestroyed
		failed.Message = fmt.Sprintf("the VM %s is %s: delete the Machine to replace it", id, state)
	case cloudstack.VMError:
		failed.Reason = infrav1.ReasonInstanceError
		failed.Message = fmt.Sprintf("CloudStack gave the VM %s up: delete the Machine to replace it", id)
	default:
		return &step.Waiting{Reason: infrav1.ReasonWaitingForJob, Message: fmt.Sprintf("CloudStack shows the VM %s as %s", id, state), After: statePoll}
	}
	return failed
}

// clear destroys a VM that could not be started, so that another can be tried.
func (r *Reconciler) clear(ctx context.Context, s *scope, ended *cloudstack.Outcome) error {
	reason, text := jobReason(ended), "CloudStack could not start the VM and gives no reason any more"
	if ended != nil && ended.Err != nil {
		text = ended.Err.Error()
	}
	if ended != nil || refusalOf(s.m.Status.Refusals, s.place.domain) == nil {
		s.refuse(reason)
	}
	message := fmt.Sprintf("the VM could not be started in %s: %s; it is destroyed before another try", s.place.domain, text)
	job, err := s.session.DestroyVM(ctx, s.vm.ID, cloudstack.DestroyOptions{})
	switch {
	case cloudstack.Is(err, cloudstack.NotFound):
		s.m.Status.InstanceID = ""
	case err != nil:
		return apiFailure("destroying the VM that could not be started", err)
	default:
		s.begin(infrav1.JobDestroy, string(job), s.vm.ID)
		r.follow(s)
	}
	return &step.Failed{Reason: reason, Message: message, After: ending.JobPoll}
}

// bringUp is for a new VM that does not run although no job of ours is open.
func (r *Reconciler) bringUp(ctx context.Context, s *scope, job *infrav1.JobReference, ended *cloudstack.Outcome) error {
	vm := s.vm
	lately := s.now.Sub(vm.Created) < r.options.Answer
	switch {
	case vm.Job != "" && (job == nil || job.ID != string(vm.Job)):
		s.begin(infrav1.JobDeploy, string(vm.Job), vm.ID)
		return s.stillAtIt()
	case vm.State.Removed():
		return s.fallen()
	case vm.State != cloudstack.VMStopped, ended == nil && lately:
		// The job of a deployment may show later than its VM.
		return &step.Waiting{Reason: infrav1.ReasonStarting, Message: fmt.Sprintf("CloudStack shows the VM as %s", vm.State), After: ending.AnswerPoll}
	}
	if failure := startFailure(job, ended); failure != nil {
		return failure
	}
	started, err := s.session.StartVM(ctx, vm.ID)
	if err != nil {
		return apiFailure("starting the VM", err)
	}
	s.begin(infrav1.JobStart, string(started), vm.ID)
	r.follow(s)
	return &step.Waiting{Reason: infrav1.ReasonStarting, Message: "the VM was created and not started; CloudStack starts it", After: ending.JobPoll}
}

// startFailure gives a start that failed a pause before the next.
func startFailure(job *infrav1.JobReference, ended *cloudstack.Outcome) error {
	if job == nil || job.Kind != infrav1.JobStart || ended == nil || ended.Err == nil {
		return nil
	}
	return &step.Failed{Reason: jobReason(ended), Message: "starting the VM: " + ended.Err.Error(), After: 2 * ending.JobPoll, Err: ended.Err}
}
