package v1beta2_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
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
