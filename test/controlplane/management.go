package controlplane

import (
	"context"
	"fmt"
	"io"
	"strings"
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
	if err := buildMissing(ctx, out, core, bootstrap, controlPlane, clusterctl, controllers, kubectl); err != nil {
		return ManagementPrograms{}, fmt.Errorf("finding the programs of a management cluster: %w", err)
	}
	return ManagementPrograms{
		Controllers: controllers.target(), Core: core.target(), KubeadmBootstrap: bootstrap.target(),
		KubeadmControlPlane: controlPlane.target(), Clusterctl: clusterctl.target(), Kubectl: kubectl.target(),
	}, nil
}

// buildMissing builds one after the other: each build takes all processors.
func buildMissing(ctx context.Context, out io.Writer, all ...build) error {
	var missing []build
	var names []string
	for _, b := range all {
		if executable(b.target()) != nil {
			missing, names = append(missing, b), append(names, b.name)
		}
	}
	if len(missing) > 1 {
		fmt.Fprintf(out, "%s are built once, one after the other; on two cores and from nothing that takes about eight minutes\n", strings.Join(names, ", "))
	}
	for _, b := range missing {
		if err := b.run(ctx, out); err != nil {
			return err
		}
	}
	return nil
}
