package packer

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/capcat/capcat/test/controlplane"
)

// Version is the Kubernetes of the image; kubernetes/go.mod pins the same.
const Version = "v1.36.3"

// programs are what the image gets from a release of Kubernetes.
func programs() []string { return []string{"kubelet", "kubeadm", "kubectl"} }

// Kubernetes builds the programs from their Go module unless the cache has them, and returns their paths by name. The first time it
// takes two minutes on two idle cores.
func Kubernetes(ctx context.Context, out io.Writer) (map[string]string, error) {
	cache, err := controlplane.CacheDir()
	if err != nil {
		return nil, err
	}
	root, err := controlplane.Root()
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for _, name := range programs() {
		path := filepath.Join(cache, name+"-"+Version+"-linux-amd64", name)
		paths[name] = path
		if _, err := os.Stat(path); err == nil {
			continue
		}
		start := time.Now()
		if err := compile(ctx, filepath.Join(root, "test", "packer", "kubernetes"), name, path); err != nil {
			return nil, fmt.Errorf("building %s %s: %w", name, Version, err)
		}
		fmt.Fprintf(out, "built %s %s in %s\n", name, Version, time.Since(start).Round(time.Second))
	}
	return paths, nil
}

func compile(ctx context.Context, module, name, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	const v = "k8s.io/component-base/version"
	parts := strings.SplitN(strings.TrimPrefix(Version, "v"), ".", 3)
	flags := fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X %[1]s.gitTreeState=clean", v, Version, parts[0], parts[1])
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-ldflags", flags, "-o", target+".partial", "k8s.io/kubernetes/cmd/"+name)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS=linux", "GOARCH=amd64")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return os.Rename(target+".partial", target)
}
