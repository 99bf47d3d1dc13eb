package release_test

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
)

// TestFlavoursTakeNamesAsTheyAre gives every variable that is a name one that YAML could read as something else.
func TestFlavoursTakeNamesAsTheyAre(t *testing.T) {
	names := regexp.MustCompile(`^(CLUSTER_NAME|NAMESPACE|CLOUDSTACK_[A-Z_]*(NAME|OFFERING|LABEL))$`)
	const plain = "plain"
	for _, flavour := range flavours(t) {
		variables, err := yamlprocessor.NewSimpleProcessor().GetVariables(template(t, flavour))
		if err != nil {
			t.Fatal(err)
		}
		render := func(t *testing.T, name string) []any {
			given := common(name)
			maps.Copy(given, needed()[flavour])
			for _, v := range variables {
				if names.MatchString(v) {
					given[v] = name
				}
			}
			var all []any
			for _, o := range objects(t, process(t, template(t, flavour), given)) {
				all = append(all, o.Object)
			}
			return all
		}
		for _, odd := range []string{"007", "1e3", "true", "null", "0x1f", "2026-12-01", "rack: 4", "prod #1", "~", "- a", "it's"} {
			t.Run(fmt.Sprintf("flavour %s %q", flavour, odd), func(t *testing.T) {
				if diff := cmp.Diff(renamed(render(t, plain), plain, odd), any(render(t, odd))); diff != "" {
					t.Errorf("wanted (-), rendered (+):\n%s", diff)
				}
			})
		}
	}
}

// renamed has another name in each string that has the first.
func renamed(value any, from, to string) any {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, from, to)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = renamed(v[i], from, to)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			out[strings.ReplaceAll(key, from, to)] = renamed(v[key], from, to)
		}
		return out
	}
	return value
}
