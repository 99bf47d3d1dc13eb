package image

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/imagecatalog/importer"
)

const pausedAnnotation = clusterv1.PausedAnnotation

// scope is what one reconcile knows.
type scope struct {
	key types.NamespacedName
	// img is changed by the phases; before is how it was read.
	img, before *infrav1.CloudStackImage
	saver       *kube.Saver[*infrav1.CloudStackImage]
	now         time.Time

	// session and owner are set by connect.
	session *cloudstack.Session
	owner   cloudstack.Owner
	// rows are the owner's templates in the zone, oldest first; set by survey.
	rows []cloudstack.Template
	// template is ours, or the one that is adopted.
	template *cloudstack.Template
	// adopted is set when template is not ours to delete.
	adopted bool
	// duplicates are ids of more templates with our mark.
	duplicates []string
	// result is a verified image; set by fetch.
	result *importer.Result
	// lost is the id of a template that vanished.
	lost string
	// inUse counts what keeps the template from being deleted.
	inUse int
	// judged is set when this reconcile found the image to fail.
	judged bool
	// kept is set when the template stays in CloudStack by policy.
	kept bool
	// released is set when the finalizer is gone.
	released bool
}

func newScope(c client.Client, img *infrav1.CloudStackImage, now time.Time) *scope {
	s := &scope{
		key: client.ObjectKeyFromObject(img), img: img, before: img.DeepCopy(), now: now,
		saver: kube.NewSaver(c, img, func(i *infrav1.CloudStackImage) any { return &i.Status }),
	}
	if s.specChanged() && resting(img) {
		// What failed under the old spec says nothing about the new one.
		img.Status.FailedDeliveries, img.Status.Attempts = nil, 0
		s.renew(infrav1.PhasePending)
	}
	return s
}

func (s *scope) deleting() bool { return !s.img.DeletionTimestamp.IsZero() }

func (s *scope) paused() bool {
	_, paused := s.img.Annotations[pausedAnnotation]
	return paused
}

// identity is the owner mark of the image; empty before it was written.
func (s *scope) identity() string { return s.img.Annotations[infrav1.AnnotationIdentity] }

// specChanged tells whether the spec is another than the one that the status describes.
func (s *scope) specChanged() bool { return s.before.Status.ObservedGeneration != s.img.Generation }

// enter records what is being done; the time stays while it is the same.
func (s *scope) enter(phase infrav1.ImagePhase) *infrav1.ImageProgress {
	p := s.img.Status.Progress
	if p == nil || p.Phase != phase {
		since := metav1.NewTime(s.now.Truncate(time.Second))
		p = &infrav1.ImageProgress{Phase: phase, Since: &since}
		s.img.Status.Progress = p
	}
	return p
}

// renew is enter with the time of now.
func (s *scope) renew(phase infrav1.ImagePhase) *infrav1.ImageProgress {
	s.img.Status.Progress = nil
	return s.enter(phase)
}

// in tells whether the image was in the phase before, and for how long.
func (s *scope) in(phase infrav1.ImagePhase) (time.Duration, bool) {
	p := s.img.Status.Progress
	if p == nil || p.Phase != phase || p.Since == nil {
		return 0, false
	}
	return s.now.Sub(p.Since.Time), true
}

// ours lists the rows that carry our mark and are not left over from a failed delivery, oldest first.
func (s *scope) ours() []cloudstack.Template { return s.marked(s.rows) }

func (s *scope) marked(rows []cloudstack.Template) []cloudstack.Template {
	var out []cloudstack.Template
	for _, t := range rows {
		if s.identity() != "" && t.Details[infrav1.MarkOwner] == s.identity() && !slices.Contains(s.img.Status.Leftovers, t.ID) {
			out = append(out, t)
		}
	}
	return out
}

func row(rows []cloudstack.Template, id string) *cloudstack.Template {
	for i := range rows {
		if rows[i].ID == id {
			return &rows[i]
		}
	}
	return nil
}
