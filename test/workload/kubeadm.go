package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

// retryEvery is how often kubeadm tries what is not there yet.
const retryEvery = time.Second

// kubeadm carries out a command of kubeadm.
func (g *guest) kubeadm(ctx context.Context, args []string) error {
	if g.disk.kubernetes == "" {
		g.say("/bin/sh: kubeadm: not found")
		return errors.New("kubeadm: not found")
	}
	version, err := semver.NewVersion(g.disk.kubernetes)
	if err != nil {
		return fmt.Errorf("kubeadm has no version: %w", err)
	}
	verb, config := "", ""
	for i, a := range args {
		switch {
		case a == "--config" && i+1 < len(args):
			config = args[i+1]
		case strings.HasPrefix(a, "--config="):
			config = strings.TrimPrefix(a, "--config=")
		case verb == "" && !strings.HasPrefix(a, "-"):
			verb = a
		}
	}
	if verb != "init" && verb != "join" {
		return nil
	}
	err = g.kubeadmWith(ctx, verb, config, version)
	if err != nil {
		g.say("kubeadm %s: error: %v", verb, err)
		return fmt.Errorf("kubeadm %s: %w", verb, err)
	}
	return nil
}

func (g *guest) kubeadmWith(ctx context.Context, verb, config string, version *semver.Version) error {
	if g.disk.kubelet != nil {
		return errors.New("error execution phase preflight: /etc/kubernetes/kubelet.conf already exists")
	}
	f, ok := g.disk.files[config]
	if !ok {
		return fmt.Errorf("unable to read config from %q: open %s: no such file or directory", config, config)
	}
	c, err := readKubeadmConfig(f.content, version)
	if err != nil {
		return err
	}
	g.say("kubeadm v%s: %s with %s", version, verb, config)
	if verb == "init" {
		return g.kubeadmInit(ctx, &c, version)
	}
	if c.join == nil {
		return fmt.Errorf("no JoinConfiguration in %s", config)
	}
	return g.kubeadmJoin(ctx, c.join, version)
}

// nodeName is the name of the Node: the one that is asked for, or the host name.
func (g *guest) nodeName(r nodeRegistration) (string, error) {
	name := r.Name
	if name == "" {
		name = strings.ToLower(g.self().HostName)
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "", fmt.Errorf("nodeRegistration.name: Invalid value: %q: %s", name, strings.Join(problems, "; "))
	}
	return name, nil
}

// kubeadmInit makes this machine the first of a cluster.
func (g *guest) kubeadmInit(ctx context.Context, c *kubeadmConfig, version *semver.Version) error {
	if c.cluster.KubernetesVersion == "" {
		c.cluster.KubernetesVersion = "v" + version.String()
	}
	warning, err := checkSkew(version, c.cluster.KubernetesVersion, true)
	if err != nil {
		return err
	}
	if warning != "" {
		g.say("%s", warning)
	}
	if c.cluster.Etcd.External != nil {
		return errors.New("an external etcd is not to be had in this world")
	}
	name, err := g.nodeName(c.init.NodeRegistration)
	if err != nil {
		return err
	}
	keys, err := loadPKI(g.disk.files, true)
	if err != nil {
		return fmt.Errorf("error execution phase certs: %w", err)
	}
	m := &member{guest: g, name: name, pki: keys, version: canonical(c.cluster.KubernetesVersion), port: c.init.LocalAPIEndpoint.port(),
		names: c.cluster.APIServer.CertSANs, services: c.cluster.Networking.ServiceSubnet}
	m.endpoint = endpoint(c.cluster.ControlPlaneEndpoint, g.address().String(), m.port)
	g.say("[control-plane] starting etcd and kube-apiserver %s", m.version)
	p, err := g.world.tier.begin(ctx, m)
	if err != nil {
		return fmt.Errorf("error execution phase wait-control-plane: %w", err)
	}
	k := newKubelet(g, name, c.init.NodeRegistration, m)
	k.endpoint, k.authority = m.endpoint, keys.ca
	if err := g.awaitEndpoint(ctx, k); err != nil {
		p.close()
		return fmt.Errorf("error execution phase wait-control-plane: failed while waiting for the control plane to start: %w", err)
	}
	cl, err := g.world.newCluster(ctx, p, m)
	if err != nil {
		return err
	}
	if err := cl.bootstrap(ctx, c); err != nil {
		return fmt.Errorf("error execution phase upload-config: %w", err)
	}
	k.cluster = cl
	return g.admit(ctx, k)
}

// canonical is a version with its v.
func canonical(v string) string { return "v" + strings.TrimPrefix(v, "v") }

// admit registers the Node, and leaves the machine with a kubelet.
func (g *guest) admit(ctx context.Context, k *kubelet) error {
	if err := k.register(ctx); err != nil {
		return fmt.Errorf("error execution phase kubelet-start: %w", err)
	}
	g.disk.kubelet = k
	g.say("This node has joined the cluster: node %q, provider id %q, kubelet %s", k.node, k.providerID, k.version)
	return nil
}

// awaitEndpoint tries to reach the API of the cluster as any client does, for as long as kubeadm has patience.
func (g *guest) awaitEndpoint(ctx context.Context, k *kubelet) error {
	g.say("waiting for the API server at %s", k.endpoint)
	return g.retry(ctx, func() error { return k.probe(ctx) })
}

// retry repeats an attempt until it succeeds, the patience is over or the power is gone. What it waits for is said when it changes.
func (g *guest) retry(ctx context.Context, attempt func() error) error {
	limit := time.Now().Add(g.world.opts.Patience)
	said := ""
	for {
		err := attempt()
		if err == nil {
			return nil
		}
		if text := err.Error(); text != said {
			g.say("  not yet: %s", text)
			said = text
		}
		var final *finalError
		switch {
		case errors.As(err, &final):
			return err
		case time.Now().After(limit):
			return fmt.Errorf("timed out after %s: %w", g.world.opts.Patience, err)
		case !pause(ctx, retryEvery):
			return errNoPower
		}
	}
}

// finalError is a failure that waiting does not cure.
type finalError struct{ err error }

// Error implements error.
func (e *finalError) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *finalError) Unwrap() error { return e.err }
