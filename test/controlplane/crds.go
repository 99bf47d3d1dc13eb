package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// ModuleDir returns the folder of a module in the version that the module in a folder of this repository requires, and downloads
// it if need be.
func ModuleDir(ctx context.Context, from, module string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join(root, from)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	text, err := cmd.Output()
	var found struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(text, &found); err == nil {
		err = jsonErr
	}
	if err != nil {
		return "", fmt.Errorf("downloading module %s: %w: %s", module, err, found.Error)
	}
	return found.Dir, nil
}

// ClusterAPICRDs returns the folder that has the CRDs of Cluster API's core, in the version that this module requires.
func ClusterAPICRDs(ctx context.Context) (string, error) {
	dir, err := ModuleDir(ctx, ".", clusterModule)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "core", "config", "crd", "bases"), nil
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
