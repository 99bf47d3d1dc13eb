package management

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/capcat/capcat/test/controlplane"
)

// Options of Start.
type Options struct {
	// Dir for data, logs and configuration. Two clusters need two.
	Dir string
	// Programs run in the place of images. The key is the name of an image without its registry and tag, such as "capc-controller".
	// The managers of Cluster API are known.
	Programs map[string]Program
	// Providers are offered to clusterctl beside Cluster API's own. One of the same name and type takes the place of the one that
	// clusterctl knows.
	Providers []Provider
	// Variables are written into clusterctl's configuration, for components and cluster templates.
	Variables map[string]string
	// Out is told what takes time; default: stderr.
	Out io.Writer
}

// Program runs in the place of the container "manager" of a Deployment.
type Program struct {
	// Path of the program.
	Path string
	// Args are added to those of the container, so that they win.
	Args []string
	// Env is added to that of the container, as NAME=value.
	Env []string
	// Ports fixes where the named ports of the container listen on this machine. The others get free ones.
	Ports map[string]int32
}

// Provider is what clusterctl must know of a provider.
type Provider struct {
	// Name such as "cloudstack".
	Name string
	// Type such as "InfrastructureProvider".
	Type string
	// Components is the path of the components file, in a folder that is named after a version. Other versions may stand beside it.
	Components string
}

// Infrastructure is an infrastructure provider.
func Infrastructure(name, components string) Provider {
	return Provider{Name: name, Type: "InfrastructureProvider", Components: components}
}

func (o *Options) complete() error {
	if o.Dir == "" {
		return errors.New("no folder is given")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return fmt.Errorf("finding the folder: %w", err)
	}
	o.Dir = dir
	if o.Out == nil {
		o.Out = os.Stderr
	}
	return nil
}

// withClusterAPI adds the managers of Cluster API to the programs.
func (o *Options) withClusterAPI(p controlplane.ManagementPrograms) {
	all := map[string]Program{
		"cluster-api-controller":           {Path: p.Core},
		"kubeadm-bootstrap-controller":     {Path: p.KubeadmBootstrap},
		"kubeadm-control-plane-controller": {Path: p.KubeadmControlPlane},
	}
	maps.Copy(all, o.Programs)
	o.Programs = all
}
