package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/stage"
)

// Goals of the calls that the manager makes, and of what it needs.
const (
	goalCluster  = 20  // calls for a cluster without machines
	goalWorker   = 2.5 // calls a worker, amortised over at least amortised of them
	amortised    = 100
	goalSmall    = 45 // calls for a cluster with three control-plane machines and three workers
	goalSteady   = 6  // calls a minute for one cluster of less than page machines
	goalFurther  = 4  // more calls a minute for each further cluster of the same credentials
	goalDelete   = 3  // calls a machine
	small        = 6  // machines: the most whose creation is judged as a whole, the least whose deletion is judged
	goalDestroys = 12 * time.Second
	// What two measurements of the same differ by: the bench takes part of the time itself, and a look may come right after
	// something ended or just before.
	toleranceLeast, toleranceShare = time.Second, 20
	destroys                       = 50  // machines that are deleted in that time
	goalManager                    = 400 // MiB
	page                           = 500 // machines
	managerWorkers                 = 10  // machines that a manager works on at one time, by default
	deployTakes                    = 1900 * time.Millisecond
	defaultCrews                   = "3+3,3x3+3,10,50,100,1000"
)

// crew is what one manager works on: so many clusters of the same credentials with so many machines each.
type crew struct {
	name                   string
	clusters               int
	controlPlanes, workers int
}

// size is how many machines a crew has.
func (c crew) size() int { return c.clusters * (c.controlPlanes + c.workers) }

// parseCrews reads a list of crews: workers, control-plane machines + workers, or clusters x either.
func parseCrews(text string) ([]crew, error) {
	var all []crew
	for name := range strings.SplitSeq(text, ",") {
		c := crew{name: strings.TrimSpace(name), clusters: 1}
		rest := c.name
		var err error
		if clusters, machines, several := strings.Cut(rest, "x"); several {
			rest = machines
			c.clusters, err = strconv.Atoi(clusters)
		}
		if controlPlanes, workers, both := strings.Cut(rest, "+"); both && err == nil {
			rest = workers
			c.controlPlanes, err = strconv.Atoi(controlPlanes)
		}
		if err == nil {
			c.workers, err = strconv.Atoi(rest)
		}
		if err != nil || c.clusters < 1 || c.controlPlanes < 0 || c.workers < 0 || c.size() < 1 || c.size() > 4000 {
			return nil, fmt.Errorf("%q is no crew of 1 to 4000 machines such as 10, 3+3 or 3x3+3", name)
		}
		all = append(all, c)
	}
	return all, nil
}

// account is everything that a crew cost.
type account struct {
	crew
	founding  bill // of the clusters
	creation  bill // of their machines
	steady    float64
	removal   bill  // of the machines
	ending    bill  // of the clusters
	parts     parts // of the creation
	reference reference
	atOnce    int // deployments that were under way at one time, at most
	peak      float64
	peakKnown bool
}

// apiServer gives the API server to use, and what ends it.
func (b *bench) apiServer(ctx context.Context) (*rest.Config, func() error, error) {
	if b.kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", b.kubeconfig)
		return config, func() error { return nil }, err
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{Out: b.out})
	if err != nil {
		return nil, nil, err
	}
	return plane.Config(), plane.Stop, nil
}

// calls measures how the manager treats the API: each crew has a simulator and a manager of its own, as processes, and the same
// Kubernetes API server. What needs a clock on the wall comes one after another, but for the steady state.
func (b *bench) calls(ctx context.Context) (err error) {
	dir := filepath.Join(b.dir, "calls")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\ncalls of the manager: building and starting what is needed\n")
	log.SetLogger(logr.Discard())
	if err := stage.Build(ctx, dir, "manager", "cloudsim"); err != nil {
		return err
	}
	kube, stop, err := b.apiServer(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	images := filepath.Join(dir, "images")
	if _, err := stage.MakeImages(images, imageBytes, stage.Files("node", version)); err != nil {
		return err
	}
	mirror, err := stage.StartMirror(images, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mirror.Stop()) }()
	var sites []*site
	defer func() {
		for _, s := range sites {
			err = errors.Join(err, s.stop())
		}
	}()
	for i, c := range b.crews {
		s := &site{account: account{crew: c}, dir: filepath.Join(dir, fmt.Sprint(i)), programs: dir}
		sites = append(sites, s)
		if err := s.start(ctx, kube, mirror); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := s.create(ctx); err != nil {
			return fmt.Errorf("creating %s: %w", c.name, err)
		}
		fmt.Fprintf(b.out, "  %s: created in %.1f s\n", c.name, s.creation.took.Seconds())
	}
	fmt.Fprintf(b.out, "  watching the steady state for %s\n", b.steady)
	var watching errgroup.Group
	for _, s := range sites {
		watching.Go(func() error { return s.rest(ctx, b.steady) })
	}
	if err := watching.Wait(); err != nil {
		return err
	}
	for _, s := range sites {
		if err := s.remove(ctx); err != nil {
			return fmt.Errorf("deleting %s: %w", s.name, err)
		}
		fmt.Fprintf(b.out, "  %s: deleted in %.1f s\n", s.name, s.removal.took.Seconds())
	}
	return b.verdict(sites)
}
