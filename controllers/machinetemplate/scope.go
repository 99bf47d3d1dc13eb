package machinetemplate

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/kube"
	"github.com/capcat/capcat/imagecatalog"
)

// scope is what one reconcile knows.
type scope struct {
	// template is changed by the phases.
	template *infrav1.CloudStackMachineTemplate
	saver    *kube.Saver[*infrav1.CloudStackMachineTemplate]
	now      time.Time

	// cluster that owns the template, and its infrastructure; set by findCluster, nil where there is none.
	cluster *clusterv1.Cluster
	infra   *infrav1.CloudStackCluster
	// catalogs of the cluster, or all of the namespace; set by readCatalogs.
	catalogs []infrav1.TemplateCatalog
	// place is where the offering is looked for; set by findPlace.
	place place
	// session, owner and zoneID are the place in CloudStack; set by open.
	session *cloudstack.Session
	owner   cloudstack.Owner
	zoneID  string
	// size is what the machines have, and why; set by chooseSize.
	size imagecatalog.Size
	why  string
	// arch is that of the image; "" where nothing tells it; set by findArch.
	arch infrav1.Arch
	// done is set when all of it was found.
	done bool
}

func newScope(c client.Client, t *infrav1.CloudStackMachineTemplate, now time.Time) *scope {
	return &scope{
		template: t, now: now,
		saver: kube.NewSaver(c, t, func(t *infrav1.CloudStackMachineTemplate) any { return &t.Status }),
	}
}

// spec is that of the machines.
func (s *scope) spec() *infrav1.CloudStackMachineSpec { return &s.template.Spec.Template.Spec }

// known says that the status shows what will not change: a template is immutable, and so is the size of an offering. What a
// class means and which template is whose image may change.
func (s *scope) known() bool {
	spec := s.spec()
	return spec.Offering.Class == "" && spec.Template == nil &&
		s.template.Status.ObservedGeneration == s.template.Generation && len(s.template.Status.Capacity) > 0 &&
		meta.IsStatusConditionTrue(s.template.Status.Conditions, infrav1.ConditionCapacityKnown)
}
