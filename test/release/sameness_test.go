package release_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// own are the fields in which a flavour may differ from the default, for each kind. The other kinds are the same everywhere.
func own() map[string][][]string {
	return map[string][][]string{
		"CloudStackCluster":         {{"spec"}},
		"CloudStackMachineTemplate": {{"spec", "template", "spec"}},
		"KubeadmControlPlane": {
			{"spec", "kubeadmConfigSpec", "files"}, {"spec", "kubeadmConfigSpec", "preKubeadmCommands"}, {"spec", "kubeadmConfigSpec", "postKubeadmCommands"},
		},
		"KubeadmConfigTemplate": {
			{"metadata", "name"}, {"spec", "template", "spec", "files"}, {"spec", "template", "spec", "preKubeadmCommands"},
			{"spec", "template", "spec", "diskSetup"}, {"spec", "template", "spec", "mounts"},
		},
		"MachineDeployment": {{"spec", "template", "spec", "bootstrap", "configRef", "name"}},
	}
}

// TestFlavoursAreTheDefaultButForTheirOwn keeps what is written down in each flavour from drifting apart.
func TestFlavoursAreTheDefaultButForTheirOwn(t *testing.T) {
	want := withoutOwn(generate(t, "", "default"))
	for _, flavour := range flavours(t) {
		if flavour == "topology" {
			continue // it is one object
		}
		t.Run("flavour "+flavour, func(t *testing.T) {
			if diff := cmp.Diff(want, withoutOwn(generate(t, flavour, "default"))); diff != "" {
				t.Errorf("differs from the default:\n%s", diff)
			}
		})
	}
}

// withoutOwn are the contents of the objects, in order, without what is a flavour's own.
func withoutOwn(all []*unstructured.Unstructured) []map[string]any {
	var rest []map[string]any
	for _, o := range all {
		content := o.DeepCopy().Object
		for _, path := range own()[o.GetKind()] {
			unstructured.RemoveNestedField(content, path...)
		}
		rest = append(rest, content)
	}
	return rest
}
