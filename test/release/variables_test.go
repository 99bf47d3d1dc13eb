package release_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"

	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/release"
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

// TestVariablesOfComponentsAreDocumented compares the reference of releases with what clusterctl init may be told.
func TestVariablesOfComponentsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(built(t), release.Components))
	if err != nil {
		t.Fatal(err)
	}
	variables, err := yamlprocessor.NewSimpleProcessor().GetVariableMap(text)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, value := range variables {
		got[name] = spelled(value)
	}
	want := map[string]string{}
	for _, cells := range rows(t, "docs/reference/release.md", 3) {
		if strings.Contains(cells[0], "_") {
			want[cells[0]] = cells[1]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table (-) and the components (+) differ:\n%s", diff)
	}
}

// TestVariablesOfTheClassAreDocumented compares the guide with the class.
func TestVariablesOfTheClassAreDocumented(t *testing.T) {
	var got, want []string
	for _, o := range class(t) {
		variables, _, _ := unstructured.NestedSlice(o.Object, "spec", "variables")
		for _, v := range variables {
			got = append(got, v.(map[string]any)["name"].(string))
		}
	}
	for _, cells := range rows(t, "docs/guides/clusterclass.md", 3) {
		want = append(want, cells[0])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table (-) and the class (+) differ:\n%s", diff)
	}
}

// spelled gives a default as a table has it.
func spelled(value *string) string {
	switch {
	case value == nil:
		return "needed"
	case *value == `""` || *value == " ":
		return "empty"
	}
	return "`" + *value + "`"
}

// table reads which flavour has which variable with which default.
func table(t *testing.T) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	for _, cells := range rows(t, "docs/reference/template-variables.md", 4) {
		for flavour := range strings.SplitSeq(cells[2], ",") {
			flavour = strings.TrimSpace(flavour)
			if all[flavour] == nil {
				all[flavour] = map[string]string{}
			}
			all[flavour][cells[0]] = cells[1]
		}
	}
	return all
}

// rows reads the rows of the tables of a page that have so many cells and a name in backquotes first, which is given without them.
func rows(t *testing.T, page string, width int) [][]string {
	t.Helper()
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "|\n "), "|")
		if len(cells) != width || !strings.HasPrefix(strings.TrimSpace(cells[0]), "`") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		cells[0] = strings.Trim(cells[0], "`")
		all = append(all, cells)
	}
	return all
}
