//go:build e2e

package clusters

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Workers without a failure domain of their own are spread evenly over two zones of different hypervisors.
func TestFailureDomains(t *testing.T) {
	s := begin(t)
	s.catalog([]string{"zone-kvm", "zone-vmware"}, "v1.34.2")
	manifest := s.manifest("wide", "v1.34.2", size{1, 4}, "", "CLOUDSTACK_ZONE_NAME=zone-kvm")
	manifest, err := inDomains(manifest)
	s.must(err)
	s.apply(manifest)
	s.runs("wide", "v1.34.2", size{1, 4})

	spread := map[string]int{}
	machines, err := s.infraMachines(t.Context(), "wide")
	s.must(err)
	for _, m := range machines {
		if len(m.Status.LoadBalancerRuleIDs) == 0 {
			spread[m.Status.FailureDomain]++
		}
	}
	if diff := cmp.Diff(map[string]int{"near": 2, "far": 2}, spread); diff != "" {
		t.Errorf("the workers are not spread evenly, -want +got:\n%s", diff)
	}
	s.remove("wide")
}

// inDomains gives the CloudStackCluster of a manifest two failure domains in the place of its zone and network.
func inDomains(manifest string) (string, error) {
	const kind = "CloudStackCluster"
	docs := strings.Split(manifest, "\n---\n")
	for i, doc := range docs {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			return "", fmt.Errorf("reading a manifest: %w", err)
		}
		spec, ok := object["spec"].(map[string]any)
		if object["kind"] != kind || !ok {
			continue
		}
		delete(spec, "zone")
		delete(spec, "network")
		spec["failureDomains"] = []any{
			map[string]any{"name": "near", "controlPlane": true, "zone": map[string]any{"name": "zone-kvm"}},
			map[string]any{"name": "far", "controlPlane": false, "zone": map[string]any{"name": "zone-vmware"}},
		}
		text, err := yaml.Marshal(object)
		docs[i] = string(text)
		return strings.Join(docs, "\n---\n"), err
	}
	return "", errors.New("the manifest has no " + kind)
}
