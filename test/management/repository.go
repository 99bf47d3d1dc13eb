package management

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/capcat/capcat/test/controlplane"
)

const (
	certManagerModule = "github.com/cert-manager/cert-manager"
	clusterAPIModule  = "sigs.k8s.io/cluster-api"
	releasedImages    = "registry.k8s.io/cluster-api/"
	builtImages       = "gcr.io/k8s-staging-cluster-api/"
)

// ours are the providers of Cluster API itself: their folders in its module, and their names for clusterctl.
func ours() []struct{ source, label, file, name, kind string } {
	return []struct{ source, label, file, name, kind string }{
		{"core", "cluster-api", "core-components.yaml", "cluster-api", "CoreProvider"},
		{"bootstrap/kubeadm", "bootstrap-kubeadm", "bootstrap-components.yaml", "kubeadm", "BootstrapProvider"},
		{"controlplane/kubeadm", "control-plane-kubeadm", "control-plane-components.yaml", "kubeadm", "ControlPlaneProvider"},
	}
}

// repository renders the components of Cluster API from its module as a release of it would have them, in a folder as clusterctl
// wants it. It is kept in the cache.
func (c *Cluster) repository(ctx context.Context) ([]Provider, error) {
	cache, err := controlplane.CacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "repository-"+controlplane.ClusterAPIVersion)
	var all []Provider
	complete := true
	for _, p := range ours() {
		components := filepath.Join(dir, p.label, controlplane.ClusterAPIVersion, p.file)
		all = append(all, Provider{Name: p.name, Type: p.kind, Components: components})
		_, err := os.Stat(components)
		complete = complete && err == nil
	}
	if complete {
		return all, nil
	}
	return all, c.renderAll(ctx, dir)
}

func (c *Cluster) renderAll(ctx context.Context, dir string) error {
	module, err := controlplane.ModuleDir(ctx, ".", clusterAPIModule)
	if err != nil {
		return err
	}
	metadata, err := os.ReadFile(filepath.Join(module, "metadata.yaml"))
	if err != nil {
		return fmt.Errorf("reading the metadata of Cluster API: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range ours() {
		at := filepath.Join(dir, p.label, controlplane.ClusterAPIVersion)
		g.Go(func() error {
			return c.render(ctx, filepath.Join(module, p.source, "config", "default"), at, p.file, metadata)
		})
	}
	return g.Wait()
}

func (c *Cluster) render(ctx context.Context, from, at, file string, metadata []byte) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, c.programs.Kubectl, "kustomize", from)
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("rendering %s: %w: %s", file, err, strings.TrimSpace(said.String()))
	}
	text = bytes.ReplaceAll(text, []byte(builtImages), []byte(releasedImages))
	text = bytes.ReplaceAll(text, []byte("-controller:main"), []byte("-controller:"+controlplane.ClusterAPIVersion))
	text = bytes.ReplaceAll(text, []byte("imagePullPolicy: Always"), []byte("imagePullPolicy: IfNotPresent"))
	if err := os.MkdirAll(at, 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := write(at, map[string]string{"metadata.yaml": string(metadata)}); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return write(at, map[string]string{file: string(text)}) // last: it says that all is there
}

// certificateCRDs are those of cert-manager: clusterctl wants to see that its API works.
func certificateCRDs(ctx context.Context) ([]string, error) {
	dir, err := controlplane.ModuleDir(ctx, "test/management/certmanager", certManagerModule)
	if err != nil {
		return nil, err
	}
	return []string{filepath.Join(dir, "deploy", "crds")}, nil
}
