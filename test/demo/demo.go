package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/process"
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
	root    string
	out     io.Writer
	mirror  *stage.Mirror
	plane   *controlplane.ControlPlane
	cloud   *stage.Cloud
	manager *process.Process
	client  client.Client
	stops   []func() error

	serveAddr string
	trial     trial
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
	d := &demo{options: o, root: root, out: out}
	if !filepath.IsAbs(d.dir) {
		d.dir = filepath.Join(root, d.dir)
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	steps := []step{
		{"an empty folder", d.prepare},
		{"an image mirror with real images", d.startMirror},
		{"a control plane", d.startControlPlane},
		{"CloudStack, simulated", d.startCloud},
		{"the manager", d.startManager},
		{"the sample catalogs", d.applySamples},
		{"a cluster without machines", d.applyCluster},
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
	if err := d.watch(ctx); err != nil {
		return d.explain(err)
	}
	if err := d.report(ctx); err != nil {
		return err
	}
	if err := d.cluster(ctx); err != nil {
		return err
	}
	if o.keep {
		return d.linger(ctx)
	}
	return nil
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

// prepare empties the folder and locks it, so that two demos do not share one.
func (d *demo) prepare(context.Context) (string, error) {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(d.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	d.onStop(lock.Close)
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return "", fmt.Errorf("another demo runs in %s: stop it first", d.dir)
	}
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Name() == "lock" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(d.dir, e.Name())); err != nil {
			return "", err
		}
	}
	return d.dir, nil
}

func (d *demo) kubeconfig() string { return filepath.Join(d.dir, "kubeconfig") }

// linger says how to look around and waits to be interrupted.
func (d *demo) linger(ctx context.Context) error {
	fmt.Fprintf(d.out, `
Everything is still running. Look around in another terminal:

  export KUBECONFIG=%s
  kubectl get tcat,csimg,cloudstackclusters,cloudstackmachines
  kubectl describe csimg

CloudStack answers at %s; its control endpoint is %s.
Logs are in %s. Press Ctrl-C to stop everything.
`, d.kubeconfig(), d.cloud.URL, d.cloud.Control, d.dir)
	select {
	case <-ctx.Done():
		fmt.Fprintln(d.out, "stopping")
		return nil
	case <-d.manager.Done():
		return fmt.Errorf("the manager ended by itself: %w\n%s", d.manager.Err(), d.manager.Tail())
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
