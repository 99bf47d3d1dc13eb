package image

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/controllers/internal/step"
)

// connect opens the session and finds the owner.
func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	config, err := r.credentials.Config(ctx, s.img.Namespace, s.img.Spec.IdentityRef)
	if err != nil {
		return ending.Credentials(err)
	}
	if s.session, err = r.options.Sessions.For(ctx, config); err != nil {
		return ending.Session(err)
	}
	o := s.img.Spec.Owner
	s.owner, err = s.session.FindOwner(ctx, cloudstack.OwnerName{Project: o.Project, Domain: o.Domain, Account: o.Account})
	if err != nil {
		return searchFailure(infrav1.ReasonOwnerNotFound, "finding the owner", err)
	}
	return nil
}

// resolve turns names into ids and saves them together with the finalizer and the identity, then ends the reconcile: no
// finalizer or no ids proves that nothing was made in CloudStack.
func (r *Reconciler) resolve(ctx context.Context, s *scope) error {
	st := &s.img.Status
	settled := st.ContentDigest != "" || st.TemplateID != ""
	if !settled || st.ZoneID == "" || st.Hypervisor == "" {
		if err := r.resolveIDs(ctx, s); err != nil {
			return err
		}
	}
	if st.OSTypeID == "" && s.img.Spec.Source != nil {
		osType, err := findOSType(ctx, s.session, s.img.Spec.Template.OSType)
		if err != nil {
			return searchFailure(infrav1.ReasonOSTypeNotFound, "finding the OS type", err)
		}
		st.OSTypeID = osType.ID
	}
	if s.identity() != "" && controllerutil.ContainsFinalizer(s.img, infrav1.FinalizerImage) &&
		st.ZoneID == s.before.Status.ZoneID && st.Hypervisor == s.before.Status.Hypervisor && st.OSTypeID == s.before.Status.OSTypeID {
		return nil
	}
	kube.Claim(s.img, infrav1.FinalizerImage)
	s.enter(infrav1.PhasePending)
	return &step.Waiting{Reason: infrav1.ReasonResolving, Message: "zone, hypervisor and OS type are known", After: time.Millisecond}
}

func (r *Reconciler) resolveIDs(ctx context.Context, s *scope) error {
	st, spec := &s.img.Status, s.img.Spec
	if s.specChanged() {
		st.OSTypeID = ""
	}
	if err := s.findZone(ctx); err != nil {
		return err
	}
	there, err := s.session.HypervisorsIn(ctx, st.ZoneID)
	if err != nil {
		return apiFailure("listing the hypervisors of the zone", err)
	}
	st.Hypervisor, err = chooseHypervisor(spec.Hypervisor, there)
	return err
}

// findZone finds the zone that the spec names.
func (s *scope) findZone(ctx context.Context) error {
	zone, err := s.session.FindZone(ctx, s.img.Spec.Zone.ID, s.img.Spec.Zone.Name)
	if err != nil {
		return searchFailure(infrav1.ReasonZoneNotFound, "finding the zone", err)
	}
	s.img.Status.ZoneID = zone.ID
	return nil
}

// chooseHypervisor takes the wanted hypervisor if the zone has it, or the zone's only one.
func chooseHypervisor(wanted infrav1.Hypervisor, there []string) (infrav1.Hypervisor, error) {
	known := []infrav1.Hypervisor{
		infrav1.HypervisorKVM, infrav1.HypervisorVMware, infrav1.HypervisorXenServer, infrav1.HypervisorSimulator,
	}
	var usable []infrav1.Hypervisor
	for _, h := range known {
		if slices.ContainsFunc(there, func(name string) bool { return strings.EqualFold(name, string(h)) }) {
			usable = append(usable, h)
		}
	}
	switch {
	case wanted != "" && slices.Contains(usable, wanted):
		return wanted, nil
	case wanted != "":
		return "", notInZone(wanted, there)
	case len(usable) == 1:
		return usable[0], nil
	case len(usable) == 0:
		return "", &step.Failed{
			Reason: infrav1.ReasonHypervisorNotInZone, After: pauseSlow,
			Message: "no host of the zone has a hypervisor that images can be made for; the zone has: " + orNone(there),
		}
	}
	return "", &step.Failed{
		Reason: infrav1.ReasonHypervisorAmbiguous, After: pauseSlow,
		Message: fmt.Sprintf("the zone has several hypervisors (%s): set spec.hypervisor", strings.Join(there, ", ")),
	}
}

func notInZone(wanted infrav1.Hypervisor, there []string) error {
	return &step.Failed{
		Reason: infrav1.ReasonHypervisorNotInZone, After: pauseSlow,
		Message: fmt.Sprintf("no host of the zone has the hypervisor %s; the zone has: %s", wanted, orNone(there)),
	}
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// genericOSTypes are taken in this order when the spec names no OS type.
func genericOSTypes() []string { return []string{"Other Linux (64-bit)", "Other (64-bit)", "Other"} }

func findOSType(ctx context.Context, session *cloudstack.Session, name string) (cloudstack.OSType, error) {
	if name != "" {
		return session.FindOSType(ctx, name)
	}
	var osType cloudstack.OSType
	var err error
	for _, generic := range genericOSTypes() {
		if osType, err = session.FindOSType(ctx, generic); !cloudstack.Is(err, cloudstack.NotFound) {
			return osType, err
		}
	}
	return osType, err
}
