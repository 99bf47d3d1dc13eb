package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestDemote(t *testing.T) {
	in := "# Title\n\ntext\n\n```\n# not a title\n```\n\n## Part\n"
	want := "### Title\n\ntext\n\n```\n# not a title\n```\n\n#### Part\n"
	if diff := cmp.Diff(want, demote(in)); diff != "" {
		t.Error(diff)
	}
}

func TestFieldRows(t *testing.T) {
	most := int64(3)
	s := apiextensionsv1.JSONSchemaProps{
		Required: []string{"mode"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"mode": {Type: "string", Description: "mode says\nhow", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"A"`)}, {Raw: []byte(`"B"`)}},
				Default: &apiextensionsv1.JSON{Raw: []byte(`"A"`)}},
			"zones": {Type: "array", Description: "zones of it.", MaxItems: &most, Items: &apiextensionsv1.JSONSchemaPropsOrArray{
				Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"name": {Type: "string", Description: "name, a|b"},
				}},
			}},
		},
	}
	var b strings.Builder
	fieldRows(&b, "spec", &s)
	want := "| `spec.mode` | string | mode says how. Required. One of `A`, `B`. Default `A`. |\n" +
		"| `spec.zones` | list of object | zones of it. At most 3. |\n" +
		"| `spec.zones[].name` | string | name, a\\|b. |\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestContentsListWhatIsThere(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"guides/zebra.md":           "# Stripes\n",
		"guides/real-cloudstack.md": "# A real one\n",
		"decisions/0001-layout.md":  "<!-- x -->\n\n# 1. Layout\n",
	} {
		path = filepath.Join(root, "docs", path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeContents(root); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "docs", "SUMMARY.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := `# Summary

[CAPCat](README.md)

# Guides

- [A real one](guides/real-cloudstack.md)
- [Stripes](guides/zebra.md)

# Decisions

- [Decisions](decisions/README.md)
- [1. Layout](decisions/0001-layout.md)
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestLinksLead follows every relative link of the book, of the README and of the samples.
func TestLinksLead(t *testing.T) {
	root := filepath.Join("..", "..")
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, from := range []string{"docs", "README.md", "CONTRIBUTING.md", "config/samples"} {
		err := filepath.WalkDir(filepath.Join(root, from), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range link.FindAllStringSubmatch(string(text), -1) {
				target, _, _ := strings.Cut(m[1], "#")
				if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
					continue
				}
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), target)); err != nil {
					t.Errorf("%s links to %s, which is not there", path, m[1])
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
