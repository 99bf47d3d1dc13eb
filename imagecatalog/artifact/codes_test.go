package artifact_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

var update = flag.Bool("update", false, "write the table of codes into the reference page")

const (
	page   = "../../docs/reference/inspection.md"
	marker = "<!-- codes: written by `go test ./imagecatalog/artifact -update` -->\n"
)

// table is the list of codes as the page has it.
func table() string {
	var b strings.Builder
	area := artifact.Area("")
	for _, c := range artifact.Codes() {
		if c.Area != area {
			area = c.Area
			fmt.Fprintf(&b, "\n### %s\n\n| Code | Tried again | Meaning |\n|---|---|---|\n", strings.ToUpper(string(area[:1]))+string(area[1:]))
		}
		retry := map[artifact.Retry]string{artifact.RetryNever: "no", artifact.RetrySlow: "slowly", artifact.RetryBackoff: "with backoff"}[c.Retry]
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Code, retry, c.Meaning)
	}
	return b.String()
}

func TestReferencePage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, have, found := strings.Cut(string(text), marker)
	if !found {
		t.Fatalf("%s has no place for the codes", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+marker+table()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table(), have); diff != "" {
		t.Errorf("%s is stale, run this test with -update (-want +got)\n%s", page, diff)
	}
}

// TestEveryCodeIsExplained compares the constants with the list.
func TestEveryCodeIsExplained(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared, listed []string
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			declared = append(declared, v.Names[0].Name)
			if value := strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`); value != v.Names[0].Name {
				t.Errorf("%s has the value %q", v.Names[0].Name, value)
			}
		}
		return true
	})
	for _, c := range artifact.Codes() {
		listed = append(listed, string(c.Code))
		if c.Meaning == "" || c.Code.Retry() != c.Retry {
			t.Errorf("%s is not explained", c.Code)
		}
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if diff := cmp.Diff(declared, listed); diff != "" {
		t.Errorf("(-declared +listed)\n%s", diff)
	}
}

// TestCorpusCodesAreKnown: the codes of the corpus are ours.
func TestCorpusCodesAreKnown(t *testing.T) {
	text, err := os.ReadFile("../../test/corpus/REASONS.tsv")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range artifact.Codes() {
		known[string(c.Code)] = true
	}
	for line := range strings.Lines(string(text)) {
		code, _, _ := strings.Cut(line, "\t")
		if code != "reason_code" && !known[code] {
			t.Errorf("%s is no code", code)
		}
	}
}
