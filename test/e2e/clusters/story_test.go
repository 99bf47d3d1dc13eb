//go:build e2e

package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/builder"
	"github.com/capcat/capcat/test/management"
	"github.com/capcat/capcat/test/stage"
)

const (
	patience  = 15 * time.Minute // how long a story waits for what must come: a busy machine needs minutes for what takes seconds
	lookEvery = 500 * time.Millisecond
)

// story is a namespace with credentials in it.
type story struct {
	t          *testing.T
	namespace  string
	management *management.Cluster
	client     client.Client
}

// begin makes a namespace for the story, whose name all its stories' clusters may share. Stories run beside each other: they wait for
// most of their time.
func begin(t *testing.T) *story {
	t.Helper()
	t.Parallel()
	return elsewhere(t)
}

// elsewhere makes one more namespace for a story that has begun.
func elsewhere(t *testing.T) *story {
	t.Helper()
	s := &story{t: t, management: world.Management, client: world.Client}
	s.namespace = s.newNamespace()
	t.Cleanup(s.explain)
	return s
}

// newNamespace makes one more namespace with credentials.
func (s *story) newNamespace() string {
	s.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "story-"}}
	s.must(s.client.Create(s.t.Context(), ns))
	s.must(world.Credentials(s.t.Context(), s.client, ns.Name))
	return ns.Name
}

// catalog wants images of the versions in zones, and waits until all are ready.
func (s *story) catalog(zones []string, versions ...infrav1.KubernetesVersion) *infrav1.TemplateCatalog {
	s.t.Helper()
	c := builder.Catalog(s.namespace, "nodes", builder.InZones(zones...), builder.OfVersions(versions...), builder.Deleting())
	s.eventually("the catalog "+c.Name, func(ctx context.Context) error { return s.client.Create(ctx, c) })
	s.imagesReady(c)
	return c
}

func (s *story) imagesReady(c *infrav1.TemplateCatalog) {
	s.t.Helper()
	s.eventually("the images of catalog "+c.Name, func(ctx context.Context) error {
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(c.Status.Conditions, infrav1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != c.Generation {
			return fmt.Errorf("it is not ready: %+v", ready)
		}
		return nil
	})
}

// size is how many machines a cluster has.
type size struct{ controlPlane, workers int }

// generate has clusterctl make a manifest and applies it. Variables are NAME=value.
func (s *story) generate(name, version string, n size, flavor string, variables ...string) {
	s.t.Helper()
	s.apply(s.manifest(name, version, n, flavor, variables...))
}

// manifest is what clusterctl makes of a flavour. Variables are NAME=value.
func (s *story) manifest(name, version string, n size, flavor string, variables ...string) string {
	s.t.Helper()
	args := []string{"generate", "cluster", name, "--target-namespace", s.namespace, "--kubernetes-version", version, "--infrastructure", stage.Infrastructure,
		"--control-plane-machine-count", strconv.Itoa(n.controlPlane), "--worker-machine-count", strconv.Itoa(n.workers)}
	if flavor != "" {
		args = append(args, "--flavor", flavor)
	}
	manifest, err := s.management.ClusterctlWith(s.t.Context(), variables, args...)
	s.must(err)
	return manifest
}

func (s *story) cluster(ctx context.Context, name string) (*clusterv1.Cluster, error) {
	var c clusterv1.Cluster
	return &c, s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, &c)
}

// machines are those of a cluster, by name.
func (s *story) machines(ctx context.Context, cluster string) ([]clusterv1.Machine, error) {
	var list clusterv1.MachineList
	err := s.client.List(ctx, &list, client.InNamespace(s.namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster})
	slices.SortFunc(list.Items, func(a, b clusterv1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, err
}

// runs waits until the cluster is available with machines of exactly this number and version, whose nodes are ready and run it.
func (s *story) runs(name, version string, n size) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("cluster %s with %d+%d machines of %s", name, n.controlPlane, n.workers, version), func(ctx context.Context) error {
		return s.wrongWith(ctx, name, version, n)
	})
}

func (s *story) wrongWith(ctx context.Context, name, version string, n size) error {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	machines, err := s.machines(ctx, name)
	if err != nil {
		return err
	}
	var have size
	for _, m := range machines {
		if _, is := m.Labels[clusterv1.MachineControlPlaneLabel]; is {
			have.controlPlane++
		} else {
			have.workers++
		}
		if err := wrongWithMachine(&m, version); err != nil {
			return err
		}
	}
	if have != n {
		return fmt.Errorf("it has %d+%d machines", have.controlPlane, have.workers)
	}
	if available := meta.FindStatusCondition(c.Status.Conditions, clusterv1.ClusterAvailableCondition); available == nil || available.Status != metav1.ConditionTrue {
		return fmt.Errorf("it is not available: %+v", available)
	}
	return nil
}

func wrongWithMachine(m *clusterv1.Machine, version string) error {
	if m.Spec.Version != version {
		return fmt.Errorf("machine %s is of version %s", m.Name, m.Spec.Version)
	}
	ready := meta.FindStatusCondition(m.Status.Conditions, clusterv1.MachineReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionTrue {
		return fmt.Errorf("machine %s is not ready: %+v", m.Name, ready)
	}
	if m.Status.NodeInfo == nil || m.Status.NodeInfo.KubeletVersion != version {
		return fmt.Errorf("the node of machine %s does not run %s: %+v", m.Name, version, m.Status.NodeInfo)
	}
	return nil
}

// upgrade changes the version of the control plane and of all workers, and nothing else.
func (s *story) upgrade(cluster, version string) {
	s.t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"version":%q}}`, version))
	s.patch(s.controlPlane(cluster), patch)
	patch = client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"template":{"spec":{"version":%q}}}}`, version))
	s.patch(s.workers(cluster), patch)
}

// controlPlane is the KubeadmControlPlane of a cluster, to be read or patched.
func (s *story) controlPlane(cluster string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmControlPlane"})
	u.SetNamespace(s.namespace)
	u.SetName(cluster + "-control-plane")
	return u
}

func (s *story) workers(cluster string) *clusterv1.MachineDeployment {
	return &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: cluster + "-md-0"}}
}

// scale changes how many machines a cluster has.
func (s *story) scale(cluster string, n size) {
	s.t.Helper()
	for o, count := range map[client.Object]int{s.controlPlane(cluster): n.controlPlane, s.workers(cluster): n.workers} {
		s.patch(o, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, count)))
	}
}

// apply creates or changes the objects of a manifest. Another story may just kill the managers whose webhooks look at them.
func (s *story) apply(manifest string) {
	s.t.Helper()
	s.eventually("kubectl apply", func(ctx context.Context) error { return s.management.Apply(ctx, manifest) })
}

// patch changes an object, with the patience of apply.
func (s *story) patch(o client.Object, p client.Patch) {
	s.t.Helper()
	s.eventually("the patch of "+o.GetName(), func(ctx context.Context) error { return s.client.Patch(ctx, o, p) })
}

// remove deletes a cluster and waits until nothing of it is left, neither here nor in CloudStack.
func (s *story) remove(cluster string) {
	s.t.Helper()
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: cluster}}
	belongings := s.belongings(cluster)
	if len(belongings) == 0 {
		s.t.Errorf("CloudStack has nothing of cluster %s before its end", cluster)
	}
	s.must(s.client.Delete(s.t.Context(), c))
	s.eventually("the end of cluster "+cluster, func(ctx context.Context) error {
		if _, err := s.cluster(ctx, cluster); err == nil {
			return errors.New("it is still there")
		} else if !apierrors.IsNotFound(err) {
			return err
		}
		machines, err := s.machines(ctx, cluster)
		if err == nil && len(machines) > 0 {
			err = fmt.Errorf("%d machines are left", len(machines))
		}
		return err
	})
	s.gone(belongings)
}

// templates are the names of the CloudStackMachineTemplates of the story.
func (s *story) templates() []string {
	s.t.Helper()
	var list infrav1.CloudStackMachineTemplateList
	s.must(s.client.List(s.t.Context(), &list, client.InNamespace(s.namespace)))
	var names []string
	for _, t := range list.Items {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

func (s *story) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// eventually looks again and again until nothing is wrong any more.
func (s *story) eventually(what string, wrong func(ctx context.Context) error) {
	s.t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		err := wrong(ctx)
		if err == nil {
			s.t.Logf("%s: after %s", what, time.Since(began).Round(time.Second))
			return
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}

// explain prints what clusterctl says of the clusters of a story that failed, and the ends of the logs.
func (s *story) explain() {
	if !s.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var list clusterv1.ClusterList
	if err := s.client.List(ctx, &list, client.InNamespace(s.namespace)); err != nil {
		s.t.Logf("listing the clusters: %v", err)
	}
	for _, c := range list.Items {
		text, err := s.management.Clusterctl(ctx, "describe", "cluster", c.Name, "-n", s.namespace, "--show-conditions", "all")
		s.t.Logf("%s%v", text, err)
	}
	text, _ := s.management.Kubectl(ctx, "get", "cloudstackclusters,cloudstackmachines,cloudstackimages", "-n", s.namespace, "-o", "wide")
	s.t.Log(text)
	if log, err := os.ReadFile(s.management.Log(stage.ManagerNamespace, stage.ManagerName)); err == nil {
		s.t.Logf("end of our manager's log:\n%s", log[max(0, len(log)-8000):])
	}
	s.t.Logf("end of the simulator's log:\n%s", world.Cloud.Process.Tail())
}
