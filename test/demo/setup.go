package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/stage"
)

const (
	contentBytes = 4 << 20 // what is written to each disk
	mirrorRate   = 2 << 20 // bytes a second for each download
	secretName   = "cloudstack"
	namespace    = "default"
)

// files are what the sample catalogs name.
func files() []stage.File {
	return append(stage.Files("ubuntu-2404-kube", "v1.33.1", "v1.34.2"), stage.Hostile("kvm/hostile.qcow2"))
}

func (d *demo) startMirror(context.Context) (string, error) {
	dir := filepath.Join(d.dir, "images")
	all := files()
	total, err := stage.MakeImages(dir, contentBytes, all)
	if err != nil {
		return "", err
	}
	if d.mirror, err = stage.StartMirror(dir, mirrorRate); err != nil {
		return "", err
	}
	d.onStop(d.mirror.Stop)
	return fmt.Sprintf("%d files of %.1f MiB together at http://%s", len(all), float64(total)/(1<<20), d.mirror.Addr), nil
}

func (d *demo) startControlPlane(ctx context.Context) (string, error) {
	plane, err := controlplane.Start(ctx, controlplane.Options{Dir: filepath.Join(d.dir, "controlplane"), Out: asides{d.out}})
	if err != nil {
		return "", err
	}
	d.plane = plane
	d.onStop(plane.Stop)
	kubeconfig, err := plane.Kubeconfig()
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(d.kubeconfig(), kubeconfig, 0o600); err != nil {
		return "", err
	}
	if d.client, err = stage.NewClient(plane.Config()); err != nil {
		return "", err
	}
	return plane.Config().Host, nil
}

// startCloud runs the simulator and hands an ordinary user's keys to the catalogs.
func (d *demo) startCloud(ctx context.Context) (string, error) {
	var err error
	if d.serveAddr, err = stage.FreeAddr(); err != nil {
		return "", err
	}
	d.cloud, err = stage.StartCloud(ctx, stage.CloudOptions{
		Program: filepath.Join(d.root, "bin", "cloudsim"), Dir: d.dir,
		Resolve: map[string]string{stage.MirrorHost: d.mirror.Addr, stage.ServeHost: d.serveAddr},
	})
	if err != nil {
		return "", err
	}
	d.onStop(d.cloud.Process.Stop)
	if err := d.cloud.Set(ctx, "allow.user.expunge.recover.vm", "true"); err != nil {
		return "", err
	}
	secret, err := d.cloud.Secret("user", namespace, secretName)
	if err != nil {
		return "", err
	}
	return d.cloud.URL, d.client.Create(ctx, secret)
}

// startManager installs the admission webhooks with a certificate of their own and runs the manager.
func (d *demo) startManager(ctx context.Context) (string, error) {
	hooks := envtest.WebhookInstallOptions{
		Paths: []string{filepath.Join(d.root, "config", "webhook", "manifests.yaml")}, LocalServingHost: "127.0.0.1",
	}
	if err := hooks.Install(d.plane.Config()); err != nil {
		return "", fmt.Errorf("installing the webhooks: %w", err)
	}
	d.onStop(hooks.Cleanup)
	account, err := stage.ManagerAccount(ctx, d.plane.Config(), namespace)
	if err != nil {
		return "", err
	}
	kubeconfig := filepath.Join(d.dir, "manager.kubeconfig")
	if err := os.WriteFile(kubeconfig, account, 0o600); err != nil {
		return "", err
	}
	d.manager, err = stage.StartManager(ctx, stage.ManagerOptions{
		Program: filepath.Join(d.root, "bin", "manager"), Dir: d.dir, Kubeconfig: kubeconfig,
		Mirror: d.mirror.Addr, ServeAddr: d.serveAddr,
		Args: []string{"--webhook-port=" + strconv.Itoa(hooks.LocalServingPort), "--webhook-cert-dir=" + hooks.LocalServingCertDir},
	})
	if err != nil {
		return "", err
	}
	d.onStop(d.manager.Stop)
	return fmt.Sprintf("process %d", d.manager.PID()), nil
}
