package stage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/process"
)

// ServeHost is the name under which the simulator's storage reaches the manager's image server. A real CloudStack refuses
// loopback addresses, and so does the simulator.
const ServeHost = "capcat.example.org"

// ManagerOptions say how to run the manager.
type ManagerOptions struct {
	// Program is the path of the manager.
	Program string
	// Dir is where its log and its store go.
	Dir string
	// Kubeconfig is the path of the API server's.
	Kubeconfig string
	// Mirror is the address of the mirror that answers as the proxy.
	Mirror string
	// ServeAddr is where the image server listens.
	ServeAddr string
	// Args are added at the end, so that they win.
	Args []string
}

// StartManager runs the manager as a process, the way the Deployment does, and returns when it is ready.
func StartManager(ctx context.Context, o ManagerOptions) (*process.Process, error) {
	health, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(o.Dir, "store")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, fmt.Errorf("making the store's folder: %w", err)
	}
	args := []string{
		"--health-addr=" + health, "--diagnostics-address=0", "--insecure-diagnostics", "--webhook-port=0",
		"--data-dir=" + data, "--serve-addr=" + o.ServeAddr, "--serve-external-url=http://" + ServeHost,
		"--fetch-use-proxy", "--pull-hosts=" + MirrorHost,
	}
	return process.Start(ctx, process.Spec{
		Name: "manager", Path: o.Program, Args: append(args, o.Args...),
		Env: []string{"KUBECONFIG=" + o.Kubeconfig, "HTTP_PROXY=http://" + o.Mirror, "http_proxy=", "HTTPS_PROXY=", "https_proxy=", "NO_PROXY=", "no_proxy="},
		Log: filepath.Join(o.Dir, "manager.log"),
		Ready: func(ctx context.Context) error {
			return ask(ctx, http.MethodGet, "http://"+health+"/readyz", http.NoBody)
		},
	})
}

// ask wants the answer to be 200.
func ask(ctx context.Context, method, url string, body io.Reader) error {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
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

// Scheme knows the kinds that a user story reads and writes.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return s, nil
}

// NewClient returns an uncached client of Scheme that is not held back: many stories ask through one.
func NewClient(config *rest.Config) (client.WithWatch, error) {
	s, err := Scheme()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	return client.NewWithWatch(config, client.Options{Scheme: s})
}
