package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/capcat/capcat/test/stage"
)

const (
	contentBytes = 4 << 20 // what is written to each disk
	mirrorRate   = 2 << 20 // bytes a second for each download
	namespace    = "default"
	clusterName  = "demo"
	firstVersion = "v1.33.1"
	nextVersion  = "v1.34.2"
	// hostileCatalog is the one whose image must be refused.
	hostileCatalog = "hostile"
)

// files are what the sample catalogs name.
func files() []stage.File {
	return append(stage.Files("ubuntu-2404-kube", firstVersion, nextVersion), stage.Hostile("kvm/hostile.qcow2"))
}

// prepare empties the folder and locks it, so that two demos do not share one.
func (d *demo) prepare(context.Context) (string, error) {
	giveBack, err := stage.TakeFolder(d.dir)
	if giveBack != nil {
		d.onStop(giveBack)
	}
	return d.dir, err
}

func (d *demo) setStage(ctx context.Context) (string, error) {
	s, err := stage.Open(ctx, stage.Options{
		Programs: filepath.Join(d.root, "bin"), Dir: d.dir, Files: files(), ContentBytes: contentBytes, MirrorRate: mirrorRate, Out: asides{d.out},
	})
	if err != nil {
		return "", err
	}
	d.stage = s
	d.onStop(s.Close)
	return s.Cloud.URL, s.Credentials(ctx, s.Client, namespace)
}

func (d *demo) init(ctx context.Context) (string, error) {
	return "Cluster API and CAPCat are available", d.stage.Init(ctx)
}

// sample is the path of a file of config/samples/demo.
func (d *demo) sample(name string) string {
	return filepath.Join(d.root, "config", "samples", "demo", name)
}

// applyCatalogs creates the catalogs of config/samples/demo as they stand there.
func (d *demo) applyCatalogs(ctx context.Context) (string, error) {
	paths, err := filepath.Glob(d.sample("catalog-*.yaml"))
	if err != nil {
		return "", err
	}
	args := []string{"apply", "-n", namespace}
	var names []string
	for _, path := range paths {
		args = append(args, "-f", path)
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "catalog-"), ".yaml"))
	}
	_, err = d.stage.Management.Kubectl(ctx, args...)
	return strings.Join(names, ", "), err
}

// applyCluster creates the ClusterClass of the release, and the cluster of config/samples/demo.
func (d *demo) applyCluster(ctx context.Context) (_ string, err error) {
	if d.before, err = d.stage.Cloud.Inventory(ctx); err != nil {
		return "", err
	}
	_, err = d.stage.Management.Kubectl(ctx, "apply", "-n", namespace,
		"-f", filepath.Join(d.root, "templates", "clusterclass-cloudstack.yaml"), "-f", d.sample("cluster.yaml"))
	return fmt.Sprintf("%s in zone-kvm and zone-vmware", clusterName), err
}
