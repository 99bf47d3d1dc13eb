//go:build e2e

package clusters

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/scratch"
	"github.com/capcat/capcat/test/stage"
)

// tier is what boots in the machines: the in-memory API server of Cluster API's tests, or real kube-apiserver and etcd.
var tier = flag.String("tier", stage.TierInMemory, "what boots in the machines: inmemory or real")

// imageName is that of the files on the mirror, and versions are those that it has.
const imageName = "node"

func versions() []string {
	return []string{"v1.33.1", "v1.34.2", "v1.34.3", "v1.35.0", "v1.36.1"}
}

// nextVersion of our provider is there to upgrade to.
const nextVersion = "v0.1.1"

// world is what all stories share: one mirror, one CloudStack, one management cluster with our provider in it.
var world *stage.Stage

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetLogger(logr.Discard())
	code, err := run(context.Background(), m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// unbound lets the one account of all stories have as much as it likes: told side by side they need more than an account is given.
func unbound(ctx context.Context) error {
	for _, kind := range []string{"user.vms", "volumes", "cpus", "memory", "primary.storage", "networks", "vpcs", "public.ips", "templates"} {
		if err := world.Cloud.Set(ctx, "max.account."+kind, "-1"); err != nil {
			return err
		}
	}
	return nil
}

// run sets the stage, tells the stories, and wants a cloud that has nothing more than before.
func run(ctx context.Context, m *testing.M) (code int, err error) {
	folder, err := scratch.Take("capcat-stories")
	if err != nil {
		return 1, err
	}
	defer func() {
		if code == 0 && err == nil {
			err = folder.Remove()
			return
		}
		err = errors.Join(err, folder.KeepLogs())
		fmt.Fprintln(os.Stderr, "all logs are kept until the next run, in", folder.Path)
	}()
	programs := filepath.Join(folder.Path, "programs")
	if err := errors.Join(os.MkdirAll(programs, 0o755), stage.Build(ctx, programs, "manager", "cloudsim")); err != nil {
		return 1, err
	}
	world, err = stage.Open(ctx, stage.Options{
		Programs: programs, Dir: filepath.Join(folder.Path, "stage"), Files: stage.Files(imageName, versions()...), Tier: *tier,
		Versions: []string{stage.Version, nextVersion},
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	if err := errors.Join(world.Init(ctx), unbound(ctx)); err != nil {
		return 1, err
	}
	before, err := world.Cloud.Inventory(ctx)
	if err != nil {
		return 1, err
	}
	code = m.Run()
	return code, clean(ctx, before)
}

// expungePatience is longer than CloudStack keeps what was destroyed.
const expungePatience = 2 * time.Minute

// clean wants CloudStack to have what it had before, as soon as it has expunged what was destroyed.
func clean(ctx context.Context, before cloudsim.Inventory) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for end := time.Now().Add(expungePatience); ; <-tick.C {
		after, err := world.Cloud.Inventory(ctx)
		if err != nil {
			return err
		}
		leaks := stage.Leaks(before, after)
		switch {
		case leaks == "":
			return nil
		case time.Now().After(end):
			return fmt.Errorf("CloudStack has not what it had before the stories (-), but (+):\n%s", leaks)
		}
	}
}
