// Command write writes the artefacts of a release into a folder.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/capcat/capcat/test/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o := release.Options{Out: os.Stderr}
	flag.StringVar(&o.Version, "version", "", "version of the release, such as v0.1.0")
	flag.StringVar(&o.Registry, "registry", release.Registry, "registry of the manager's image")
	out := flag.String("out", "out", "folder that becomes a local repository of clusterctl")
	flag.Parse()
	if o.Version == "" {
		return fmt.Errorf("say which version is released, such as make release VERSION=v0.1.0")
	}
	o.Dir = filepath.Join(*out, release.Provider, o.Version)
	if err := release.Write(ctx, o); err != nil {
		return err
	}
	files, err := os.ReadDir(o.Dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		fmt.Fprintln(os.Stdout, filepath.Join(o.Dir, f.Name()))
	}
	return nil
}
