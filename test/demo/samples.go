package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// hostileCatalog is the one whose image must be refused.
const hostileCatalog = "hostile"

// applySamples creates the catalogs of config/samples/demo as they stand there.
func (d *demo) applySamples(ctx context.Context) (string, error) {
	dir := filepath.Join(d.root, "config", "samples", "demo")
	paths, err := filepath.Glob(filepath.Join(dir, "catalog-*.yaml"))
	if err != nil {
		return "", err
	}
	if len(paths) == 0 {
		return "", fmt.Errorf("%s has no catalog-*.yaml", dir)
	}
	var names []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		var c infrav1.TemplateCatalog
		if err := yaml.UnmarshalStrict(text, &c); err != nil {
			return "", fmt.Errorf("reading %s: %w", filepath.Base(path), err)
		}
		c.Namespace = namespace
		if err := d.client.Create(ctx, &c); err != nil {
			return "", fmt.Errorf("applying %s: %w", filepath.Base(path), err)
		}
		names = append(names, c.Name)
	}
	return strings.Join(names, ", "), nil
}
