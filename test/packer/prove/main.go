// Command prove makes an image of a Debian without the internet, boots it, and brings it into three simulated zones.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/capcat/capcat/packer/build"
	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/packer"
	"github.com/capcat/capcat/test/stage"
)

func main() {
	dir := flag.String("dir", filepath.Join("bin", "packer-build"), "folder for everything that is made; it is emptied first")
	system := flag.String("os", "debian-12", "operating system of the image: "+strings.Join(packer.Systems(), " or "))
	outputs := flag.String("output", strings.Join(build.Outputs(), ","), "files to make; the .bz2 take the longest, and qcow2, ova and vhd are enough for the zones")
	offline := flag.Bool("offline", false, "do the part without the internet; the folder is prepared (for the program itself)")
	reuse := flag.Bool("reuse", false, "take image and catalog that an earlier run made in the folder")
	zones := flag.Bool("zones", false, "do only the last part, with the image and the catalog that lie in the folder")
	flag.Parse()
	log.SetLogger(logr.Discard()) // what libraries say is not for the person who watches
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := proof{out: os.Stdout, system: *system, outputs: *outputs, reuse: *reuse, onlyZones: *zones, start: time.Now()}
	if !slices.Contains(packer.Systems(), *system) {
		fmt.Fprintf(os.Stderr, "not proved: -os is %s, not %q\n", strings.Join(packer.Systems(), " or "), *system)
		os.Exit(2)
	}
	var err error
	if p.dir, err = filepath.Abs(*dir); err == nil {
		if p.root, err = controlplane.Root(); err == nil {
			err = p.run(ctx, *offline)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "not proved:", err)
		os.Exit(1)
	}
}

// proof is one run.
type proof struct {
	out     io.Writer
	system  string
	outputs string
	dir     string // everything that is made
	root    string // of the repository
	reuse   bool
	start   time.Time

	onlyZones bool
}

// paths below the folder.
func (p proof) mirror() string  { return filepath.Join(p.dir, "mirror") }
func (p proof) images() string  { return filepath.Join(p.dir, "images") }
func (p proof) bin() string     { return filepath.Join(p.dir, "bin") }
func (p proof) catalog() string { return filepath.Join(p.dir, "catalog.yaml") }
func (p proof) base() string    { return filepath.Join(p.dir, "base.qcow2") }

// name is what the files of the image begin with.
func (p proof) name() string { return p.system + "-kube-" + packer.Version }

func (p proof) run(ctx context.Context, offline bool) error {
	if offline {
		return p.offline(ctx)
	}
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"base image, packages and Kubernetes", p.prepare},
		{"image, made and booted without a network", p.isolate},
		{"the entry, applied to three zones", p.zones},
	}
	if p.onlyZones {
		steps = steps[len(steps)-1:]
	}
	for _, s := range steps {
		began := time.Now()
		fmt.Fprintf(p.out, "--- %s\n", s.what)
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		fmt.Fprintf(p.out, "--- ok: %s (%s)\n", s.what, time.Since(began).Round(time.Second))
	}
	fmt.Fprintf(p.out, "proved in %s\n", time.Since(p.start).Round(time.Second))
	return nil
}

// catalogText is what the entry is appended to: three zones, one of each hypervisor.
const catalogText = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TemplateCatalog
metadata:
  name: built
  namespace: default
spec:
  identityRef: {name: cloudstack}
  zones:
  - name: zone-kvm
  - name: zone-vmware
  - name: zone-xenserver
`

// prepare uses the internet, for the last time.
func (p proof) prepare(ctx context.Context) error {
	if err := packer.CheckTools(); err != nil {
		return err
	}
	if p.reuse {
		return nil
	}
	if err := os.RemoveAll(p.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(p.bin(), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(p.catalog(), []byte(catalogText), 0o644); err != nil {
		return err
	}
	programs, err := packer.Kubernetes(ctx, p.out)
	if err != nil {
		return err
	}
	base, err := packer.MakeBase(ctx, p.out, p.system)
	if err != nil {
		return err
	}
	if err := os.Symlink(base.Disk, p.base()); err != nil {
		return err
	}
	if err := packer.LayOut(ctx, p.mirror(), p.system, programs, base); err != nil {
		return fmt.Errorf("laying out the mirror: %w", err)
	}
	return stage.Build(ctx, p.bin(), "capcat")
}
