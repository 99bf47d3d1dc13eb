package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/capcat/capcat/test/controlplane"
)

// KustomizeVersion is the kustomize that renders the manifests; the Makefile has the same.
const KustomizeVersion = "v5.8.1"

// Kustomize renders a kustomization. Out is told when kustomize has to be built first.
func Kustomize(ctx context.Context, dir string, out io.Writer) ([]byte, error) {
	program, err := findKustomize(ctx, out)
	if err != nil {
		return nil, err
	}
	text, err := exec.CommandContext(ctx, program, "build", dir).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return nil, fmt.Errorf("rendering %s: %w\n%s", dir, err, failed.Stderr)
	}
	return text, err
}

// findKustomize returns the path of kustomize in the cache of tools, after building it if it is not there.
func findKustomize(ctx context.Context, out io.Writer) (string, error) {
	cache, err := controlplane.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "tools", "kustomize-"+KustomizeVersion)
	path := filepath.Join(dir, "kustomize")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	fmt.Fprintf(out, "building kustomize %s from its Go module, once\n", KustomizeVersion)
	if err := installKustomize(ctx, dir, path); err != nil {
		return "", fmt.Errorf("building kustomize: %w", err)
	}
	return path, nil
}

// installKustomize builds beside the place and renames, so that nobody meets half a program.
func installKustomize(ctx context.Context, dir, path string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(dir, "partial-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(partial)) }()
	cmd := exec.CommandContext(ctx, "go", "install", "sigs.k8s.io/kustomize/kustomize/v5@"+KustomizeVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+partial, "GOFLAGS=-trimpath", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return os.Rename(filepath.Join(partial, filepath.Base(path)), path)
}
