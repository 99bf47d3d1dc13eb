package cloudstack_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/test/cloudsim"
)

var update = flag.Bool("update", false, "write the generated page anew")

const permissionsPage = "../../docs/reference/api-permissions.md"

// purposes says what a command is needed for, and whether work goes on without it.
func purposes() map[string][2]string {
	return map[string][2]string{
		"createTags":                 {"repeat the owner mark where people see it", "no"},
		"deleteTemplate":             {"delete failed templates, and retired ones with `deletePolicy: Delete`", "yes"},
		"getUploadParamsForTemplate": {"begin an upload", "for delivery `Upload`"},
		"listAccounts":               {"find the account of `owner`", "with `owner.account`"},
		"listApis":                   {"tell missing permissions before anything is made", "no"},
		"listAsyncJobs":              {"follow all open jobs with one call", "no"},
		"listCapabilities":           {"tell the version of the server", "no"},
		"listHypervisors":            {"see that a host of the zone has the hypervisor", "yes"},
		"listOsTypes":                {"find the OS type", "yes"},
		"listProjects":               {"find the project of `owner`", "with `owner.project`"},
		"listTemplates":              {"find templates and follow their state", "yes"},
		"listVirtualMachines":        {"see that no machine uses a template that is to be deleted", "with `deletePolicy: Delete`"},
		"listZones":                  {"find the zone", "yes"},
		"queryAsyncJobResult":        {"learn how a job ended", "yes"},
		"registerTemplate":           {"register a template", "for delivery `Pull` and `Serve`"},
		"updateTemplate":             {"repair an owner mark that somebody removed", "no"},
	}
}

// TestPermissionsPage compares the page with the commands that the code calls. Write it anew with -update.
func TestPermissionsPage(t *testing.T) {
	var page bytes.Buffer
	page.WriteString("# API commands that the account needs\n\n" +
		"<!-- Generated from the code by `go test ./controllers/cloudstack -run TestPermissionsPage -update`. Do not edit. -->\n\n" +
		"An ordinary CloudStack account with the role User may call all of them. A role of its own needs these:\n\n" +
		"| command | needed to | required |\n|---|---|---|\n")
	known := purposes()
	for _, command := range commandsInCode(t) {
		purpose, ok := known[command]
		if !ok {
			t.Errorf("the code calls %s, and nobody says what for", command)
		}
		delete(known, command)
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", command, purpose[0], purpose[1])
	}
	for command := range known {
		t.Errorf("%s has a purpose, and the code does not call it", command)
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(permissionsPage), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(permissionsPage, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(permissionsPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page.String(), string(got)); diff != "" {
		t.Errorf("the page is not what the code says; run this test with -update (-want +got):\n%s", diff)
	}
}

// TestOrdinaryAccountSuffices asks the simulator, which knows the role User of a real server.
func TestOrdinaryAccountSuffices(t *testing.T) {
	s := newCloud(t, cloudsim.Options{}).as(t, "user")
	missing, err := s.Missing(t.Context(), commandsInCode(t)...)
	if err != nil || len(missing) > 0 {
		t.Errorf("an ordinary account lacks %v, %v", missing, err)
	}
}

// commandsInCode finds the calls c.Service.Verb(...) of the SDK client in this package, and the custom requests.
func commandsInCode(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if command := commandOf(n); command != "" {
				found[command] = true
			}
			return true
		})
	}
	var commands []string
	for command := range found {
		commands = append(commands, command)
	}
	slices.Sort(commands)
	return commands
}

func commandOf(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	verb, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if verb.Sel.Name == "CustomRequest" {
		if literal, ok := call.Args[0].(*ast.BasicLit); ok {
			command, _ := strconv.Unquote(literal.Value)
			return command
		}
	}
	service, ok := verb.X.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if client, ok := service.X.(*ast.Ident); !ok || client.Name != "c" || strings.HasPrefix(verb.Sel.Name, "New") {
		return ""
	}
	name := []rune(verb.Sel.Name)
	name[0] = unicode.ToLower(name[0])
	return string(name)
}
