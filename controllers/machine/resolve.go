package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
)

// resolve decides what the machine is and saves it together with the finalizer and the identity, then ends the reconcile:
// nothing resolved proves that nothing was made in CloudStack.
func (r *Reconciler) resolve(ctx context.Context, s *scope) error {
	if !s.begun() && s.before.Status.ObservedGeneration != s.m.Generation {
		s.m.Status.Resolved, s.m.Status.Refusals = nil, nil
	}
	switch {
	case s.m.Status.Resolved != nil && s.owned():
		s.place = placeOf(s.m.Status.Resolved)
		return r.open(ctx, s)
	case s.m.Status.InstanceID != "" || s.provisioned():
		return r.locate(ctx, s)
	}
	domain, why, err := r.chooseDomain(ctx, s)
	if err != nil {
		return err
	}
	if err := r.placeIn(ctx, s, domain); err != nil {
		return err
	}
	res, err := r.decide(ctx, s)
	if err != nil {
		return err
	}
	res.Choices = append([]infrav1.Choice{{Subject: "failureDomain", Why: why}}, res.Choices...)
	s.m.Status.Resolved, s.m.Status.FailureDomain, s.m.Status.InstanceName = res, domain, s.instanceName()
	s.own()
	return &step.Waiting{Reason: infrav1.ReasonResolving, Message: "everything is found", After: ending.AtOnce}
}

// owned tells whether finalizer and identity are saved.
func (s *scope) owned() bool {
	return s.identity() != "" && controllerutil.ContainsFinalizer(s.m, infrav1.FinalizerMachine)
}

// own sets finalizer and identity.
func (s *scope) own() { kube.Claim(s.m, infrav1.FinalizerMachine) }

// decide chooses everything that the VM is made of.
func (r *Reconciler) decide(ctx context.Context, s *scope) (*infrav1.ResolvedMachine, error) {
	image, err := r.chooseImage(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := r.awaitAllZones(ctx, s); err != nil {
		return nil, err
	}
	offering, why, err := r.chooseOffering(ctx, s, image.version)
	if err != nil {
		return nil, err
	}
	if err := s.checkRootDisk(image, offering); err != nil {
		return nil, err
	}
	s.warnings = append(s.warnings, image.warnings...)
	subject := "image"
	if s.m.Spec.Template != nil {
		subject = "template"
	}
	res := &infrav1.ResolvedMachine{
		FailureDomain: s.place.domain, IdentityRef: s.place.identity, ZoneID: s.place.zoneID, Hypervisor: image.hypervisor,
		Owner:      infrav1.ResolvedOwner{ProjectID: s.place.owner.ProjectID, DomainID: s.place.owner.DomainID, Account: s.place.owner.Account},
		TemplateID: image.templateID, TemplateName: image.templateName, ImageRef: image.ref, KubernetesVersion: image.version,
		OS: image.os, Arch: image.arch, OfferingID: offering.ID, OfferingName: offering.Name, RootDiskSizeGiB: s.m.Spec.RootDiskSizeGiB,
		Choices: []infrav1.Choice{{Subject: subject, Why: image.why}, {Subject: "offering", Why: why}},
	}
	return res, s.decideRest(ctx, res)
}

// decideRest chooses disks, networks, keys and affinity.
func (s *scope) decideRest(ctx context.Context, res *infrav1.ResolvedMachine) error {
	if ref := s.m.Spec.DataDisk(); ref != nil {
		disk, err := s.chooseDisk(ctx)
		if err != nil {
			return err
		}
		res.DiskOfferingID = disk.ID
		res.Choices = append(res.Choices, infrav1.Choice{Subject: "diskOffering", Why: fmt.Sprintf("the only one %s", askedFor(ref.ID, disk.Name))})
	}
	networks, why, err := s.chooseNetworks(ctx)
	if err != nil {
		return err
	}
	res.Networks = networks
	res.Choices = append(res.Choices, infrav1.Choice{Subject: "networks", Why: why})
	if err := s.checkKey(ctx); err != nil {
		return err
	}
	return s.chooseAffinity(ctx, res)
}

// locate finds a VM again whose machine lost its status, as clusterctl move makes it, and resolves the machine as well as
// it can: a VM runs on whatever became of its template and its offering.
func (r *Reconciler) locate(ctx context.Context, s *scope) error {
	id, err := s.recordedID()
	if err != nil {
		return ending.Lacking(infrav1.ReasonInvalidSpec, "spec.providerID: %v", err)
	}
	vm, err := r.seek(ctx, s, id)
	if err != nil {
		return err
	}
	if vm == nil {
		s.lost = true
		return ending.Lacking(infrav1.ReasonInstanceLost, "no failure domain of the cluster shows the VM %s: it was destroyed or is somebody else's", id)
	}
	if !s.ours(*vm) && (s.identity() != "" || vm.Details[infrav1.MarkOwner] != "") {
		return ending.Lacking(infrav1.ReasonInstanceAmbiguous, "the VM %s carries the mark of another owner: spec.providerID is wrong", id)
	}
	s.m.Status.InstanceID, s.m.Status.InstanceName, s.m.Status.FailureDomain = vm.ID, vm.Name, s.place.domain
	if s.identity() == "" {
		return nil // it was made by somebody else, and is not ours to delete
	}
	res, err := r.decide(ctx, s)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(2).Info("What the machine was made of is not found again", "cause", err.Error())
		s.own()
		return nil
	}
	res.Choices = append([]infrav1.Choice{{Subject: "failureDomain", Why: "the VM is there"}}, res.Choices...)
	believe(res, *vm)
	s.m.Status.Resolved = res
	if s.owned() {
		return nil
	}
	s.own()
	return &step.Waiting{Reason: infrav1.ReasonResolving, Message: "the VM is found again", After: ending.AtOnce}
}

// believe takes template and offering from the VM where others would be chosen by now. Of an image that is not the VM's nothing
// stays.
func believe(res *infrav1.ResolvedMachine, vm cloudstack.VM) {
	const why = "the VM was made of it"
	made := func(subject string) {
		res.Choices = slices.DeleteFunc(res.Choices, func(c infrav1.Choice) bool { return c.Subject == subject })
		res.Choices = append(res.Choices, infrav1.Choice{Subject: subject, Why: why})
	}
	if vm.TemplateID != "" && vm.TemplateID != res.TemplateID {
		res.TemplateID, res.TemplateName, res.ImageRef, res.OS, res.Arch = vm.TemplateID, vm.TemplateName, "", "", ""
		res.Choices = slices.DeleteFunc(res.Choices, func(c infrav1.Choice) bool { return c.Subject == "image" })
		made("template")
	}
	if vm.OfferingID != "" && vm.OfferingID != res.OfferingID {
		res.OfferingID, res.OfferingName = vm.OfferingID, vm.OfferingName
		made("offering")
	}
}

// recordedID is the id of the VM in status or spec; empty when there is none.
func (s *scope) recordedID() (string, error) {
	if s.m.Status.InstanceID != "" || !s.provisioned() {
		return s.m.Status.InstanceID, nil
	}
	return infrav1.ParseProviderID(s.m.Spec.ProviderID)
}

// seek looks for a VM in all failure domains of the cluster, where it should be first. nil means that it is in none; the
// place is then the last that was asked.
func (r *Reconciler) seek(ctx context.Context, s *scope, id string) (*cloudstack.VM, error) {
	for _, domain := range s.searched() {
		if err := r.placeIn(ctx, s, domain); err != nil {
			return nil, err
		}
		vm, err := s.session.FindVM(ctx, s.place.owner, id)
		switch {
		case err == nil:
			return &vm, nil
		case !cloudstack.Is(err, cloudstack.NotFound) && !cloudstack.Is(err, cloudstack.Forbidden):
			return nil, apiFailure("looking for the VM", err)
		}
	}
	return nil, nil
}

// searched are the failure domains in which a VM may be, the likeliest first.
func (s *scope) searched() []string {
	if s.infra == nil {
		return nil
	}
	wanted, _ := s.wanted()
	likely := s.m.Status.FailureDomain
	if s.machine != nil {
		likely = cmp.Or(likely, s.machine.Status.FailureDomain)
	}
	likely = cmp.Or(likely, wanted)
	var names []string
	for _, c := range candidates(s.infra) {
		names = append(names, c.name)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(unlike(a, likely), unlike(b, likely)) })
	return names
}

// unlike is 0 for the name that is wanted.
func unlike(name, wanted string) int {
	if name == wanted {
		return 0
	}
	return 1
}
