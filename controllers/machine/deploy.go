package machine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
)

// deploy makes one VM, after a complete listing has shown that there is none of ours.
// Before the call the intent is saved, in a write that fails if anybody else changed the object: of two managers one
// deploys, and one that was killed in the middle knows that a VM may turn up.
func (r *Reconciler) deploy(ctx context.Context, s *scope) error {
	if s.m.Status.InstanceID != "" || s.provisioned() {
		return nil
	}
	if err := r.findUnanswered(ctx, s); err != nil {
		return err
	}
	if err := r.rehouse(s); err != nil {
		return err
	}
	vm, err := r.newVM(ctx, s)
	if err != nil {
		return err
	}
	s.m.Status.Attempts++
	s.begin(infrav1.JobDeploy, unanswered, "")
	if err := s.saver.Status(ctx, s.m); err != nil {
		return err
	}
	id, job, err := s.session.DeployVM(ctx, vm)
	if err != nil {
		if cloudstack.Is(err, cloudstack.Conflict) {
			return r.rename(ctx, s, err)
		}
		return r.deployFailed(s, err)
	}
	s.m.Status.InstanceID = id
	s.begin(infrav1.JobDeploy, string(job), id)
	r.follow(s)
	return &step.Waiting{Reason: infrav1.ReasonDeploying, Message: "CloudStack creates the VM " + vm.Name, After: ending.JobPoll}
}

// findUnanswered looks for a VM that an earlier call made. One is taken, be it to be cleared away because it failed; of
// several that live none is.
func (r *Reconciler) findUnanswered(ctx context.Context, s *scope) error {
	since := s.m.CreationTimestamp.Time
	if s.m.Status.Attempts > 0 {
		since = lastTry(s.m.Status.Refusals)
		if job := s.m.Status.Job; job != nil || since.IsZero() {
			since = s.now
		}
	}
	found, err := s.session.VMsNamedSince(ctx, s.place.owner, s.place.zoneID, s.instanceName(), since)
	if err != nil {
		return apiFailure("looking for the VM", err)
	}
	if err := r.takeOurs(s, found); err != nil {
		return err
	}
	if age, open := s.intent(); open && age < r.options.Answer {
		return &step.Waiting{
			Reason: infrav1.ReasonDeploying, After: ending.AnswerPoll,
			Message: "a call to create the VM got no answer; looking for the VM before trying again",
		}
	}
	return nil
}

// takeOurs takes the one VM that carries our mark, or else one that failed. nil means that there is none.
func (r *Reconciler) takeOurs(s *scope, found []cloudstack.VM) error {
	var live, failed []cloudstack.VM
	for _, v := range found {
		switch {
		case !s.ours(v) || v.State.Removed():
		case v.State == cloudstack.VMError:
			failed = append(failed, v)
		default:
			live = append(live, v)
		}
	}
	switch {
	case len(live) > 1:
		return severalVMs(live)
	case len(live) == 1:
		return r.adopt(s, live[0])
	case len(failed) > 0:
		return r.adopt(s, failed[0])
	}
	return nil
}

func severalVMs(vms []cloudstack.VM) error {
	ids := make([]string, 0, len(vms))
	for _, v := range vms {
		ids = append(ids, v.ID)
	}
	return ending.Lacking(infrav1.ReasonInstanceAmbiguous, "%d VMs carry the mark of this machine (%s) and none is taken: destroy all but one, or delete the Machine",
		len(vms), strings.Join(ids, ", "))
}

// adopt records a VM and what CloudStack does with it, and ends the reconcile.
func (r *Reconciler) adopt(s *scope, v cloudstack.VM) error {
	s.m.Status.InstanceID = v.ID
	s.m.Status.Job = nil
	if v.Job != "" {
		s.begin(infrav1.JobDeploy, string(v.Job), v.ID)
	}
	return &step.Waiting{Reason: infrav1.ReasonDeploying, Message: "the VM " + v.ID + " of an earlier call is taken", After: ending.AtOnce}
}

// rehouse lets a machine rest after a refusal, or sends it to another failure domain if it is free to go there.
func (r *Reconciler) rehouse(s *scope) error {
	last := refusalOf(s.m.Status.Refusals, s.place.domain)
	if last == nil {
		return nil
	}
	if _, by := s.wanted(); by == "" && isPlaceReason(last.Reason) && s.now.Sub(last.At.Time) < refusalMemory {
		free := open(s.usable(), s.m.Status.Refusals, s.now)
		if len(free) > 0 && (len(free) > 1 || free[0] != s.place.domain) {
			message := fmt.Sprintf("the failure domain %s refused the machine (%s); another one is tried", s.place.domain, last.Reason)
			s.m.Status.Resolved, s.m.Status.FailureDomain, s.m.Status.Job = nil, "", nil
			return &step.Failed{Reason: last.Reason, Message: message, After: ending.AtOnce}
		}
	}
	if rest := pauseAfter(s.m.Status.Attempts) - s.now.Sub(lastTry(s.m.Status.Refusals)); rest > 0 {
		return &step.Failed{Reason: last.Reason, Message: s.standing(last.Reason), After: rest}
	}
	return nil
}

// standing is the message of a refusal while it lasts.
func (s *scope) standing(reason string) string {
	for _, c := range s.before.Status.Conditions {
		if c.Type == infrav1.ConditionInstanceReady && c.Reason == reason && c.Message != "" {
			return c.Message
		}
	}
	return fmt.Sprintf("the failure domain %s refused the machine; it is tried again", s.place.domain)
}

// newVM is what the VM is made with, marks included.
func (r *Reconciler) newVM(ctx context.Context, s *scope) (cloudstack.NewVM, error) {
	data, err := r.bootstrapData(ctx, s)
	if err != nil {
		return cloudstack.NewVM{}, err
	}
	res, spec := s.m.Status.Resolved, &s.m.Spec
	vm := cloudstack.NewVM{
		Owner: s.place.owner, Name: s.instanceName(), DisplayName: s.name(), ZoneID: res.ZoneID, OfferingID: res.OfferingID,
		TemplateID: res.TemplateID, RootDiskGiB: int64(res.RootDiskSizeGiB), DiskOfferingID: res.DiskOfferingID,
		UserData: data, SSHKey: spec.SSHKey, AffinityGroupIDs: res.AffinityGroupIDs, Details: map[string]string{},
	}
	if disk := spec.DataDisk(); disk != nil {
		vm.DiskGiB = disk.CustomSize
	}
	for _, n := range res.Networks {
		vm.Networks = append(vm.Networks, cloudstack.VMNetwork{ID: n.ID, IP: n.IP})
	}
	for key, value := range spec.Details {
		vm.Details[key] = string(value)
	}
	maps.Copy(vm.Details, map[string]string{
		infrav1.MarkOwner: s.identity(), infrav1.MarkCluster: s.clusterMark(), infrav1.MarkMachine: s.key.String(),
	})
	return vm, nil
}

// bootstrapData reads what the bootstrap provider made.
func (r *Reconciler) bootstrapData(ctx context.Context, s *scope) ([]byte, error) {
	if s.machine == nil || s.machine.Spec.Bootstrap.DataSecretName == nil {
		return nil, &step.Waiting{Reason: infrav1.ReasonWaitingForBootstrapData, Message: "the Machine names no bootstrap data"}
	}
	name := *s.machine.Spec.Bootstrap.DataSecretName
	secret := &corev1.Secret{}
	if err := r.live.Get(ctx, types.NamespacedName{Namespace: s.key.Namespace, Name: name}, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, &step.Failed{Reason: infrav1.ReasonWaitingForBootstrapData, Message: fmt.Sprintf("the Secret %s with the bootstrap data does not exist", name), After: statePoll}
		}
		return nil, fmt.Errorf("reading the bootstrap data: %w", err)
	}
	value, ok := secret.Data["value"]
	if !ok {
		return nil, &step.Failed{Reason: infrav1.ReasonWaitingForBootstrapData, Message: fmt.Sprintf("the Secret %s has no key value", name), After: statePoll}
	}
	data, err := userData(value, string(secret.Data["format"]), !isTrue(s.m.Spec.UncompressedUserData))
	if err != nil {
		return nil, err
	}
	if s.userData = encodedLength(data); s.userData > longestUserData {
		return nil, ending.Lacking(infrav1.ReasonUserDataTooLarge, "%s", tooLarge(s.userData, longestUserData))
	}
	return data, nil
}

// deployFailed decides by the kind of failure whether a VM may have come into being and when another try makes sense.
func (r *Reconciler) deployFailed(s *scope, err error) error {
	kind := cloudstack.KindOf(err)
	if kind == cloudstack.LostReply {
		// The intent stays in the status, counted from now, because the server may still be at it.
		s.begin(infrav1.JobDeploy, unanswered, "")
		return &step.Waiting{
			Reason: infrav1.ReasonDeploying, After: ending.AnswerPoll,
			Message: "a call to create the VM got no answer; looking for the VM before trying again",
		}
	}
	s.m.Status.Job = nil
	pause := pauseAfter(s.m.Status.Attempts)
	text := fmt.Sprintf("creating the VM in %s: %v", s.place.domain, err)
	switch kind {
	case cloudstack.Capacity, cloudstack.Quota, cloudstack.ZoneDisabled:
		s.refuse(reasons().Of(kind))
		return &step.Failed{Reason: reasons().Of(kind), Message: text, After: s.retryIn(pause), Err: err}
	case cloudstack.Internal:
		// A VM in Error may be left, and is looked for before the next try.
		s.refuse(infrav1.ReasonDeployFailed)
		return &step.Failed{Reason: infrav1.ReasonDeployFailed, Message: text + s.askedAddresses(), After: s.retryIn(pause), Err: err}
	case cloudstack.Invalid:
		if limit, ok := cloudstack.UserDataLimit(err); ok {
			return r.tooMuchUserData(s, limit)
		}
		s.refuse(infrav1.ReasonDeployRefused)
		return &step.Failed{Reason: infrav1.ReasonDeployRefused, Message: text, After: max(pause, ending.Slow), Err: err}
	case cloudstack.NotFound:
		// Something was removed since it was resolved.
		s.m.Status.Resolved = nil
		s.refuse(infrav1.ReasonDeployRefused)
		return &step.Failed{Reason: infrav1.ReasonDeployRefused, Message: text + "; what the machine needs is looked for again", After: pause, Err: err}
	}
	return refusals().Failure("creating the VM", err)
}

// askedAddresses is said after a failure whose cause CloudStack hides from all but administrators: an address that is taken, or
// in no range of its network, fails so.
func (s *scope) askedAddresses() string {
	var asked []string
	for _, n := range s.m.Spec.Networks {
		if n.IP != "" {
			asked = append(asked, n.IP)
		}
	}
	if len(asked) == 0 {
		return ""
	}
	return "; spec.networks asks for " + strings.Join(asked, ", ") + ": see that it is free and within its network"
}

// rename gives the machine another name when a VM that is not its own holds the present one. Such a VM may be destroyed and
// not expunged yet, which takes a day by default, and is shown to nobody but administrators. The name is saved before it is
// used.
func (r *Reconciler) rename(ctx context.Context, s *scope, err error) error {
	// The VM may be our own, of a call that got no answer.
	found, listErr := s.session.VMsNamedSince(ctx, s.place.owner, s.place.zoneID, s.instanceName(), s.now)
	if listErr != nil {
		return apiFailure("looking for the VM that holds the name", listErr)
	}
	s.m.Status.Job = nil
	if err := r.takeOurs(s, found); err != nil {
		if ending.IsFailure(err) {
			s.refuse(infrav1.ReasonNameTaken) // a deletion looks for all of them
		}
		return err
	}
	held, next := s.instanceName(), s.nextName()
	if next == "" {
		s.refuse(infrav1.ReasonNameTaken)
		return &step.Failed{Reason: infrav1.ReasonNameTaken, After: pauseAfter(s.m.Status.Attempts), Err: err, Message: fmt.Sprintf(
			"VMs that are not this machine's hold the name %s and %d others in the network; it is tried again", held, mostNames-1)}
	}
	s.m.Status.InstanceName = next
	why := fmt.Sprintf("another VM, perhaps one that is destroyed and not expunged yet, holds the name %s in the network", held)
	res := s.m.Status.Resolved
	res.Choices = slices.DeleteFunc(res.Choices, func(c infrav1.Choice) bool { return c.Subject == subjectName })
	res.Choices = append(res.Choices, infrav1.Choice{Subject: subjectName, Why: why})
	return &step.Waiting{Reason: infrav1.ReasonDeploying, Message: why + "; the VM is named " + next, After: ending.AtOnce}
}

// subjectName is what a choice of a name is recorded under.
const subjectName = "name"

// tooMuchUserData rests until somebody changed the limit; other bootstrap data come with another Machine.
func (r *Reconciler) tooMuchUserData(s *scope, limit int) error {
	s.refuse(infrav1.ReasonUserDataTooLarge)
	return &step.Failed{Reason: infrav1.ReasonUserDataTooLarge, Message: tooLarge(s.userData, limit), After: max(pauseAfter(s.m.Status.Attempts), ending.Slow)}
}

// retryIn is at once when another failure domain may take the machine.
func (s *scope) retryIn(pause time.Duration) time.Duration {
	if _, by := s.wanted(); by != "" || s.infra == nil {
		return pause
	}
	if free := open(s.usable(), s.m.Status.Refusals, s.now); len(free) > 0 && (len(free) > 1 || free[0] != s.place.domain) {
		return ending.AtOnce
	}
	return pause
}
