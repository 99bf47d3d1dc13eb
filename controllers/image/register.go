package image

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	// queuePoll is the pause before an image that waits for its turn looks again, should nobody wake it.
	queuePoll = 30 * time.Second
	// firstLook is the time after which the storage VM gives its first report.
	firstLook = 3 * time.Second
	// serveLife is how long CloudStack may take to begin a download from the manager.
	serveLife = 24 * time.Hour
	// maxLeftovers is how many failed templates may wait for their deletion before no more are made.
	maxLeftovers = 12
)

// admit tells whether the zone takes a template of the hypervisor. Without a host of it CloudStack would accept the
// template and then show it to nobody.
func (r *Reconciler) admit(ctx context.Context, s *scope) error {
	zone, err := s.session.FindZone(ctx, s.img.Status.ZoneID, "")
	if err != nil {
		return searchFailure(infrav1.ReasonZoneNotFound, "finding the zone", err)
	}
	if !zone.Enabled {
		return &step.Failed{
			Reason: infrav1.ReasonZoneDisabled, After: ending.Slow, Message: fmt.Sprintf("the zone %s is disabled", zone.Name),
		}
	}
	there, err := s.session.HypervisorsIn(ctx, zone.ID)
	if err != nil {
		return apiFailure("listing the hypervisors of the zone", err)
	}
	if !slices.ContainsFunc(there, func(h string) bool { return strings.EqualFold(h, string(s.img.Status.Hypervisor)) }) {
		return notInZone(s.img.Status.Hypervisor, there)
	}
	return nil
}

// register makes one template, after a complete listing by its name has shown that there is none of ours.
// Before the call the intent is saved, in a write that fails if anybody else changed the object: of two managers one
// registers, and one that was killed in the middle knows that a template may turn up.
func (r *Reconciler) register(ctx context.Context, s *scope) error {
	if s.template != nil {
		return nil
	}
	if err := r.admit(ctx, s); err != nil {
		return err
	}
	if err := r.awaitRoom(s); err != nil {
		return err
	}
	if err := r.findUnanswered(ctx, s); err != nil || s.template != nil {
		return err
	}
	source, err := r.route(ctx, s)
	if err != nil {
		return err
	}
	s.renew(infrav1.PhaseRegistering)
	if err := s.saver.Status(ctx, s.img); err != nil {
		return err
	}
	if s.img.Status.Delivery == infrav1.DeliveryUpload {
		return r.prepareUpload(ctx, s)
	}
	return r.registerByURL(ctx, s, source)
}

// findUnanswered looks for a template that an earlier call made. Rows that wait for an upload cannot be used again: the
// address for it was told only once.
func (r *Reconciler) findUnanswered(ctx context.Context, s *scope) error {
	rows, err := s.session.Templates(ctx, cloudstack.TemplateQuery{
		Owner: s.owner, ZoneID: s.img.Status.ZoneID, Name: templateName(s.img),
	})
	if err != nil {
		return apiFailure("looking for the template", err)
	}
	for _, t := range s.marked(rows) {
		if t.State.Stage.Upload() {
			s.leave(t.ID)
			continue
		}
		if s.template == nil {
			s.take(t)
			continue
		}
		s.duplicates = append(s.duplicates, t.ID)
	}
	if s.template != nil {
		s.enter(infrav1.PhaseDownloading)
		return nil
	}
	if since, unanswered := s.in(infrav1.PhaseRegistering); unanswered && since < r.options.Deadlines.Answer {
		return &step.Waiting{
			Reason: infrav1.ReasonRegistering, After: ending.AnswerPoll,
			Message: "a call to register the template got no answer; looking for the template before trying again",
		}
	}
	return nil
}

// leave puts a template aside until CloudStack lets us delete it.
func (s *scope) leave(id string) {
	if !slices.Contains(s.img.Status.Leftovers, id) {
		s.img.Status.Leftovers = append(s.img.Status.Leftovers, id)
	}
}

// awaitRoom waits until few enough templates are on their way into the zone.
func (r *Reconciler) awaitRoom(s *scope) error {
	if len(s.img.Status.Leftovers) >= maxLeftovers {
		s.enter(infrav1.PhasePending)
		return &step.Failed{
			Reason: infrav1.ReasonInstallFailed, After: pauseSlow,
			Message: fmt.Sprintf("%d failed templates wait to be deleted before another is made", len(s.img.Status.Leftovers)),
		}
	}
	if r.enterZone(s.key, s.img.Status.ZoneID, s.now) {
		return nil
	}
	if _, unanswered := s.in(infrav1.PhaseRegistering); !unanswered {
		s.enter(infrav1.PhasePending)
	}
	return &step.Waiting{Reason: infrav1.ReasonQueued, Message: "other templates are on their way into the zone", After: queuePoll}
}

// route chooses the mode of delivery and gives the URL for CloudStack, if there is one.
func (r *Reconciler) route(ctx context.Context, s *scope) (string, error) {
	st := &s.img.Status
	version, err := s.session.Version(ctx)
	if err != nil && !cloudstack.Is(err, cloudstack.NotPermitted) {
		return "", apiFailure("asking for the version of CloudStack", err)
	}
	m := r.meansFor(ctx, s.img, *s.result, version)
	mode, why := chooseDelivery(s.img.Spec.Delivery.Mode, st.FailedDeliveries, m)
	if mode == "" {
		r.leaveZone(s.key)
		st.FailedDeliveries = nil
		return "", s.fail(infrav1.ReasonDeliveryImpossible, why, nil)
	}
	if err := r.preflight(ctx, s, mode); err != nil {
		return "", err
	}
	if mode == infrav1.DeliveryUpload && !r.uploads.Idle() {
		r.leaveZone(s.key)
		s.enter(infrav1.PhasePending)
		return "", &step.Waiting{Reason: infrav1.ReasonQueued, Message: "other images are being uploaded", After: queuePoll}
	}
	st.Delivery = mode
	if mode == infrav1.DeliveryPull {
		return m.pull, nil
	}
	if err := r.lease(s.key, s.result.ContentDigest); err != nil {
		// The blob was collected since it was verified: the next try brings it back.
		r.imports.Cancel(s.key)
		r.leaveZone(s.key)
		return "", fmt.Errorf("keeping the content: %w", err)
	}
	if mode == infrav1.DeliveryUpload {
		return "", nil
	}
	return r.serveURL(s)
}

// preflight tells in one message which API commands the account lacks, before anything is made.
func (r *Reconciler) preflight(ctx context.Context, s *scope, mode infrav1.DeliveryMode) error {
	needed := []string{"registerTemplate"}
	if mode == infrav1.DeliveryUpload {
		needed = []string{"getUploadParamsForTemplate"}
	}
	needed = append(needed, "deleteTemplate", "queryAsyncJobResult")
	missing, err := s.session.Missing(ctx, needed...)
	if err != nil {
		return apiFailure("asking for the permitted API commands", err)
	}
	if len(missing) == 0 {
		return nil
	}
	s.session.RecheckPermissions(missing...)
	r.leaveZone(s.key)
	return s.fail(infrav1.ReasonNotPermitted, "the role of the account does not allow: "+strings.Join(missing, ", "), nil)
}

// serveURL makes an address at which CloudStack gets the content from the manager.
func (r *Reconciler) serveURL(s *scope) (string, error) {
	address, err := r.options.ServeURL(s.result.ContentDigest, s.result.Format.Suffix(), s.now.Add(serveLife))
	if err != nil {
		r.leaveZone(s.key)
		return "", fmt.Errorf("making an address for the content: %w", err)
	}
	return address, nil
}

// lease keeps a blob from being collected until leaveZone.
func (r *Reconciler) lease(key types.NamespacedName, digest artifact.Digest) error {
	l, err := r.options.Importer.Lease(digest)
	if err != nil {
		return err
	}
	r.memo(key, func(m *objectMemo) {
		m.releaseLease()
		m.lease = l
	})
	return nil
}

func (r *Reconciler) registerByURL(ctx context.Context, s *scope, source string) error {
	checksum := s.result.DownloadDigest.Braced()
	if s.img.Status.Delivery == infrav1.DeliveryServe {
		checksum = s.result.ContentDigest.Braced()
	}
	t, err := s.session.RegisterTemplate(ctx, newTemplate(s), source, checksum)
	if err != nil {
		return r.registrationFailed(s, err)
	}
	s.img.Status.TemplateID, s.img.Status.TemplateName = t.ID, t.Name
	s.enter(infrav1.PhaseDownloading)
	return &step.Waiting{Reason: infrav1.ReasonDownloading, Message: "CloudStack downloads the template", After: firstLook}
}

// registrationFailed decides by the kind of failure whether a template may have come into being.
func (r *Reconciler) registrationFailed(s *scope, err error) error {
	kind := cloudstack.KindOf(err)
	if kind == cloudstack.LostReply {
		// The intent stays in the status, counted from now, because the server may still be at it.
		s.renew(infrav1.PhaseRegistering)
		return &step.Waiting{
			Reason: infrav1.ReasonRegistering, After: ending.AnswerPoll,
			Message: "a call to register the template got no answer; looking for the template before trying again",
		}
	}
	s.renew(infrav1.PhasePending)
	r.leaveZone(s.key)
	r.metrics.failed(reasons().Of(kind))
	switch kind {
	case cloudstack.Quota, cloudstack.NotPermitted, cloudstack.Forbidden, cloudstack.ZoneDisabled:
		return s.fail(reasons().Of(kind), "registering the template: "+err.Error(), err)
	case cloudstack.Invalid:
		return r.followUp(s, verdict{reason: infrav1.ReasonDeliveryImpossible, ofMode: true}, err.Error())
	}
	return apiFailure("registering the template", err)
}

// followUp goes on with the next mode of delivery when the fault lies in the mode and the user left the choice to us.
func (r *Reconciler) followUp(s *scope, v verdict, message string) error {
	st := &s.img.Status
	mode := st.Delivery
	r.imports.Cancel(s.key)
	r.metrics.failed(v.reason)
	if !v.ofMode || s.img.Spec.Delivery.Mode != infrav1.DeliveryAuto || mode == infrav1.DeliveryUpload {
		return s.fail(v.reason, fmt.Sprintf("delivery by %s failed: %s", mode, message), nil)
	}
	if !slices.Contains(st.FailedDeliveries, mode) {
		st.FailedDeliveries = append(st.FailedDeliveries, mode)
	}
	s.renew(infrav1.PhasePending)
	return &step.Waiting{
		Reason: infrav1.ReasonRegistering, After: time.Millisecond,
		Message: fmt.Sprintf("delivery by %s failed (%s): %s; the next mode is tried", mode, v.reason, message),
	}
}

// newTemplate is what the template is registered with, marks included.
func newTemplate(s *scope) cloudstack.NewTemplate {
	img, opts := s.img, s.img.Spec.Template
	details := map[string]string{}
	for key, value := range opts.Details {
		details[key] = string(value)
	}
	maps.Copy(details, marks(s))
	return cloudstack.NewTemplate{
		Owner: s.owner, Name: templateName(img), DisplayText: displayText(img), ZoneID: img.Status.ZoneID,
		Hypervisor: string(img.Status.Hypervisor), Format: string(img.Status.Format), OSTypeID: img.Status.OSTypeID,
		Arch: string(img.Spec.Arch), Details: details,
		Public:   opts.Visibility == infrav1.VisibilityPublic || opts.Visibility == infrav1.VisibilityFeatured,
		Featured: opts.Visibility == infrav1.VisibilityFeatured, PasswordEnabled: opts.PasswordEnabled,
		SSHKeyEnabled: opts.SSHKeyEnabled, DynamicallyScalable: opts.DynamicallyScalable,
		RequiresHVM: opts.RequiresHVM == nil || *opts.RequiresHVM, Extractable: opts.Extractable,
	}
}

// marks are the details by which the template is known again.
func marks(s *scope) map[string]string {
	st := s.img.Status
	return map[string]string{
		infrav1.MarkOwner:             s.identity(),
		infrav1.MarkImage:             s.key.String(),
		infrav1.MarkContentDigest:     st.ContentDigest,
		infrav1.MarkDownloadDigest:    st.DownloadDigest,
		infrav1.MarkKubernetesVersion: string(s.img.Spec.KubernetesVersion),
	}
}

// templateName is the same for every try of one image and for no other image: it ends in parts of the content's digest
// and of the identity.
func templateName(img *infrav1.CloudStackImage) string {
	digest := strings.TrimPrefix(img.Status.ContentDigest, "sha256:")
	identity := strings.ReplaceAll(img.Annotations[infrav1.AnnotationIdentity], "-", "")
	return fmt.Sprintf("%s-%s-%s-%s", img.Spec.OS, img.Spec.KubernetesVersion, digest[:min(12, len(digest))], identity[:min(12, len(identity))])
}

func displayText(img *infrav1.CloudStackImage) string {
	return fmt.Sprintf("%s, Kubernetes %s, %s", img.Spec.OS, img.Spec.KubernetesVersion, img.Spec.Arch)
}
