package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/stage"
)

const (
	namespace = "default"
	zonesTime = 30 * time.Minute
	look      = 2 * time.Second
)

// plane starts a control plane without what an earlier proof left in it.
func (p proof) plane(ctx context.Context) (*controlplane.ControlPlane, error) {
	dir := filepath.Join(p.dir, "controlplane")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	return controlplane.Start(ctx, controlplane.Options{Dir: dir, Out: p.out})
}

// zones applies the catalog with the entry as the build wrote it, and waits until the image is ready in every zone.
func (p proof) zones(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, zonesTime)
	defer cancel()
	var stops []func() error
	defer func() {
		for i := len(stops) - 1; i >= 0; i-- {
			err = errors.Join(err, stops[i]())
		}
	}()
	if err := stage.Build(ctx, p.bin(), "manager", "cloudsim"); err != nil {
		return err
	}
	plane, err := p.plane(ctx)
	if err != nil {
		return err
	}
	stops = append(stops, plane.Stop)
	c, err := stage.NewClient(plane.Config())
	if err != nil {
		return err
	}
	mirror, err := stage.StartMirror(p.images(), 0)
	if err != nil {
		return err
	}
	stops = append(stops, mirror.Stop)
	serve, err := stage.FreeAddr()
	if err != nil {
		return err
	}
	cloud, err := stage.StartCloud(ctx, stage.CloudOptions{
		Program: filepath.Join(p.bin(), "cloudsim"), Dir: p.dir, Resolve: map[string]string{stage.MirrorHost: mirror.Addr, stage.ServeHost: serve},
	})
	if err != nil {
		return err
	}
	stops = append(stops, cloud.Process.Stop)
	secret, err := cloud.Secret("user", namespace, "cloudstack")
	if err != nil {
		return err
	}
	if err := c.Create(ctx, secret); err != nil {
		return err
	}
	account, err := stage.ManagerAccount(ctx, plane.Config(), namespace)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(p.dir, "manager.kubeconfig")
	if err := os.WriteFile(kubeconfig, account, 0o600); err != nil {
		return err
	}
	manager, err := stage.StartManager(ctx, stage.ManagerOptions{
		Program: filepath.Join(p.bin(), "manager"), Dir: p.dir, Kubeconfig: kubeconfig, Mirror: mirror.Addr, ServeAddr: serve,
	})
	if err != nil {
		return err
	}
	stops = append(stops, manager.Stop)
	return p.ready(ctx, c)
}

// ready applies the file and watches.
func (p proof) ready(ctx context.Context, c client.Client) error {
	text, err := os.ReadFile(p.catalog())
	if err != nil {
		return err
	}
	var catalog infrav1.TemplateCatalog
	if err := yaml.UnmarshalStrict(text, &catalog); err != nil {
		return fmt.Errorf("reading the catalog: %w", err)
	}
	if err := c.Create(ctx, &catalog); err != nil {
		return fmt.Errorf("applying the catalog: %w", err)
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	last := ""
	for {
		if err := c.Get(ctx, client.ObjectKeyFromObject(&catalog), &catalog); err != nil {
			return err
		}
		if n := catalog.Status.Images; n != nil && n.Summary != last {
			last = n.Summary
			fmt.Fprintf(p.out, "%s images are ready\n", last)
		}
		if n := catalog.Status.Images; meta.IsStatusConditionTrue(catalog.Status.Conditions, infrav1.ConditionReady) && n != nil && n.Ready == 3 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the catalog is not ready: %+v: %w", catalog.Status.Conditions, context.Cause(ctx))
		case <-tick.C:
		}
	}
}
