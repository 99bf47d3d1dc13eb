package catalog

import (
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/imagecatalog"
)

const pausedAnnotation = clusterv1.PausedAnnotation

// scope is what one reconcile knows.
type scope struct {
	// catalog is changed by the phases; before is how it was read.
	catalog, before *infrav1.TemplateCatalog
	saver           *kube.Saver[*infrav1.TemplateCatalog]
	now             time.Time

	// images are the objects of the catalog, by name; set by readImages.
	images map[string]*infrav1.CloudStackImage
	// credentialsErr is why there are no credentials; set by checkCredentials.
	credentialsErr error
	// credentialsKnown is set when checkCredentials has run.
	credentialsKnown bool
	// zones are those of the catalog whose hypervisor is known; set by resolveHypervisors.
	zones []infrav1.CatalogZone
	// unresolved tells by zone why its hypervisor is not known.
	unresolved map[infrav1.ZoneReference]problem
	// planned is what to do; set by plan.
	planned imagecatalog.Plan
	// plannedAll is set when plan has run.
	plannedAll bool
	// applied and retired count the writes of this reconcile.
	applied, retired int
	// released is set when the finalizer is gone.
	released bool
}

// problem is what keeps a zone from being served.
type problem struct{ reason, message string }

func newScope(c client.Client, catalog *infrav1.TemplateCatalog, now time.Time) *scope {
	return &scope{
		catalog: catalog, before: catalog.DeepCopy(), now: now,
		saver: kube.NewSaver(c, catalog, func(t *infrav1.TemplateCatalog) any { return &t.Status }),
	}
}

func (s *scope) deleting() bool { return !s.catalog.DeletionTimestamp.IsZero() }

func (s *scope) paused() bool {
	_, paused := s.catalog.Annotations[pausedAnnotation]
	return paused
}

// movedAway says that the catalog is deleted here because it lives on in another cluster.
func (s *scope) movedAway() bool {
	_, moved := s.catalog.Annotations[infrav1.AnnotationDeleteForMove]
	return moved && s.deleting()
}
