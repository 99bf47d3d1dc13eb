package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/process"
)

func newClient(config *rest.Config) (client.Client, error) {
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		return nil, err
	}
	if err := infrav1.AddToScheme(s); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: s})
}

// startManager installs the admission webhooks with a certificate of their own and runs the manager as a process, the way the
// Deployment does.
func (d *demo) startManager(ctx context.Context) (string, error) {
	hooks := envtest.WebhookInstallOptions{
		Paths: []string{filepath.Join(d.root, "config", "webhook", "manifests.yaml")}, LocalServingHost: "127.0.0.1",
	}
	if err := hooks.Install(d.plane.Config()); err != nil {
		return "", fmt.Errorf("installing the webhooks: %w", err)
	}
	d.onStop(hooks.Cleanup)
	health, err := freeAddr()
	if err != nil {
		return "", err
	}
	data := filepath.Join(d.dir, "store")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return "", err
	}
	d.manager, err = process.Start(ctx, process.Spec{
		Path: filepath.Join(d.root, "bin", "manager"),
		Args: []string{
			"--health-addr=" + health, "--diagnostics-address=0", "--insecure-diagnostics",
			"--webhook-port=" + strconv.Itoa(hooks.LocalServingPort), "--webhook-cert-dir=" + hooks.LocalServingCertDir,
			"--data-dir=" + data, "--serve-addr=" + d.cloud.serveAddr, "--serve-external-url=http://" + serveHost,
			"--fetch-allow-loopback", "--fetch-use-proxy",
		},
		// The name in the sample catalogs does not exist; the mirror answers for it as a proxy.
		Env:   []string{"KUBECONFIG=" + d.kubeconfig(), "HTTP_PROXY=http://" + d.mirror.addr, "http_proxy=", "NO_PROXY=", "no_proxy="},
		Log:   filepath.Join(d.dir, "manager.log"),
		Ready: func(ctx context.Context) error { return healthy(ctx, "http://"+health+"/readyz") },
	})
	if err != nil {
		return "", err
	}
	d.onStop(d.manager.Stop)
	return fmt.Sprintf("process %d", d.manager.PID()), nil
}

func healthy(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}
