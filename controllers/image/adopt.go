package image

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
	"github.com/capcat/capcat/controllers/internal/task"
)

// surveyAge is how old the listing of templates may be that all images of a zone share.
const surveyAge = 5 * time.Second

// survey lists the owner's templates in the zone.
func (r *Reconciler) survey(ctx context.Context, s *scope) error {
	if s.session == nil {
		return nil
	}
	age := surveyAge
	if s.img.Status.TemplateID == "" {
		// What was there before the object must not be missed: the listing has to be younger than our first look at it.
		r.memo(s.key, func(m *objectMemo) { age = min(age, s.now.Sub(m.firstSeen)) })
	}
	rows, err := s.session.RecentTemplates(ctx, s.owner, s.img.Status.ZoneID, age)
	if err != nil {
		return apiFailure("listing the templates", err)
	}
	s.rows = rows
	return nil
}

// adopt finds the template that is recorded, or one with our mark, or one that another life of this very image made.
func (r *Reconciler) adopt(ctx context.Context, s *scope) error {
	if id := s.img.Status.TemplateID; id != "" {
		return r.findRecorded(ctx, s, id)
	}
	for _, t := range s.ours() {
		if t.State.Stage.Upload() && r.uploads.State(s.key).Phase == task.Absent {
			// Its id was never saved, so nothing was sent to it, and its address is lost.
			s.leave(t.ID)
			continue
		}
		s.take(t)
		return nil
	}
	return s.adoptEarlier()
}

// findRecorded looks at the template whose id is in the status. It is lost only if a fresh look by its id does not show
// it either, and if it is not merely hidden: CloudStack hides templates whose hypervisor no host has.
func (r *Reconciler) findRecorded(ctx context.Context, s *scope, id string) error {
	found := row(s.rows, id)
	if found == nil {
		t, err := s.session.FindTemplate(ctx, s.owner, s.img.Status.ZoneID, id)
		switch {
		case cloudstack.Is(err, cloudstack.NotFound):
			return r.lose(ctx, s, id)
		case err != nil:
			return apiFailure("looking at the template", err)
		}
		found = &t
	}
	if err := r.remark(ctx, s, *found); err != nil {
		return err
	}
	s.take(*found)
	return nil
}

func (r *Reconciler) lose(ctx context.Context, s *scope, id string) error {
	if err := r.admit(ctx, s); err != nil {
		return err
	}
	s.lost = id
	st := &s.img.Status
	st.TemplateID, st.TemplateName, st.Delivery, st.FailedDeliveries = "", "", "", nil
	s.enter(infrav1.PhasePending)
	if found := s.ours(); len(found) > 0 {
		s.take(found[0])
	}
	return nil
}

// take makes a template the one of this image and notes others that carry our mark too.
func (s *scope) take(t cloudstack.Template) {
	s.template = &t
	s.adopted = t.Details[infrav1.MarkOwner] != s.identity() && s.img.Status.Delivery == ""
	s.img.Status.TemplateID, s.img.Status.TemplateName = t.ID, t.Name
	s.restore(t)
	s.duplicates = nil
	for _, other := range s.ours() {
		if other.ID != t.ID {
			s.duplicates = append(s.duplicates, other.ID)
		}
	}
}

// restore takes over from the marks of our own template what a status has lost, which clusterctl move does not carry along.
func (s *scope) restore(t cloudstack.Template) {
	st := &s.img.Status
	if s.adopted || st.ContentDigest != "" {
		return
	}
	st.ContentDigest, st.DownloadDigest = t.Details[infrav1.MarkContentDigest], t.Details[infrav1.MarkDownloadDigest]
	st.Format = formatOf(t.Format)
}

// adoptEarlier takes a ready template that an image of the same namespace and name made before, when the digest proves
// that the content is the same: the catalog was deleted with its templates retained, or the management cluster was lost.
// The mark stays as it is, so such a template is used and never deleted by us.
func (s *scope) adoptEarlier() error {
	for _, t := range s.rows {
		if t.Ready && t.Details[infrav1.MarkImage] == s.key.String() && s.sameContent(t) &&
			strings.EqualFold(t.Hypervisor, string(s.img.Status.Hypervisor)) && !slices.Contains(s.img.Status.Leftovers, t.ID) {
			s.take(t)
			s.img.Status.DownloadDigest = t.Details[infrav1.MarkDownloadDigest]
			s.img.Status.ContentDigest = t.Details[infrav1.MarkContentDigest]
			s.img.Status.Format = formatOf(t.Format)
			if t.SizeBytes > 0 {
				s.img.Status.VirtualSizeBytes = t.SizeBytes
			}
			return nil
		}
	}
	return nil
}

func (s *scope) sameContent(t cloudstack.Template) bool {
	content, download := t.Details[infrav1.MarkContentDigest], t.Details[infrav1.MarkDownloadDigest]
	if known := s.img.Status.ContentDigest; known != "" {
		return content == known
	}
	c := s.img.Spec.Source.Checksum
	return c.Algorithm == "sha256" && c.Value != "" && download == "sha256:"+strings.ToLower(c.Value)
}

// adoptNamed finds the template that the user named. It is used as it is.
func (r *Reconciler) adoptNamed(ctx context.Context, s *scope) error {
	st, ref := &s.img.Status, s.img.Spec.ExistingTemplate
	id := ref.ID
	if id == "" {
		rows, err := s.session.Templates(ctx, cloudstack.TemplateQuery{Owner: s.owner, ZoneID: st.ZoneID, Name: ref.Name})
		if err != nil {
			return apiFailure("listing the templates", err)
		}
		if id, err = onlyOne(rows, ref.Name); err != nil {
			return err
		}
	}
	t, err := s.session.FindTemplate(ctx, s.owner, st.ZoneID, id)
	if err != nil {
		return searchFailure(infrav1.ReasonTemplateNotFound, "finding the template", err)
	}
	if !strings.EqualFold(t.Hypervisor, string(st.Hypervisor)) {
		return &step.Failed{
			Reason: infrav1.ReasonInvalidSpec, After: pauseSlow,
			Message: fmt.Sprintf("the template %s is for %s, not for %s", t.ID, t.Hypervisor, st.Hypervisor),
		}
	}
	s.take(t)
	s.adopted, s.duplicates = true, nil
	st.Format = formatOf(t.Format)
	st.VirtualSizeBytes = max(t.SizeBytes, 0)
	if !t.Ready {
		s.enter(infrav1.PhasePending)
		return &step.Waiting{Reason: infrav1.ReasonInstalling, Message: "the template is not ready in CloudStack", After: time.Minute}
	}
	return nil
}

func onlyOne(rows []cloudstack.Template, name string) (string, error) {
	var ids []string
	for _, t := range rows {
		ids = append(ids, t.ID)
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		return "", &step.Failed{
			Reason: infrav1.ReasonTemplateNotFound, After: ending.Slow,
			Message: fmt.Sprintf("the owner has no template named %q in the zone", name),
		}
	}
	return "", &step.Failed{
		Reason: infrav1.ReasonTemplateAmbiguous, After: pauseSlow,
		Message: fmt.Sprintf("%d templates are named %q (%s): give the id", len(ids), name, strings.Join(ids, ", ")),
	}
}

// formatOf keeps only formats that the API knows.
func formatOf(name string) infrav1.Format {
	switch f := infrav1.Format(strings.ToUpper(name)); f {
	case infrav1.FormatQCOW2, infrav1.FormatRAW, infrav1.FormatVHD, infrav1.FormatOVA:
		return f
	}
	return ""
}
