package controlplane

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const crdTimeout = time.Minute

// installCRDs creates or updates every CustomResourceDefinition under the paths and waits until they are served.
func installCRDs(config *rest.Config, paths []string) error {
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{
		Paths: paths, ErrorIfPathMissing: true, MaxTime: crdTimeout, PollInterval: 100 * time.Millisecond,
	})
	if err != nil {
		return fmt.Errorf("installing CRDs: %w", err)
	}
	return nil
}

// ClusterAPICRDs returns the folder that has the CRDs of Cluster API's core, in the version that this module requires.
func ClusterAPICRDs(ctx context.Context) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api")
	cmd.Dir = root
	dir, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("finding the module of Cluster API: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "core", "config", "crd", "bases"), nil
}

// DefaultCRDs returns where the CRDs of this repository and those of Cluster API's core are.
func DefaultCRDs(ctx context.Context) ([]string, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	core, err := ClusterAPICRDs(ctx)
	if err != nil {
		return nil, err
	}
	return []string{filepath.Join(root, "config", "crd", "bases"), core}, nil
}
