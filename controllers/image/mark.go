package image

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/imagecatalog/artifact"
)

// mark repairs the owner mark: into the details if somebody replaced them, into the tags for people to read. An image is
// ready without its tags, so failures are only logged.
func (r *Reconciler) mark(ctx context.Context, s *scope) error {
	t := s.template
	if s.adopted {
		return nil
	}
	wanted := marks(s)
	missing := map[string]string{}
	for key, value := range wanted {
		if _, there := t.Tags[key]; !there && value != "" {
			missing[key] = value
		}
	}
	done := false
	r.memo(s.key, func(m *objectMemo) { done, m.tagged = m.tagged == t.ID, t.ID })
	if done || len(missing) == 0 {
		return nil
	}
	if _, err := s.session.TagTemplate(ctx, t.ID, missing); err != nil && !cloudstack.Is(err, cloudstack.NotPermitted) {
		ctrl.LoggerFrom(ctx).V(2).Info("Tagging the template failed", "templateID", t.ID, "cause", err.Error())
	}
	return nil
}

// remark writes the owner mark again on the recorded template, when its details have lost it.
func (r *Reconciler) remark(ctx context.Context, s *scope, t cloudstack.Template) error {
	if s.img.Status.Delivery == "" || t.Details[infrav1.MarkOwner] != "" {
		return nil
	}
	if err := s.session.UpdateDetails(ctx, s.owner, s.img.Status.ZoneID, t.ID, marks(s)); err != nil {
		return apiFailure("repairing the owner mark", err)
	}
	return nil
}

func digestOf(text string) (artifact.Digest, error) { return artifact.ParseDigest(text) }
