package controlplane

import (
	"context"
	"fmt"
	"io"
)

// ManagementPrograms are the paths of what makes a control plane a management cluster, and of what people use with it.
type ManagementPrograms struct {
	// Controllers are some of kube-controller-manager's: garbage, namespaces, aggregated roles, default service accounts.
	Controllers string
	// Core is the manager of Cluster API.
	Core string
	// KubeadmBootstrap is the manager of the kubeadm bootstrap provider.
	KubeadmBootstrap string
	// KubeadmControlPlane is the manager of the kubeadm control plane provider.
	KubeadmControlPlane string
	// Clusterctl and Kubectl are for people.
	Clusterctl, Kubectl string
}

// FindManagement returns the programs from the cache, and builds those that are not there from their Go modules. That takes about
// eight minutes on two cores when nothing has been built before. What it builds it tells on out.
func FindManagement(ctx context.Context, out io.Writer) (ManagementPrograms, error) {
	root, err := Root()
	if err != nil {
		return ManagementPrograms{}, err
	}
	cache, err := CacheDir()
	if err != nil {
		return ManagementPrograms{}, err
	}
	controllers, err := controllersBuild(root, cache)
	if err != nil {
		return ManagementPrograms{}, err
	}
	core := clusterAPIBuild(cache, "capi-core", "core", "about four minutes")
	bootstrap := clusterAPIBuild(cache, "cabpk", "bootstrap/kubeadm", "seconds")
	controlPlane := clusterAPIBuild(cache, "kcp", "controlplane/kubeadm", "seconds")
	clusterctl := clusterAPIBuild(cache, "clusterctl", "cmd/clusterctl", "about half a minute")
	kubectl := kubectlBuild(cache)
	for _, b := range []build{core, bootstrap, controlPlane, clusterctl, controllers, kubectl} {
		if executable(b.target()) == nil {
			continue
		}
		if err := b.run(ctx, out); err != nil {
			return ManagementPrograms{}, fmt.Errorf("finding the programs of a management cluster: %w", err)
		}
	}
	return ManagementPrograms{
		Controllers: controllers.target(), Core: core.target(), KubeadmBootstrap: bootstrap.target(),
		KubeadmControlPlane: controlPlane.target(), Clusterctl: clusterctl.target(), Kubectl: kubectl.target(),
	}, nil
}
