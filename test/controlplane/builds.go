package controlplane

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	plain         = "-s -w"
	kubeVersion   = "k8s.io/component-base/version"
	capiVersion   = "sigs.k8s.io/cluster-api/version"
	kubeModule    = "k8s.io/kubernetes"
	clusterModule = "sigs.k8s.io/cluster-api"
)

func apiServerBuild(cache string) build {
	return build{
		name: "kube-apiserver", version: APIServerVersion, cache: cache, takes: "about five minutes",
		module: "test/controlplane/apiserver", pkg: kubeModule + "/cmd/kube-apiserver", ldflags: telling(kubeVersion, APIServerVersion),
	}
}

func etcdBuild(cache string) build {
	return build{
		name: "etcd", version: EtcdVersion, cache: cache, takes: "about a minute",
		module: "test/controlplane/etcd", pkg: "go.etcd.io/etcd/server/v3", ldflags: plain,
	}
}

func kubectlBuild(cache string) build {
	return build{
		name: "kubectl", version: APIServerVersion, cache: cache, takes: "about a minute",
		module: "test/controlplane/kubectl", pkg: kubeModule + "/cmd/kubectl", ldflags: telling(kubeVersion, APIServerVersion),
	}
}

// controllersBuild compiles a program of ours from the controllers of Kubernetes: its version is that of both.
func controllersBuild(root, cache string) (build, error) {
	const module = "test/controlplane/controllers"
	b := build{
		name: "controllers", version: APIServerVersion, cache: cache, takes: "about half a minute",
		module: module, pkg: ".", ldflags: plain,
	}
	source, err := os.ReadFile(filepath.Join(root, module, "main.go"))
	if err != nil {
		return build{}, fmt.Errorf("reading the source of the controllers: %w", err)
	}
	b.version += fmt.Sprintf("-%.4x", sha256.Sum256(source))
	return b, nil
}

// clusterAPIBuild compiles a program of Cluster API; the first one takes the time of all.
func clusterAPIBuild(cache, name, pkg, takes string) build {
	return build{
		name: name, version: ClusterAPIVersion, cache: cache, takes: takes,
		module: "test/controlplane/capi", pkg: clusterModule + "/" + pkg, ldflags: telling(capiVersion, ClusterAPIVersion),
	}
}

// telling are the flags that write a version into the package that a program tells it from.
func telling(pkg, version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return fmt.Sprintf("%[1]s -X %[2]s.gitVersion=%[3]s -X %[2]s.gitMajor=%[4]s -X %[2]s.gitMinor=%[5]s -X %[2]s.gitTreeState=clean",
		plain, pkg, version, parts[0], parts[1])
}
