package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// source is the image that config/manager names.
const source = "ghcr.io/capcat/capc-controller"

// components renders config/default with the image of the release.
func (o Options) components(ctx context.Context, root string) (text []byte, err error) {
	overlay, err := os.MkdirTemp("", "capcat-release-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(overlay)) }()
	if err := o.writeOverlay(root, overlay); err != nil {
		return nil, fmt.Errorf("writing an overlay: %w", err)
	}
	return Kustomize(ctx, overlay, o.Out)
}

// writeOverlay writes a kustomization that sets the image, so that nothing in the tree is changed for a release.
func (o Options) writeOverlay(root, dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	root, err = filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	base, err := filepath.Rel(dir, filepath.Join(root, "config", "default"))
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1",
		"kind":       "Kustomization",
		"resources":  []string{filepath.ToSlash(base)},
		"images":     []map[string]string{{"name": source, "newName": o.Registry + "/" + Image, "newTag": o.Version}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text, 0o644)
}
