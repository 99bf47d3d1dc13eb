package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/stage"
)

type options struct {
	keep    bool
	timeout time.Duration
	dir     string
}

// demo is everything that runs. What is started is stopped by run in the opposite order.
type demo struct {
	options
	root  string
	out   io.Writer
	began time.Time
	stage *stage.Stage
	// before is what CloudStack had before the cluster.
	before cloudsim.Inventory
	watch  *watch
	stops  []func() error
}

// step is one line of the demo: what it says, and what it does.
type step struct {
	says string
	do   func(context.Context) (string, error)
}

// run goes through the steps and leaves nothing running.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	d := &demo{options: o, root: root, out: out, began: time.Now()}
	if !filepath.IsAbs(d.dir) {
		d.dir = filepath.Join(root, d.dir)
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	steps := []step{
		{"an empty folder", d.prepare},
		{"CloudStack, an image mirror and a management cluster", d.setStage},
		{"clusterctl init --infrastructure cloudstack", d.init},
		{"kubectl apply: the sample catalogs", d.applyCatalogs},
		{"kubectl apply: a cluster of " + firstVersion, d.applyCluster},
	}
	for i, s := range steps {
		began := time.Now()
		fmt.Fprintf(out, "%d/%d  %s ... ", i+1, len(steps), s.says)
		note, err := s.do(ctx)
		if err != nil {
			fmt.Fprintln(out, "failed")
			return err
		}
		fmt.Fprintf(out, "%s (%.1fs)\n", note, time.Since(began).Seconds())
	}
	if err := d.play(ctx); err != nil {
		return d.explain(err)
	}
	if o.keep {
		return d.linger(ctx)
	}
	if err := d.end(ctx); err != nil {
		return d.explain(err)
	}
	fmt.Fprintf(out, "The demo took %s.\n", time.Since(d.began).Round(time.Second))
	return nil
}

// play is what there is to see: images and a cluster come, and the cluster is upgraded.
func (d *demo) play(ctx context.Context) error {
	fmt.Fprintln(d.out, "\nThe images arrive, and machines are made of them as soon as theirs is there:")
	d.watch = d.newWatch()
	if err := d.watch.until(ctx, "the cluster and the images", func(s *scene) (bool, error) {
		settled, err := s.settled()
		return settled && s.runs(firstVersion), err
	}); err != nil {
		return err
	}
	if err := d.report(ctx); err != nil {
		return err
	}
	if err := d.tabulate(ctx); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nOne field is changed: spec.topology.version of the Cluster becomes %s.\n", nextVersion)
	if err := d.upgrade(ctx); err != nil {
		return err
	}
	if err := d.watch.until(ctx, "the upgrade", func(s *scene) (bool, error) { return s.runs(nextVersion), nil }); err != nil {
		return err
	}
	return d.tabulate(ctx)
}

// asides puts what is said in the middle of a step on lines of its own.
type asides struct{ w io.Writer }

func (a asides) Write(b []byte) (int, error) {
	for line := range strings.Lines(string(b)) {
		if _, err := fmt.Fprintf(a.w, "\n       %s ", strings.TrimSpace(line)); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// linger says how to look around and waits to be interrupted.
func (d *demo) linger(ctx context.Context) error {
	env := filepath.Join(d.dir, "env")
	if err := d.stage.WriteEnvironment(env, d.stage.Management); err != nil {
		return err
	}
	fmt.Fprintf(d.out, `
Everything is still running. Look around in another terminal:

  source %s
  kubectl get tcat,csimg,cluster,machines,cloudstackmachines
  clusterctl describe cluster %s

CloudStack answers at %s; its control endpoint is %s.
Logs are in %s. Press Ctrl-C to stop everything.
`, env, clusterName, d.stage.Cloud.URL, d.stage.Cloud.Control, d.dir)
	select {
	case <-ctx.Done():
		fmt.Fprintln(d.out, "stopping")
		return nil
	case <-d.stage.Cloud.Process.Done():
		return fmt.Errorf("the simulated CloudStack ended by itself: %w\n%s", d.stage.Cloud.Process.Err(), d.stage.Cloud.Process.Tail())
	}
}

func (d *demo) onStop(f func() error) { d.stops = append(d.stops, f) }

func (d *demo) stop() error {
	var errs []error
	for i := len(d.stops) - 1; i >= 0; i-- {
		errs = append(errs, d.stops[i]())
	}
	return errors.Join(errs...)
}
