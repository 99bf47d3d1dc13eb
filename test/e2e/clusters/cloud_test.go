//go:build e2e

package clusters

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	acs "github.com/apache/cloudstack-go/v2/cloudstack"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/stage"
)

// cloud is CloudStack as one of its accounts sees it.
func (s *story) cloud(caller string) *acs.CloudStackClient {
	s.t.Helper()
	keys := world.Cloud.Keys[caller]
	if len(keys) != 2 {
		s.t.Fatalf("CloudStack has no caller %q", caller)
	}
	return acs.NewClient(world.Cloud.URL, keys[0], keys[1], false)
}

// credentialsOf gives the story's Secret the keys of another account.
func (s *story) credentialsOf(caller string) {
	s.t.Helper()
	wanted, err := world.Cloud.Secret(caller, s.namespace, stage.SecretName)
	s.must(err)
	s.setCredentials(wanted.StringData)
}

func (s *story) setCredentials(data map[string]string) {
	s.t.Helper()
	var have corev1.Secret
	s.must(s.client.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: stage.SecretName}, &have))
	before := have.DeepCopy()
	have.StringData = data
	s.must(s.client.Patch(s.t.Context(), &have, client.MergeFrom(before)))
}

// infraMachines are the CloudStackMachines of a cluster.
func (s *story) infraMachines(ctx context.Context, cluster string) ([]infrav1.CloudStackMachine, error) {
	var list infrav1.CloudStackMachineList
	err := s.client.List(ctx, &list, client.InNamespace(s.namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster})
	slices.SortFunc(list.Items, func(a, b infrav1.CloudStackMachine) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, err
}

// instances are the ids of the VMs that the machines of a cluster have, which must all exist.
func (s *story) instances(cluster string) []string {
	s.t.Helper()
	machines, err := s.infraMachines(s.t.Context(), cluster)
	s.must(err)
	inventory, err := world.Cloud.Inventory(s.t.Context())
	s.must(err)
	var ids []string
	for _, m := range machines {
		if m.Status.InstanceID == "" {
			continue
		}
		if !slices.ContainsFunc(inventory.Machines, func(vm cloudsim.InventoryItem) bool { return vm.ID == m.Status.InstanceID }) {
			s.t.Errorf("CloudStack has no VM of the machine %s", m.Name)
		}
		ids = append(ids, m.Status.InstanceID)
	}
	slices.Sort(ids)
	return ids
}

// belongings are the ids of what CloudStack has for a cluster and its machines.
func (s *story) belongings(cluster string) []string {
	s.t.Helper()
	ids := s.instances(cluster)
	inventory, err := world.Cloud.Inventory(s.t.Context())
	s.must(err)
	for _, tag := range inventory.Tags {
		if tag.Key == infrav1.MarkName && tag.Value == s.namespace+"/"+cluster {
			ids = append(ids, tag.ResourceID)
		}
	}
	return ids
}

// gone wants a CloudStack that has none of the things with these ids, nor anything that refers to them.
func (s *story) gone(ids []string) {
	s.t.Helper()
	inventory, err := world.Cloud.Inventory(s.t.Context())
	s.must(err)
	// A released address keeps its id; its next holder may have it by now.
	inventory.Addresses = nil
	text, err := json.Marshal(inventory)
	s.must(err)
	for _, id := range ids {
		if strings.Contains(string(text), id) {
			s.t.Errorf("CloudStack still has something with the id %s", id)
		}
	}
}

// condition of an object of ours; a helpful error when it is another.
func conditionIs(conditions []metav1.Condition, kind string, status metav1.ConditionStatus, reason string, words ...string) error {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		return fmt.Errorf("there is no condition %s in %+v", kind, conditions)
	}
	if c.Status != status || c.Reason != reason {
		return fmt.Errorf("%s is %s, %s: %s", kind, c.Status, c.Reason, c.Message)
	}
	for _, word := range words {
		if !strings.Contains(c.Message, word) {
			return fmt.Errorf("%s does not speak of %s: %s", kind, word, c.Message)
		}
	}
	return nil
}
