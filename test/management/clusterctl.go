package management

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// writeConfiguration lays out the repository of clusterctl and its configuration, and links the programs for people into one folder.
func (c *Cluster) writeConfiguration(ctx context.Context, o Options) error {
	providers, err := c.repository(ctx)
	if err != nil {
		return err
	}
	config := map[string]any{
		// Certificates are issued here, by no cert-manager that clusterctl could install.
		"cert-manager":                    map[string]string{"externallyProvisioned": "true"},
		"CLUSTERCTL_DISABLE_VERSIONCHECK": "true",
		"CLUSTER_TOPOLOGY":                "true",
		"EXP_RUNTIME_SDK":                 "true",
	}
	for name, value := range o.Variables {
		config[name] = value
	}
	var entries []map[string]string
	for _, p := range append(providers, o.Providers...) {
		path, err := filepath.Abs(p.Components)
		if err != nil {
			return fmt.Errorf("finding the components of %s: %w", p.Name, err)
		}
		entries = append(entries, map[string]string{"name": p.Name, "type": p.Type, "url": "file://" + path})
	}
	config["providers"] = entries
	text, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("writing the configuration of clusterctl: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(c.configHome(), "cluster-api"), 0o755); err != nil {
		return fmt.Errorf("writing the configuration of clusterctl: %w", err)
	}
	if err := write(filepath.Join(c.configHome(), "cluster-api"), map[string]string{"clusterctl.yaml": string(text)}); err != nil {
		return fmt.Errorf("writing the configuration of clusterctl: %w", err)
	}
	return c.linkPrograms()
}

func (c *Cluster) configHome() string { return filepath.Join(c.Dir, "config") }

// Bin is the folder with clusterctl and kubectl.
func (c *Cluster) Bin() string { return filepath.Join(c.Dir, "bin") }

func (c *Cluster) linkPrograms() error {
	if err := os.MkdirAll(c.Bin(), 0o755); err != nil {
		return fmt.Errorf("linking programs: %w", err)
	}
	for name, path := range map[string]string{"clusterctl": c.programs.Clusterctl, "kubectl": c.programs.Kubectl} {
		link := filepath.Join(c.Bin(), name)
		if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("linking programs: %w", err)
		}
		if err := os.Symlink(path, link); err != nil {
			return fmt.Errorf("linking programs: %w", err)
		}
	}
	return nil
}

// Environment is what clusterctl and kubectl need to find this cluster and its repository, as NAME=value.
func (c *Cluster) Environment() map[string]string {
	return map[string]string{"KUBECONFIG": c.Kubeconfig, "XDG_CONFIG_HOME": c.configHome()}
}

// Init installs Cluster API with the infrastructure provider as people do, and waits until all managers are available. More
// arguments of clusterctl init may follow.
func (c *Cluster) Init(ctx context.Context, infrastructure string, args ...string) error {
	_, err := c.Clusterctl(ctx, append([]string{"init", "--infrastructure", infrastructure, "--wait-providers"}, args...)...)
	return err
}

// Clusterctl runs clusterctl against this cluster and returns what it prints. An error carries what it complains about.
func (c *Cluster) Clusterctl(ctx context.Context, args ...string) (string, error) {
	return c.command(ctx, c.programs.Clusterctl, nil, nil, args)
}

// ClusterctlWith is Clusterctl with variables, NAME=value, as a person would export them.
func (c *Cluster) ClusterctlWith(ctx context.Context, variables []string, args ...string) (string, error) {
	return c.command(ctx, c.programs.Clusterctl, variables, nil, args)
}

// Kubectl runs kubectl against this cluster and returns what it prints. An error carries what it complains about.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return c.command(ctx, c.programs.Kubectl, nil, nil, args)
}

// Apply creates or changes the objects of a manifest, as kubectl apply does.
func (c *Cluster) Apply(ctx context.Context, manifest string) error {
	_, err := c.command(ctx, c.programs.Kubectl, nil, strings.NewReader(manifest), []string{"apply", "-f", "-"})
	return err
}

func (c *Cluster) command(ctx context.Context, program string, variables []string, in io.Reader, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = in
	cmd.Env = append(os.Environ(), variables...)
	for name, value := range c.Environment() {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return out.String(), nil
}

// Kill ends the manager of a Deployment as a power failure would. It is started again at once.
func (c *Cluster) Kill(namespace, deployment string) error {
	p := c.pods.find(client.ObjectKey{Namespace: namespace, Name: deployment})
	if p == nil || !p.alive() {
		return fmt.Errorf("no manager of %s/%s runs", namespace, deployment)
	}
	running := p.process.Load()
	if err := syscall.Kill(running.PID(), syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing the manager of %s/%s: %w", namespace, deployment, err)
	}
	<-running.Done()
	return nil
}

// Log is the path of what the manager of a Deployment has said.
func (c *Cluster) Log(namespace, deployment string) string {
	return c.log(fileName(client.ObjectKey{Namespace: namespace, Name: deployment}))
}
