package upgrade

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

const (
	// retrySeconds is how soon a hook that blocks is asked again.
	retrySeconds = 15
	// unreadable is the message when Kubernetes could not be asked. Hooks must not tell what changes from call to call.
	unreadable = "the images of the cluster cannot be read at the moment; the log of the manager tells why"
	// advice ends the messages of hooks that block.
	advice = "; nothing is replaced before a TemplateCatalog has brought it there"
)

// Gate answers whether a cluster can be upgraded, and by which versions.
type Gate struct{ surveyor surveyor }

// NewGate makes a Gate. live reads the objects of kinds that are not known beforehand; the clock is the real one if nil.
func NewGate(c client.Client, live client.Reader, now clock.PassiveClock) *Gate {
	if now == nil {
		now = clock.RealClock{}
	}
	return &Gate{surveyor: surveyor{client: c, live: live, clock: now}}
}

// step is a version that machines go to.
type step struct {
	version string
	// control and workers tell whose machines go there.
	control, workers bool
}

// BeforeClusterUpgrade blocks the upgrade of a topology until every zone in use has a ready image of each version on the way.
func (g *Gate) BeforeClusterUpgrade(ctx context.Context, req *hooksv1.BeforeClusterUpgradeRequest, resp *hooksv1.BeforeClusterUpgradeResponse) {
	steps := []step{{version: req.ToKubernetesVersion, control: true, workers: true}}
	for _, s := range req.ControlPlaneUpgrades {
		steps = append(steps, step{version: s.Version, control: true})
	}
	for _, s := range req.WorkersUpgrades {
		steps = append(steps, step{version: s.Version, workers: true})
	}
	g.block(ctx, &req.Cluster, steps, resp)
}

// BeforeControlPlaneUpgrade blocks one step of the control plane: an image may have gone since the upgrade began.
func (g *Gate) BeforeControlPlaneUpgrade(ctx context.Context, req *hooksv1.BeforeControlPlaneUpgradeRequest, resp *hooksv1.BeforeControlPlaneUpgradeResponse) {
	g.block(ctx, &req.Cluster, []step{{version: req.ToKubernetesVersion, control: true}}, resp)
}

// BeforeWorkersUpgrade blocks one step of the workers: an image may have gone since the upgrade began.
func (g *Gate) BeforeWorkersUpgrade(ctx context.Context, req *hooksv1.BeforeWorkersUpgradeRequest, resp *hooksv1.BeforeWorkersUpgradeResponse) {
	g.block(ctx, &req.Cluster, []step{{version: req.ToKubernetesVersion, workers: true}}, resp)
}

// block answers a hook that may block.
func (g *Gate) block(ctx context.Context, cluster *clusterv1.Cluster, steps []step, resp hooksv1.RetryResponseObject) {
	resp.SetStatus(hooksv1.ResponseStatusSuccess)
	if _, skipped := cluster.Annotations[infrav1.AnnotationSkipUpgradeGate]; skipped {
		return
	}
	lacks, err := g.lacking(ctx, cluster, steps)
	switch {
	case errors.Is(err, errNotOurs):
	case err != nil:
		resp.SetRetryAfterSeconds(retrySeconds)
		resp.SetMessage(failure(ctx, cluster, err))
	case len(lacks) > 0:
		resp.SetRetryAfterSeconds(retrySeconds)
		resp.SetMessage(imagecatalog.DescribeLacks(lacks) + advice)
	}
}

func (g *Gate) lacking(ctx context.Context, cluster *clusterv1.Cluster, steps []step) ([]imagecatalog.Lack, error) {
	s, err := g.surveyor.survey(ctx, cluster)
	if err != nil {
		return nil, err
	}
	var control, workers []imagecatalog.Version
	for _, t := range steps {
		v, err := imagecatalog.ParseVersion(t.version)
		if err != nil {
			return nil, fmt.Errorf("reading the upgrade plan: %w", err)
		}
		if t.control {
			control = append(control, v)
		}
		if t.workers {
			workers = append(workers, v)
		}
	}
	pools := lookedUp(s.pools)
	lacks := s.stock.Lacking(all(ofControlPlane(pools, true)), control...)
	return append(lacks, s.stock.Lacking(all(ofControlPlane(pools, false)), workers...)...), nil
}

// GenerateUpgradePlan gives the versions by which a control plane is upgraded. The workers' are left to Cluster API, which
// takes of these as few as the skew between control plane and kubelets allows.
func (g *Gate) GenerateUpgradePlan(ctx context.Context, req *hooksv1.GenerateUpgradePlanRequest, resp *hooksv1.GenerateUpgradePlanResponse) {
	path, err := g.path(ctx, &req.Cluster, req.FromControlPlaneKubernetesVersion, req.ToKubernetesVersion)
	if err != nil {
		resp.SetStatus(hooksv1.ResponseStatusFailure)
		resp.SetMessage(failure(ctx, &req.Cluster, err))
		return
	}
	resp.SetStatus(hooksv1.ResponseStatusSuccess)
	for i, v := range path {
		text := v.String()
		if i == len(path)-1 {
			text = req.ToKubernetesVersion // as it is spelt there
		}
		resp.ControlPlaneUpgrades = append(resp.ControlPlaneUpgrades, hooksv1.UpgradeStep{Version: text})
	}
}

func (g *Gate) path(ctx context.Context, cluster *clusterv1.Cluster, from, to string) ([]imagecatalog.Version, error) {
	first, err := imagecatalog.ParseVersion(from)
	if err != nil {
		return nil, err
	}
	last, err := imagecatalog.ParseVersion(to)
	if err != nil {
		return nil, err
	}
	s, err := g.surveyor.survey(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return s.stock.Path(all(lookedUp(s.pools)), first, last)
}

// failure tells what a person can do something about; everything else goes to the log.
func failure(ctx context.Context, cluster *clusterv1.Cluster, err error) string {
	var way *imagecatalog.PathError
	var version *imagecatalog.VersionError
	if errors.As(err, &way) || errors.As(err, &version) || errors.Is(err, errNotOurs) {
		return err.Error()
	}
	ctrl.LoggerFrom(ctx).Error(err, "Cannot tell whether the cluster can be upgraded", "Cluster", klog.KObj(cluster))
	return unreadable
}

// Warnings tells, each in a sentence that fits an admission warning, what a change of version would wait for.
func (g *Gate) Warnings(ctx context.Context, c Change) ([]string, error) {
	version, err := imagecatalog.ParseVersion(c.Version)
	if err != nil {
		return nil, err
	}
	cluster := &clusterv1.Cluster{}
	if err := g.surveyor.client.Get(ctx, c.Cluster, cluster); err != nil {
		return nil, fmt.Errorf("reading the Cluster %s: %w", c.Cluster.Name, err)
	}
	s, err := g.surveyor.surveyFor(ctx, cluster, c)
	if errors.Is(err, errNotOurs) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lacks := s.stock.Lacking(all(s.pools), version)
	if len(lacks) == 0 {
		return nil, nil
	}
	warnings := []string{imagecatalog.ShortLacks(lacks) + ": machines of this version wait until a TemplateCatalog has brought it there"}
	if c.RemovesFirst {
		warnings = append(warnings, fmt.Sprintf("the rollout strategy of %s removes running machines before their replacements are there: "+
			"until the image is ready there are fewer of them", c.Pool))
	}
	return warnings, nil
}

// surveyFor looks at the machines that a change is about: those of one pool, or all of a topology.
func (y *surveyor) surveyFor(ctx context.Context, cluster *clusterv1.Cluster, c Change) (*survey, error) {
	if c.Pool == "" {
		s, err := y.survey(ctx, cluster)
		if err == nil {
			s.pools = lookedUp(s.pools)
		}
		return s, err
	}
	s, err := y.begin(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return s, y.addPool(ctx, s, c)
}
