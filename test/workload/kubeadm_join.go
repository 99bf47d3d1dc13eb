package workload

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/Masterminds/semver/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

const (
	requestTimeout = 5 * time.Second
	maxReply       = 4 << 20
)

// discovered is what a machine learns of the cluster that it joins.
type discovered struct {
	endpoint  string
	authority *authority // without a key
	token     string
	cluster   *cluster
	config    clusterConfiguration
}

// kubeadmJoin makes this machine one more of a cluster.
func (g *guest) kubeadmJoin(ctx context.Context, c *joinConfiguration, version *semver.Version) error {
	name, err := g.nodeName(c.NodeRegistration)
	if err != nil {
		return err
	}
	d, err := g.discover(ctx, c)
	if err != nil {
		return fmt.Errorf("error execution phase preflight: couldn't validate the identity of the API Server: %w", err)
	}
	warning, err := checkSkew(version, d.config.KubernetesVersion, c.ControlPlane != nil)
	if err != nil {
		return err
	}
	if warning != "" {
		g.say("%s", warning)
	}
	if err := d.cluster.mayJoin(ctx, name); err != nil {
		return err
	}
	var m *member
	if c.ControlPlane != nil {
		if m, err = g.joinPlane(ctx, c, d, name); err != nil {
			return err
		}
	}
	k := newKubelet(g, name, c.NodeRegistration, m)
	k.endpoint, k.authority, k.cluster = d.endpoint, d.authority, d.cluster
	if err := g.awaitEndpoint(ctx, k); err != nil {
		return fmt.Errorf("error execution phase kubelet-start: %w", err)
	}
	return g.admit(ctx, k)
}

// joinPlane adds the machine to the control plane.
func (g *guest) joinPlane(ctx context.Context, c *joinConfiguration, d *discovered, name string) (*member, error) {
	keys, err := loadPKI(g.disk.files, false)
	if err != nil {
		return nil, fmt.Errorf("error execution phase preflight: one or more conditions for hosting a new control plane instance is not satisfied: %w", err)
	}
	if keys.ca.hash() != d.authority.hash() {
		return nil, errors.New("error execution phase control-plane-prepare: the CA of this machine is not that of the cluster")
	}
	m := &member{guest: g, name: name, pki: keys, version: canonical(d.config.KubernetesVersion), port: c.ControlPlane.LocalAPIEndpoint.port(),
		endpoint: d.endpoint, names: d.config.APIServer.CertSANs, services: d.config.Networking.ServiceSubnet}
	if e := d.config.ControlPlaneEndpoint; e != "" {
		m.endpoint = endpoint(e, "", apiPort)
	}
	g.say("[etcd] joining the etcd cluster as %s", etcdPod(name))
	if err := d.cluster.plane.join(ctx, m); err != nil {
		return nil, fmt.Errorf("error execution phase etcd-join: %w", err)
	}
	return m, nil
}

// discover finds the cluster: by a token, or by a file that has its address and its CA.
func (g *guest) discover(ctx context.Context, c *joinConfiguration) (*discovered, error) {
	d := &discovered{token: c.Discovery.TLSBootstrapToken}
	var hashes []string
	switch t, f := c.Discovery.BootstrapToken, c.Discovery.File; {
	case t != nil:
		d.endpoint = endpoint(t.APIServerEndpoint, "", apiPort)
		if d.token == "" {
			d.token = t.Token
		}
		hashes = t.CACertHashes
		if len(hashes) == 0 && !t.Unsafe {
			return nil, errors.New("discovery.bootstrapToken: Invalid value: using token-based discovery without caCertHashes can be unsafe. Set unsafeSkipCAVerification as true in your kubeadm config file to bypass")
		}
	case f != nil:
		if err := d.readFile(g.disk.files, f.KubeConfigPath); err != nil {
			return nil, err
		}
	default:
		return nil, errors.New("discovery: bootstrapToken or file is needed")
	}
	g.say("[discovery] trying to reach the cluster at %s", d.endpoint)
	return d, g.retry(ctx, func() error { return g.discoverOnce(ctx, d, hashes) })
}

func (d *discovered) readFile(files map[string]file, path string) error {
	f, ok := files[path]
	if !ok {
		return fmt.Errorf("open %s: no such file or directory", path)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(f.content))
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	crt, err := parseCertificate(config.CAData)
	if err != nil {
		return fmt.Errorf("reading the CA of %s: %w", path, err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return fmt.Errorf("reading the server of %s: %w", path, err)
	}
	d.endpoint, d.authority = endpoint(server.Host, "", apiPort), &authority{certificate: crt}
	if config.BearerToken != "" {
		d.token = config.BearerToken
	}
	return nil
}

// discoverOnce goes the way of kubeadm: the CA from the public information, checked by its hash, then the configuration with the token.
func (g *guest) discoverOnce(ctx context.Context, d *discovered, hashes []string) error {
	if d.authority == nil {
		a, err := g.publicAuthority(ctx, d.endpoint)
		if err != nil {
			return err
		}
		if len(hashes) > 0 && !slices.Contains(hashes, a.hash()) {
			return &finalError{fmt.Errorf("cluster CA found in cluster-info ConfigMap is invalid: none of the public keys %q are pinned", a.hash())}
		}
		d.authority = a
	}
	ask := g.client(d.endpoint, d.authority, d.token)
	var config corev1.ConfigMap
	if err := ask(ctx, "/api/v1/namespaces/kube-system/configmaps/kubeadm-config", &config); err != nil {
		return err
	}
	if err := yaml.Unmarshal([]byte(config.Data["ClusterConfiguration"]), &d.config); err != nil {
		return fmt.Errorf("reading kubeadm-config: %w", err)
	}
	var system corev1.Namespace
	if err := ask(ctx, "/api/v1/namespaces/kube-system", &system); err != nil {
		return err
	}
	if d.cluster = g.world.cluster(string(system.UID)); d.cluster == nil {
		return errors.New("the API server is of no cluster of this cloud")
	}
	return nil
}

// publicAuthority reads the CA that the cluster shows to everybody.
func (g *guest) publicAuthority(ctx context.Context, at string) (*authority, error) {
	var info corev1.ConfigMap
	if err := g.client(at, nil, "")(ctx, "/api/v1/namespaces/kube-public/configmaps/cluster-info", &info); err != nil {
		return nil, err
	}
	config, err := clientcmd.Load([]byte(info.Data["kubeconfig"]))
	if err != nil {
		return nil, fmt.Errorf("reading cluster-info: %w", err)
	}
	for _, c := range config.Clusters {
		crt, err := parseCertificate(c.CertificateAuthorityData)
		if err != nil {
			return nil, fmt.Errorf("reading the CA of cluster-info: %w", err)
		}
		return &authority{certificate: crt}, nil
	}
	return nil, errors.New("cluster-info names no cluster")
}

// client asks an API server for objects, over the machine's own network. Without an authority it trusts whoever answers.
func (g *guest) client(at string, a *authority, token string) func(ctx context.Context, path string, to any) error {
	host, _, _ := net.SplitHostPort(at)
	config := &tls.Config{ServerName: host, InsecureSkipVerify: a == nil} //nolint:gosec // kubeadm checks by the hash what it learns so
	if a != nil {
		config.RootCAs = a.pool()
	}
	c := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return g.self().Uplink.Dial(ctx, address)
		}}}
	return func(ctx context.Context, path string, to any) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+at+path, nil)
		if err != nil {
			return err
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
		switch {
		case err != nil:
			return err
		case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
			return fmt.Errorf("%s: %s: the token is not known or has expired", path, resp.Status)
		case resp.StatusCode != http.StatusOK:
			return fmt.Errorf("%s: %s", path, resp.Status)
		case to == nil:
			return nil
		}
		return json.Unmarshal(body, to)
	}
}
