package release_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"

	"github.com/capcat/capcat/test/controlplane"
)

// TestVariablesAreDocumented compares the table of the reference with the variables that are in the flavours.
func TestVariablesAreDocumented(t *testing.T) {
	documented := table(t)
	for _, flavour := range flavours(t) {
		name := flavour
		if name == "" {
			name = "default"
		}
		t.Run("flavour "+name, func(t *testing.T) {
			variables, err := yamlprocessor.NewSimpleProcessor().GetVariableMap(template(t, flavour))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for variable, value := range variables {
				got[variable] = spelled(value)
			}
			want := maps.Clone(documented["all"])
			maps.Copy(want, documented[name])
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the table (-) and the template (+) differ:\n%s", diff)
			}
		})
	}
	for name := range documented {
		if name != "all" && name != "default" && !slices.Contains(flavours(t), name) {
			t.Errorf("the table has the flavour %q", name)
		}
	}
}

// TestVariablesOfOursAreTold keeps the names of variables apart from those of other providers.
func TestVariablesOfOursAreTold(t *testing.T) {
	clusterctls := slices.Collect(maps.Keys(common("default")))
	for _, flavour := range flavours(t) {
		variables, err := yamlprocessor.NewSimpleProcessor().GetVariables(template(t, flavour))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range variables {
			if !strings.HasPrefix(v, "CLOUDSTACK_") && !slices.Contains(clusterctls, v) {
				t.Errorf("flavour %q has the variable %s", flavour, v)
			}
		}
	}
}

// spelled gives a default as the table has it.
func spelled(value *string) string {
	switch {
	case value == nil:
		return "needed"
	case *value == `""`:
		return "empty"
	}
	return "`" + *value + "`"
}

// table reads which flavour has which variable with which default.
func table(t *testing.T) map[string]map[string]string {
	t.Helper()
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "reference", "template-variables.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "|\n "), "|")
		if len(cells) != 4 || !strings.HasPrefix(strings.TrimSpace(cells[0]), "`") {
			continue
		}
		for flavour := range strings.SplitSeq(cells[2], ",") {
			flavour = strings.TrimSpace(flavour)
			if all[flavour] == nil {
				all[flavour] = map[string]string{}
			}
			all[flavour][strings.Trim(cells[0], "` ")] = strings.TrimSpace(cells[1])
		}
	}
	return all
}
