package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/yaml"

	"github.com/capcat/capcat/test/controlplane"
)

const (
	// Provider is the name of the folder that clusterctl keeps the releases of this provider in.
	Provider = "infrastructure-cloudstack"
	// Components is the file that clusterctl init applies.
	Components = "infrastructure-components.yaml"
	// Metadata is the file that tells which releases follow which contract.
	Metadata = "metadata.yaml"
	// Registry is where the image of the manager is pulled from, unless another one is given.
	Registry = "ghcr.io/capcat"
	// Image is the name of the manager's image in the registry.
	Image = "capc-controller"
)

// Options of Write.
type Options struct {
	// Version of the release such as v0.1.0. It is the tag of the image, too.
	Version string
	// Registry of the image; Registry when empty.
	Registry string
	// Dir that the files are written into. It is made when it is missing, and files of the same names are replaced.
	Dir string
	// Out is told when a tool is built, which takes a minute; nobody is when it is nil.
	Out io.Writer
}

// Build writes the artefacts of a version into the folder, with the usual registry.
func Build(ctx context.Context, version, dir string) error {
	return Write(ctx, Options{Version: version, Dir: dir})
}

// Write writes the components, the metadata, the cluster templates, the cluster classes, an ExtensionConfig and an example of
// clusterctl's configuration. Needed are the sources, Go, and at the first time the Go module proxy.
func Write(ctx context.Context, o Options) error {
	if o.Registry = strings.TrimSuffix(o.Registry, "/"); o.Registry == "" {
		o.Registry = Registry
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	if err := o.write(ctx, root); err != nil {
		return fmt.Errorf("writing release %s: %w", o.Version, err)
	}
	return nil
}

func (o Options) write(ctx context.Context, root string) error {
	if err := errors.Join(checkVersion(root, o.Version), checkRegistry(o.Registry)); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	components, err := o.components(ctx, root)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.Dir, Components), components, 0o644); err != nil {
		return err
	}
	for _, path := range asTheyStand(root) {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(o.Dir, filepath.Base(path)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// asTheyStand are the paths of the files that are released without a change: the metadata, the extension that has Cluster API call the
// hooks of upgrades, and everything in the folder templates.
func asTheyStand(root string) []string {
	paths, _ := filepath.Glob(filepath.Join(root, "templates", "*.yaml")) // the pattern is a good one
	return append(paths, filepath.Join(root, Metadata), filepath.Join(root, "config", "runtimeextension", "extensionconfig.yaml"))
}

// checkVersion refuses what clusterctl would refuse: a version that is not semantic, or of a series that metadata.yaml lacks. A
// build such as +1 is no tag of an image.
func checkVersion(root, version string) error {
	v, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	if err != nil || !strings.HasPrefix(version, "v") || v.Metadata() != "" {
		return fmt.Errorf("%q is not a version such as v0.1.0", version)
	}
	text, err := os.ReadFile(filepath.Join(root, Metadata))
	if err != nil {
		return err
	}
	var metadata clusterctlv1.Metadata
	if err := yaml.UnmarshalStrict(text, &metadata); err != nil {
		return fmt.Errorf("reading %s: %w", Metadata, err)
	}
	for _, s := range metadata.ReleaseSeries {
		if uint64(s.Major) == v.Major() && uint64(s.Minor) == v.Minor() {
			return nil
		}
	}
	return errors.New(Metadata + " has no series for it")
}

// checkRegistry refuses what no image can be pulled from: a host, maybe with a port, and the names of folders are parts of an image's name.
func checkRegistry(registry string) error {
	name := regexp.MustCompile(`^[a-zA-Z0-9]([-.a-zA-Z0-9]*[a-zA-Z0-9])?(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)
	if !name.MatchString(registry) {
		return fmt.Errorf("%q is not a registry such as %s", registry, Registry)
	}
	return nil
}
