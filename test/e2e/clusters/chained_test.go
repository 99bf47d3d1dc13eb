//go:build e2e

package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// A topology is upgraded over two minor versions: nothing begins before the last of them is in the catalog, and the one between
// is the newest that there is.
func TestChainedUpgradeWaitsForTheCatalog(t *testing.T) {
	s := begin(t)
	catalog := s.catalog([]string{"zone-kvm"}, "v1.33.1", "v1.34.2", "v1.34.3")
	s.generate("chained", "v1.33.1", size{1, 1}, "topology", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	s.runs("chained", "v1.33.1", size{1, 1})
	extension := s.extension()
	s.planBy(extension, "chained")
	before := s.instances("chained")

	s.upgradeTopology("chained", "v1.35.0")
	s.eventually("the hook that blocks", func(ctx context.Context) error {
		c, err := s.cluster(ctx, "chained")
		if err != nil {
			return err
		}
		told := meta.FindStatusCondition(c.Status.Conditions, clusterv1.ClusterTopologyReconciledCondition)
		if told == nil || told.Status != metav1.ConditionFalse || !strings.Contains(told.Message, "no ready image of v1.35.0 in zone-kvm (control plane, ") {
			return fmt.Errorf("it is told so: %+v", told)
		}
		return nil
	})
	if diff := cmp.Diff(before, s.instances("chained")); diff != "" {
		t.Errorf("VMs have come (+) or gone (-) without an image:\n%s", diff)
	}

	s.must(s.client.Get(t.Context(), client.ObjectKeyFromObject(catalog), catalog))
	was := catalog.DeepCopy()
	catalog.Spec.Images[0].KubernetesVersions = append(catalog.Spec.Images[0].KubernetesVersions, "v1.35.0")
	s.patch(catalog, client.MergeFrom(was))
	s.eventually("a control plane of v1.34.3", func(ctx context.Context) error {
		machines, err := s.machines(ctx, "chained")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(machines, func(m clusterv1.Machine) bool { return m.Spec.Version == "v1.34.3" }) {
			return errors.New("there is none")
		}
		return nil
	})
	s.runs("chained", "v1.35.0", size{1, 1})
	s.remove("chained")
}

// extension has Cluster API ask our manager about the clusters of the story by the ExtensionConfig of the release, under another name,
// and returns the name of what plans upgrades.
func (s *story) extension() string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(world.Release(), "extensionconfig.yaml"))
	s.must(err)
	config := &unstructured.Unstructured{}
	s.must(yaml.Unmarshal(text, &config.Object))
	name := s.namespace
	config.SetName(name)
	s.must(unstructured.SetNestedStringMap(config.Object, map[string]string{corev1.LabelMetadataName: s.namespace}, "spec", "namespaceSelector", "matchLabels"))
	s.must(s.client.Create(s.t.Context(), config))
	s.t.Cleanup(func() {
		if err := s.client.Delete(context.WithoutCancel(s.t.Context()), config); err != nil {
			s.t.Error(err)
		}
	})
	s.eventually("the discovery of the hooks", func(ctx context.Context) error {
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return err
		}
		handlers, _, err := unstructured.NestedSlice(config.Object, "status", "handlers")
		if err == nil && len(handlers) == 0 {
			err = fmt.Errorf("there are no handlers: %v", config.Object["status"])
		}
		return err
	})
	return "generate-upgrade-plan." + name
}

// planBy has the upgrades of a cluster's class planned by an extension.
func (s *story) planBy(extension, cluster string) {
	s.t.Helper()
	c, err := s.cluster(s.t.Context(), cluster)
	s.must(err)
	class := &clusterv1.ClusterClass{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: c.Spec.Topology.ClassRef.Name}}
	patch := fmt.Appendf(nil, `{"spec":{"upgrade":{"external":{"generateUpgradePlanExtension":%q}}}}`, extension)
	s.patch(class, client.RawPatch("application/merge-patch+json", patch))
}
