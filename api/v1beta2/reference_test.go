package v1beta2_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestReasonsAreExplained: the reference pages of the kinds name every condition and every reason.
func TestReasonsAreExplained(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "reference", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	words := vocabulary(t)
	if len(words) < 100 {
		t.Fatalf("%d words were read, want all of them", len(words))
	}
	for name, word := range words {
		if !strings.Contains(text.String(), "`"+word+"`") {
			t.Errorf("No page explains %s (%s)", word, name)
		}
	}
}

// TestReasonsStandOnThePageOfTheirKind: what a controller sets, the page of its kind explains.
func TestReasonsStandOnThePageOfTheirKind(t *testing.T) {
	words := vocabulary(t)
	used := regexp.MustCompile(`infrav1\.((?:Reason|Condition)[A-Za-z]+)`)
	for controller, page := range map[string]string{
		"catalog": "templatecatalog.md", "image": "cloudstackimage.md", "cluster": "cloudstackcluster.md",
		"machine": "cloudstackmachine.md", "machinetemplate": "cloudstackmachinetemplate.md", "upgrade": "cloudstackcluster.md",
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", page))
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join("..", "..", "controllers", controller, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range used.FindAllStringSubmatch(string(code), -1) {
				if word := words[m[1]]; !strings.HasSuffix(file, "_test.go") && !strings.Contains(string(text), "`"+word+"`") {
					t.Errorf("%s does not explain %s, which %s sets", page, word, file)
				}
			}
		}
	}
}

// vocabulary gives the constants of conditions and reasons by name.
func vocabulary(t *testing.T) map[string]string {
	t.Helper()
	words := map[string]string{}
	for _, file := range []string{"conditions.go", "conditions_cluster.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s is no plain text", spec.Names[0].Name)
			}
			word, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			words[spec.Names[0].Name] = word
			return true
		})
	}
	return words
}
