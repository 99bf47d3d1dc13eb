package release_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/capcat/capcat/test/controlplane"
)

// TestVariablesOfTheClassAreLikeTheirFields compares the schemas of variables that become fields of ours with those of the fields, so
// that what a field would refuse, or drop without a word, is refused when the Cluster is applied.
func TestVariablesOfTheClassAreLikeTheirFields(t *testing.T) {
	variables := map[string]map[string]any{}
	for _, o := range class(t) {
		all, _, _ := unstructured.NestedSlice(o.Object, "spec", "variables")
		for _, v := range all {
			schema, _, _ := unstructured.NestedMap(v.(map[string]any), "schema", "openAPIV3Schema")
			variables[v.(map[string]any)["name"].(string)] = schema
		}
	}
	for variable, field := range map[string][2]string{
		"network":                  {"cloudstackclusters", "network"},
		"failureDomains":           {"cloudstackclusters", "failureDomains"},
		"controlPlaneLoadBalancer": {"cloudstackclusters", "controlPlaneLoadBalancer"},
		"image":                    {"cloudstackmachines", "image"},
		"controlPlaneOffering":     {"cloudstackmachines", "offering"},
		"workerOffering":           {"cloudstackmachines", "offering"},
	} {
		t.Run(variable, func(t *testing.T) {
			got := maps.Clone(variables[variable])
			delete(got, "description")
			delete(got, "default")
			if diff := cmp.Diff(asVariable(fieldOfSpec(t, field[0], field[1]), variables[variable]["type"] != "array"), any(got)); diff != "" {
				t.Errorf("the field (-) and the variable (+) differ:\n%s", diff)
			}
		})
	}
}

// fieldOfSpec reads the schema of a field from a CRD.
func fieldOfSpec(t *testing.T, plural, field string) any {
	t.Helper()
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "config", "crd", "bases", "infrastructure.cluster.x-k8s.io_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := map[string]any{}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
	schema, found, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties", field)
	if err != nil || !found {
		t.Fatalf("%s has no field %s: %v", plural, field, err)
	}
	return schema
}

// asVariable is the schema of a field as a ClusterClass can have it: without descriptions, and with a rule for what is unique in a list.
// Cluster API takes no rules in a variable that is a list.
func asVariable(schema any, rules bool) any {
	switch s := schema.(type) {
	case []any:
		out := make([]any, len(s))
		for i := range s {
			out[i] = asVariable(s[i], rules)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, value := range s {
			if leftOut(key, value, rules) {
				continue
			}
			out[key] = asVariable(value, rules)
		}
		if rule, unique := uniqueness(s); unique && rules {
			others, _ := out["x-kubernetes-validations"].([]any)
			out["x-kubernetes-validations"] = append(slices.Clone(others), rule)
		}
		return out
	}
	return schema
}

func leftOut(key string, value any, rules bool) bool {
	switch key {
	case "description": // of a schema, or a field of this name
		_, isText := value.(string)
		return isText
	case "x-kubernetes-validations":
		return !rules
	}
	return key == "x-kubernetes-list-type" || key == "x-kubernetes-list-map-keys"
}

func uniqueness(schema map[string]any) (map[string]any, bool) {
	switch schema["x-kubernetes-list-type"] {
	case "map":
		return map[string]any{"rule": "self.all(a, self.exists_one(b, b.name == a.name))", "message": "a name is given twice"}, true
	case "set":
		return map[string]any{"rule": "self.all(a, self.exists_one(b, b == a))", "message": "a value is given twice"}, true
	}
	return nil, false
}
