package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

const (
	// APIServerVersion is the kube-apiserver that a build from source yields; apiserver/go.mod, controllers/go.mod and kubectl/go.mod pin the same.
	APIServerVersion = "v1.36.3"
	// ClusterAPIVersion is that of the managers and of clusterctl; capi/go.mod and the go.mod of this repository pin the same.
	ClusterAPIVersion = "v1.14.2"
	// EtcdVersion is the etcd that a build from source yields; etcd/go.mod pins the same.
	EtcdVersion = "v3.6.16"

	assetsEnv = "KUBEBUILDER_ASSETS"
	cacheEnv  = "CAPCAT_CACHE"
)

// Programs are the paths of what a control plane consists of.
type Programs struct {
	APIServer string
	Etcd      string
}

// Find returns the programs from the first place that has them: the folder in $KUBEBUILDER_ASSETS, the cache, setup-envtest,
// and at last a build from their Go modules, which takes about five minutes on two cores and fills the cache.
// What it does that takes time it tells on out.
func Find(ctx context.Context, out io.Writer) (Programs, error) {
	if dir := os.Getenv(assetsEnv); dir != "" {
		p, err := in(dir)
		if err != nil {
			return Programs{}, fmt.Errorf("looking into $%s: %w", assetsEnv, err)
		}
		return p, nil
	}
	cache, err := CacheDir()
	if err != nil {
		return Programs{}, err
	}
	api, etcd := apiServerBuild(cache), etcdBuild(cache)
	p := Programs{APIServer: api.target(), Etcd: etcd.target()}
	if p.check() == nil {
		return p, nil
	}
	if p, err := setupEnvtest(ctx, cache); err == nil {
		return p, nil
	} else {
		fmt.Fprintf(out, "setup-envtest has no control plane for us: %v\n", err)
	}
	for _, b := range []build{etcd, api} {
		if err := b.run(ctx, out); err != nil {
			return Programs{}, err
		}
	}
	return p, p.check()
}

// CacheDir is where built programs are kept: $CAPCAT_CACHE, else "capcat" in the user's cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv(cacheEnv); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache folder (set $%s to choose one): %w", cacheEnv, err)
	}
	return filepath.Join(dir, "capcat"), nil
}

func in(dir string) (Programs, error) {
	p := Programs{APIServer: filepath.Join(dir, "kube-apiserver"), Etcd: filepath.Join(dir, "etcd")}
	return p, p.check()
}

func (p Programs) check() error {
	return errors.Join(executable(p.APIServer), executable(p.Etcd))
}

func executable(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Mode().Perm()&0o111 == 0 {
		return fmt.Errorf("%s is not an executable file", path)
	}
	return nil
}

func platform() string { return runtime.GOOS + "-" + runtime.GOARCH }
