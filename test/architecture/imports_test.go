package architecture_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/capcat/capcat"

// pkg is what `go list` tells of a package.
type pkg struct {
	ImportPath   string
	Name         string
	Doc          string
	Dir          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
	Standard     bool
}

// room is the part of the path below the module.
func (p pkg) room() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-json=ImportPath,Name,Doc,Dir,GoFiles,Imports,TestImports,XTestImports,Deps,Standard"}, args...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("go list: %v\n%s", err, &said)
	}
	var all []pkg
	for d := json.NewDecoder(&out); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("reading go list: %v", err)
		}
		all = append(all, p)
	}
}

func ours(t *testing.T) []pkg { t.Helper(); return list(t, module+"/...") }

// within tells whether a path is the tree or below it.
func within(path, tree string) bool { return path == tree || strings.HasPrefix(path, tree+"/") }

func withinAny(path string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return within(path, tree) })
}

// rule says of the packages below a room which of our rooms and which foreign modules they may not import.
type rule struct {
	room    string
	may     []string // rooms of ours; everything else of ours is refused
	never   []string // foreign import paths, with everything below
	because string
}

const (
	kubeClient   = "k8s.io/client-go"
	ctrlRuntime  = "sigs.k8s.io/controller-runtime"
	clusterAPI   = "sigs.k8s.io/cluster-api"
	cloudStackGo = "github.com/apache/cloudstack-go"
)

var rules = []rule{
	{room: "api", may: []string{"api"}, never: []string{kubeClient, cloudStackGo},
		because: "the vocabulary stands on its own"},
	{room: "imagecatalog/artifact", may: []string{"imagecatalog/artifact"}, never: []string{"k8s.io/api", kubeClient, ctrlRuntime, clusterAPI, cloudStackGo},
		because: "bytes know neither Kubernetes nor CloudStack"},
	{room: "imagecatalog/importer", may: []string{"imagecatalog"}, never: []string{"k8s.io/api", kubeClient, ctrlRuntime, clusterAPI, cloudStackGo},
		because: "bytes know neither Kubernetes nor CloudStack"},
	{room: "imagecatalog", may: []string{"imagecatalog", "api"}, never: []string{kubeClient, ctrlRuntime, cloudStackGo},
		because: "decisions are pure: no Kubernetes client, no CloudStack"},
	{room: "packer", may: []string{"packer", "imagecatalog", "api"}, never: []string{kubeClient, ctrlRuntime, clusterAPI, cloudStackGo},
		because: "building an image takes no cluster"},
	{room: "controllers/cloudstack", may: []string{"controllers/cloudstack"}, never: []string{"k8s.io/api", kubeClient, ctrlRuntime, clusterAPI},
		because: "the session is a leaf: no CRD type enters it"},
	{room: "controllers", may: []string{"controllers", "imagecatalog", "api"}, never: []string{cloudStackGo},
		because: "arrows point one way, and no SDK type leaves the session"},
	{room: "cmd/cloudsim", may: []string{"cmd/cloudsim", "test/cloudsim", "test/workload"}, never: []string{kubeClient, ctrlRuntime, cloudStackGo},
		because: "the simulator serves any client and knows none"},
	{room: "cmd", may: []string{"cmd", "controllers", "imagecatalog", "packer", "api"}, never: []string{cloudStackGo},
		because: "commands wire what is there"},
	{room: "test/cloudsim", may: []string{"test/cloudsim"}, never: []string{kubeClient, ctrlRuntime, clusterAPI, cloudStackGo},
		because: "the simulator is true to CloudStack, not to its client"},
	{room: "docs", may: []string{"docs", "cmd", "controllers", "imagecatalog", "api"},
		because: "reference pages are written from the product"},
}

// ruleFor returns the first rule that covers the room; the more special ones stand first.
func ruleFor(room string) (rule, bool) {
	for _, r := range rules {
		if within(room, r.room) {
			return r, true
		}
	}
	return rule{}, false
}

func TestArrowsPointOneWay(t *testing.T) {
	for _, p := range ours(t) {
		r, ok := ruleFor(p.room())
		if !ok {
			if !within(p.room(), "test") {
				t.Errorf("%s is in no room that the plan knows", p.ImportPath)
			}
			continue
		}
		for _, path := range p.Imports {
			if within(path, module) && !withinAny(strings.TrimPrefix(path, module+"/"), r.may) {
				t.Errorf("%s imports %s: %s", p.room(), path, r.because)
			}
			if withinAny(path, r.never) {
				t.Errorf("%s imports %s: %s", p.room(), path, r.because)
			}
		}
	}
}

func TestTestCodeStaysOutOfTheProduct(t *testing.T) {
	for _, command := range []string{"cmd/manager", "cmd/capcat"} {
		for _, p := range list(t, module+"/"+command) {
			for _, path := range p.Deps {
				if within(path, module+"/test") || path == "testing" {
					t.Errorf("%s links %s", command, path)
				}
			}
		}
	}
}

// TestClusterAPITestCodeStaysInTests: only what runs in the simulator's machines is built on the test module of Cluster API.
func TestClusterAPITestCodeStaysInTests(t *testing.T) {
	for _, p := range ours(t) {
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if within(path, clusterAPI+"/test") && !within(p.room(), "test/workload") {
				t.Errorf("%s imports %s", p.room(), path)
			}
		}
	}
}

func TestNoCloudSDKsAreLinked(t *testing.T) {
	refused := []string{
		"github.com/aws/aws-sdk-go", "github.com/aws/aws-sdk-go-v2", "cloud.google.com/go", "google.golang.org/api",
		"github.com/Azure/azure-sdk-for-go", "github.com/hashicorp/go-getter/s3/v2", "github.com/hashicorp/go-getter/gcs/v2",
	}
	for _, p := range list(t, module+"/cmd/...") {
		for _, path := range p.Deps {
			if withinAny(path, refused) {
				t.Errorf("%s links %s", p.room(), path)
			}
		}
	}
}

func TestOneProcessBoundary(t *testing.T) {
	for _, p := range ours(t) {
		if withinAny(p.room(), []string{"test", "docs", "packer/build"}) {
			continue
		}
		if slices.Contains(p.Imports, "os/exec") {
			t.Errorf("%s imports os/exec: the product runs no other program, but for the build of images", p.room())
		}
	}
}
