// Command serve sets the stage for people who follow the samples: a simulated CloudStack whose machines boot, a mirror with node
// images, and a management cluster that clusterctl finds. It runs until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/stage"
)

// options are the flags.
type options struct {
	dir, programs, versions, tier string
	two                           bool
}

func main() {
	ctrl.SetLogger(logr.Discard())
	var o options
	flag.StringVar(&o.dir, "dir", ".management", "folder for everything, seen from the top of the repository; it is emptied at the start")
	flag.StringVar(&o.programs, "programs", "bin", "folder with manager and cloudsim, seen from the top of the repository")
	flag.StringVar(&o.versions, "versions", "v1.33.1,v1.34.2,v1.34.3,v1.35.0,v1.36.1", "versions of Kubernetes that the mirror has images of")
	flag.StringVar(&o.tier, "tier", stage.TierInMemory, "what boots in the machines: inmemory or real")
	flag.BoolVar(&o.two, "two", false, "start a second management cluster, for clusterctl move")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	dir := within(root, o.dir)
	giveBack, err := stage.TakeFolder(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, giveBack()) }()
	fmt.Fprintln(out, "starting CloudStack, an image mirror and a management cluster in", dir)
	s, err := stage.Open(ctx, stage.Options{
		Programs: within(root, o.programs), Dir: dir, Out: out, Tier: o.tier,
		Files: files(strings.Split(o.versions, ",")),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.WriteEnvironment(filepath.Join(dir, "env"), s.Management); err != nil {
		return err
	}
	if o.two {
		if err := second(ctx, dir, s); err != nil {
			return err
		}
	}
	introduce(out, dir, s)
	if o.two {
		fmt.Fprintf(out, "\nThe second management cluster is used with:\n\n  source %s\n", filepath.Join(dir, "env-2"))
	}
	fmt.Fprintln(out, "\nPress Ctrl-C to stop everything.")
	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "stopping")
		return nil
	case <-s.Cloud.Process.Done():
		return fmt.Errorf("the simulated CloudStack ended by itself: %w\n%s", s.Cloud.Process.Err(), s.Cloud.Process.Tail())
	}
}

// files are what the samples name: one folder for each hypervisor, and one folder as "capcat build" fills it.
func files(versions []string) []stage.File {
	return slices.Concat(stage.Files("ubuntu-2404-kube", versions...), stage.FilesIn("nodes", "ubuntu-24.04-kube", versions...))
}

func within(root, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(root, path)
}

func second(ctx context.Context, dir string, s *stage.Stage) error {
	c, err := s.Second(ctx)
	if err != nil {
		return err
	}
	return s.WriteEnvironment(filepath.Join(dir, "env-2"), c)
}

func introduce(out io.Writer, dir string, s *stage.Stage) {
	fmt.Fprintf(out, `
Everything runs. In another terminal:

  source %[1]s
  clusterctl init --infrastructure cloudstack --wait-providers
  kubectl create secret generic cloudstack --from-literal=api-url=$CLOUDSTACK_API_URL \
    --from-literal=api-key=$CLOUDSTACK_API_KEY --from-literal=secret-key=$CLOUDSTACK_SECRET_KEY --from-file=ca-cert=$CLOUDSTACK_CA_FILE

The file sets KUBECONFIG, clusterctl's configuration, the keys of CloudStack, and puts clusterctl and kubectl into the PATH.
CloudStack answers at %[2]s; its control endpoint is %[3]s.
Images are at http://%[4]s, which the manager and CloudStack know as http://%[5]s. Logs are in %[6]s.
`, filepath.Join(dir, "env"), s.Cloud.URL, s.Cloud.Control, s.Mirror.Addr, stage.MirrorHost, filepath.Join(s.Management.Dir, "logs"))
}
