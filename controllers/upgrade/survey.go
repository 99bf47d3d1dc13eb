package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

// errNotOurs says that a cluster is none of ours, or that its infrastructure does not exist yet: nothing can be told of it.
var errNotOurs = errors.New("the cluster has no CloudStackCluster")

// controlPlaneName is what people call the pool of the control plane.
const controlPlaneName = "control plane"

// pool is machines that are made alike, with the version that is asked for them.
type pool struct {
	imagecatalog.Pool
	version string
	control bool
}

// survey is what a cluster would be upgraded with.
type survey struct {
	cluster *clusterv1.Cluster
	infra   *infrav1.CloudStackCluster
	pools   []pool
	stock   *imagecatalog.Stock
}

// surveyor reads what upgrades depend on. It changes nothing.
type surveyor struct {
	client client.Client
	// live reads control planes, whose kinds are not known beforehand.
	live  client.Reader
	clock clock.PassiveClock
}

// survey looks at a cluster. The error is errNotOurs for clusters of other providers.
func (y *surveyor) survey(ctx context.Context, cluster *clusterv1.Cluster) (*survey, error) {
	s, err := y.begin(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if err := y.addControlPlane(ctx, s); err != nil {
		return nil, err
	}
	return s, y.addWorkers(ctx, s)
}

// begin looks at everything but the pools.
func (y *surveyor) begin(ctx context.Context, cluster *clusterv1.Cluster) (*survey, error) {
	ref := cluster.Spec.InfrastructureRef
	if ref.APIGroup != infrav1.GroupName || ref.Kind != "CloudStackCluster" || ref.Name == "" {
		return nil, errNotOurs
	}
	infra := &infrav1.CloudStackCluster{}
	if err := y.client.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, infra); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, errNotOurs
		}
		return nil, fmt.Errorf("reading the CloudStackCluster %s: %w", ref.Name, err)
	}
	var images infrav1.CloudStackImageList
	if err := y.client.List(ctx, &images, client.InNamespace(cluster.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the images: %w", err)
	}
	slices.SortFunc(images.Items, func(a, b infrav1.CloudStackImage) int { return strings.Compare(a.Name, b.Name) })
	stock := imagecatalog.NewStock(imagecatalog.Offered(images.Items, infra.Spec.Catalogs), y.clock.Now())
	return &survey{cluster: cluster, infra: infra, stock: stock}, nil
}

// addControlPlane adds the machines of the control plane. A control plane without machines, such as a hosted one, adds none.
func (y *surveyor) addControlPlane(ctx context.Context, s *survey) error {
	ref := s.cluster.Spec.ControlPlaneRef
	if ref.Name == "" {
		return nil
	}
	mapping, err := y.client.RESTMapper().RESTMapping(schema.GroupKind{Group: ref.APIGroup, Kind: ref.Kind})
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("finding the kind %s: %w", ref.Kind, err)
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := y.live.Get(ctx, client.ObjectKey{Namespace: s.cluster.Namespace, Name: ref.Name}, obj); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("reading the %s %s: %w", ref.Kind, ref.Name, err)
	}
	return y.addPool(ctx, s, changeOfControlPlane(obj.Object))
}

// addWorkers adds the machines of the MachineDeployments that want any.
func (y *surveyor) addWorkers(ctx context.Context, s *survey) error {
	var list clusterv1.MachineDeploymentList
	inCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: s.cluster.Name}
	if err := y.client.List(ctx, &list, client.InNamespace(s.cluster.Namespace), inCluster, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the MachineDeployments: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b clusterv1.MachineDeployment) int { return strings.Compare(a.Name, b.Name) })
	for i := range list.Items {
		d := &list.Items[i]
		if !d.DeletionTimestamp.IsZero() || d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
			continue
		}
		if err := y.addPool(ctx, s, changeOfWorkers(d)); err != nil {
			return err
		}
	}
	return nil
}

// addPool adds machines that are made of one of our templates. A template that does not exist makes none.
func (y *surveyor) addPool(ctx context.Context, s *survey, c Change) error {
	if c.Template.Kind != "CloudStackMachineTemplate" || c.Template.Name == "" {
		return nil
	}
	template := &infrav1.CloudStackMachineTemplate{}
	if err := y.client.Get(ctx, client.ObjectKey{Namespace: s.cluster.Namespace, Name: c.Template.Name}, template); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("reading the CloudStackMachineTemplate %s: %w", c.Template.Name, err)
	}
	spec := &template.Spec.Template.Spec
	p := pool{version: c.Version, control: c.ControlPlane}
	p.Name, p.Template = c.Pool, spec.Template
	if w := spec.Image; w != nil {
		p.Wants = imagecatalog.Request{OS: w.OS, Arch: w.Arch, Image: w.Name, Builds: imagecatalog.BuildPolicy(w.Builds)}
	}
	domain := c.FailureDomain
	if domain == "" && !c.ControlPlane {
		domain = spec.FailureDomainName
	}
	p.Sites = sitesOf(s.infra, domain, c.ControlPlane)
	s.pools = append(s.pools, p)
	return nil
}

// all are the pools as decisions see them.
func all(pools []pool) []imagecatalog.Pool {
	out := make([]imagecatalog.Pool, 0, len(pools))
	for _, p := range pools {
		out = append(out, p.Pool)
	}
	return out
}

// lookedUp are the pools whose images are looked up by their version. What a topology binds to a template it may bind to
// another one in the same step.
func lookedUp(pools []pool) []pool {
	return slices.DeleteFunc(slices.Clone(pools), func(p pool) bool { return p.Template != nil })
}

// ofControlPlane are the pools of the control plane or those of the workers.
func ofControlPlane(pools []pool, control bool) []pool {
	return slices.DeleteFunc(slices.Clone(pools), func(p pool) bool { return p.control != control })
}
