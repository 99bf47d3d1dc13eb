package management

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/process"
)

// Cluster is a management cluster: a control plane with Kubernetes' controllers, certificates, and Deployments whose containers run
// as processes of this machine. Everything ends with the process that started it.
type Cluster struct {
	// Dir has data, logs and configuration.
	Dir string
	// Kubeconfig is the path of the administrator's.
	Kubeconfig string

	programs    controlplane.ManagementPrograms
	plane       *controlplane.ControlPlane
	controllers *process.Process
	pods        *pods
	logs        *os.File
	cancel      context.CancelFunc
	running     sync.WaitGroup
	runErr      error
}

// Start builds what is missing, boots the control plane and runs what makes it a management cluster. The context bounds the start
// only; the caller must Stop it.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c := &Cluster{}
	if err := c.start(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("starting a management cluster: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, o Options) (err error) {
	if err := o.complete(); err != nil {
		return err
	}
	if c.programs, err = controlplane.FindManagement(ctx, o.Out); err != nil {
		return err
	}
	o.withClusterAPI(c.programs)
	c.Dir, c.Kubeconfig = o.Dir, filepath.Join(o.Dir, "kubeconfig")
	if err := os.MkdirAll(filepath.Join(c.Dir, "logs"), 0o700); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.writeConfiguration(ctx, o) })
	g.Go(func() error { return c.startControlPlane(ctx, o) })
	if err := g.Wait(); err != nil {
		return err
	}
	return c.startReconcilers(o)
}

func (c *Cluster) startControlPlane(ctx context.Context, o Options) (err error) {
	crds, err := certificateCRDs(ctx)
	if err != nil {
		return err
	}
	c.plane, err = controlplane.Start(ctx, controlplane.Options{
		Dir: filepath.Join(c.Dir, "controlplane"), CRDPaths: crds, Out: o.Out,
		// Webhooks are then reached through EndpointSlices, as there is nobody who would make the addresses of Services work.
		APIServerArgs: []string{"--enable-aggregator-routing=true"},
	})
	if err != nil {
		return err
	}
	kubeconfig, err := c.plane.Kubeconfig()
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.Kubeconfig, kubeconfig, 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	c.controllers, err = process.Start(ctx, process.Spec{
		Path: c.programs.Controllers, Args: []string{"--kubeconfig=" + c.Kubeconfig}, Log: c.log("controllers"),
	})
	return err
}

func (c *Cluster) log(name string) string { return filepath.Join(c.Dir, "logs", name+".log") }

// startReconcilers plays the certificate manager and the kubelet.
func (c *Cluster) startReconcilers(o Options) (err error) {
	if c.logs, err = os.Create(c.log("management")); err != nil {
		return err
	}
	address, err := hostAddress()
	if err != nil {
		return err
	}
	m, err := newReconcilers(c.plane.Config(), logr.FromSlogHandler(slog.NewTextHandler(c.logs, nil)))
	if err != nil {
		return err
	}
	proxy, err := addServices(m)
	if err != nil {
		return err
	}
	c.pods = newPods(c, o.Programs, address, proxy)
	if err := errors.Join(addIssuer(m), addInjectors(m), addKubelet(m, c.pods)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.running.Go(func() { c.runErr = m.Start(ctx) })
	return nil
}

func newReconcilers(config *rest.Config, log logr.Logger) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	o := ctrl.Options{Scheme: scheme, Logger: log}
	o.Metrics.BindAddress = "0"
	yes := true
	o.Controller.SkipNameValidation = &yes // two clusters may be in one process
	m, err := ctrl.NewManager(config, o)
	if err != nil {
		return nil, fmt.Errorf("making the reconcilers: %w", err)
	}
	return m, nil
}

// Config returns a copy of the administrator's client configuration.
func (c *Cluster) Config() *rest.Config { return c.plane.Config() }

// Stop ends the managers, then the control plane. It may be called more than once.
func (c *Cluster) Stop() error {
	if c.cancel != nil {
		c.cancel()
		c.running.Wait()
	}
	errs := []error{c.runErr}
	if c.pods != nil {
		errs = append(errs, c.pods.stop())
	}
	errs = append(errs, c.controllers.Stop())
	if c.plane != nil {
		errs = append(errs, c.plane.Stop())
	}
	if c.logs != nil {
		_ = c.logs.Close() // nothing is written any more
	}
	return errors.Join(errs...)
}
