package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// writeKinds writes a page with every field of each kind, read from the CRDs.
func writeKinds(root string) error {
	paths, err := filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("there are no CRDs below %s", root)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(b, &crd); err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		page := "reference/fields/" + strings.ToLower(crd.Spec.Names.Kind) + ".md"
		if err := writePage(root, page, kindPage(&crd)); err != nil {
			return err
		}
	}
	return nil
}

func kindPage(crd *apiextensionsv1.CustomResourceDefinition) string {
	var b strings.Builder
	names := crd.Spec.Names
	fmt.Fprintf(&b, "# Fields of %s\n\n", names.Kind)
	fmt.Fprintf(&b, "Group `%s`, short name `%s`.\n", crd.Spec.Group, strings.Join(names.ShortNames, "`, `"))
	for _, v := range crd.Spec.Versions {
		schema := v.Schema.OpenAPIV3Schema
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", v.Name, sentence(schema.Description))
		for _, part := range []string{"spec", "status"} {
			p, ok := schema.Properties[part]
			if !ok {
				continue
			}
			fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| field | type | what it means |\n|---|---|---|\n", part, sentence(p.Description))
			fieldRows(&b, part, &p)
		}
		columns(&b, v.AdditionalPrinterColumns)
	}
	return b.String()
}

// fieldRows writes a row for each field, and below it those of its parts.
func fieldRows(b *strings.Builder, path string, s *apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		at := path + "." + name
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", at, cell(typeOf(&p)), cell(meaning(&p, slices.Contains(s.Required, name))))
		if strings.HasSuffix(at, "status.conditions") {
			continue // every Kubernetes user knows what is inside
		}
		if p.Items != nil && p.Items.Schema != nil {
			fieldRows(b, at+"[]", p.Items.Schema)
			continue
		}
		fieldRows(b, at, &p)
	}
}

func typeOf(s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.XIntOrString:
		return "quantity"
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(s.Items.Schema)
	case s.Type == "object" && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(s.AdditionalProperties.Schema)
	case s.Format == "date-time":
		return "time"
	}
	return s.Type
}

// meaning is the description with what the schema adds to it.
func meaning(s *apiextensionsv1.JSONSchemaProps, required bool) string {
	parts := []string{sentence(s.Description)}
	if required {
		parts = append(parts, "Required.")
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		parts = append(parts, "One of "+strings.Join(values, ", ")+".")
	}
	if s.Default != nil {
		parts = append(parts, "Default `"+strings.Trim(string(s.Default.Raw), `"`)+"`.")
	}
	if bounds := bounds(s); bounds != "" {
		parts = append(parts, bounds)
	}
	for _, r := range s.XValidations {
		if r.Message != "" {
			parts = append(parts, "Rule: "+r.Message+".")
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

func bounds(s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.MaxItems != nil:
		return fmt.Sprintf("At most %d.", *s.MaxItems)
	case s.MaxLength != nil && s.Type == "string" && len(s.Enum) == 0:
		return fmt.Sprintf("At most %d characters.", *s.MaxLength)
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("From %g to %g.", *s.Minimum, *s.Maximum)
	}
	return ""
}

func columns(b *strings.Builder, all []apiextensionsv1.CustomResourceColumnDefinition) {
	b.WriteString("\n### Columns of kubectl get\n\n| column | shown | from |\n|---|---|---|\n")
	for _, c := range all {
		shown := "always"
		if c.Priority > 0 {
			shown = "with `-o wide`"
		}
		fmt.Fprintf(b, "| %s | %s | `%s` |\n", c.Name, shown, cell(c.JSONPath))
	}
}

// sentence joins the lines of a comment and ends it with a period.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// cell makes text safe in a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
