package workload

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/capcat/capcat/test/process"
)

// Files of a member below its folder.
const (
	caFile, saKeyFile, saPubFile, etcdCAFile = "ca.crt", "sa.key", "sa.pub", "etcd-ca.crt"
	apiPair, etcdPair, kubeletPair           = "apiserver", "etcd", "kubelet-client"
	egressFile, proxyFile                    = "egress.yaml", "proxy.sock"
)

func (r *realMember) path(name string) string { return filepath.Join(r.dir, name) }

// prepare writes the certificates of a member and finds its ports.
func (r *realMember) prepare() error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of a member: %w", err)
	}
	for _, to := range []*int{&r.apiAt, &r.clientAt, &r.peerAt} {
		var err error
		if *to, err = process.FreePort(); err != nil {
			return err
		}
	}
	files := map[string][]byte{caFile: r.pki.ca.pem(), etcdCAFile: r.pki.etcd.pem(), saKeyFile: []byte(r.pki.serviceAccountKey), saPubFile: []byte(r.pki.serviceAccountPub),
		egressFile: []byte(fmt.Sprintf(egressConfiguration, r.path(proxyFile)))}
	for _, pair := range []struct {
		name    string
		by      *authority
		subject pkix.Name
		hosts   []string
	}{
		{apiPair, r.pki.ca, apiServerName(), append(r.hosts(), loopback)},
		{etcdPair, r.pki.etcd, etcdName(r.name), []string{etcdPod(r.name), r.name, "localhost", loopback, r.guest.address().String()}},
		{kubeletPair, r.pki.ca, pkix.Name{CommonName: "kube-apiserver-kubelet-client", Organization: []string{"system:masters"}}, nil},
	} {
		c, err := pair.by.issue(pair.subject, pair.hosts...)
		if err != nil {
			return err
		}
		if files[pair.name+".crt"], files[pair.name+".key"], err = pemPair(c); err != nil {
			return err
		}
	}
	for name, content := range files {
		if err := os.WriteFile(r.path(name), content, 0o600); err != nil {
			return fmt.Errorf("writing the files of a member: %w", err)
		}
	}
	return nil
}

// egressConfiguration has the API server reach kubelets through a socket of ours: their addresses are those of the simulated network.
const egressConfiguration = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds: {udsName: %q}
`

func pemPair(c tls.Certificate) (crt, key []byte, err error) {
	k, ok := c.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, nil, errors.New("the key of a certificate is not ours")
	}
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		return nil, nil, fmt.Errorf("writing a key: %w", err)
	}
	for _, block := range c.Certificate {
		crt = append(crt, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block})...)
	}
	return crt, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func localURL(port int) string { return "https://" + net.JoinHostPort(loopback, strconv.Itoa(port)) }

// run starts the processes of a member and opens its ports. They end with the power of its machine.
func (r *realMember) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	r.guest.atLoss(r.kill)
	if err := r.serveProxy(); err != nil {
		return fmt.Errorf("starting the way to kubelets: %w", err)
	}
	etcd, err := process.Start(ctx, process.Spec{Path: r.plane.tier.programs.Etcd, Args: r.etcdArgs(), Log: r.path("etcd.log"), Ready: r.etcdReady})
	if err != nil {
		return err
	}
	if !r.keep(&r.etcd, etcd) {
		return errNoPower
	}
	api, err := process.Start(ctx, process.Spec{Path: r.plane.tier.programs.APIServer, Args: r.apiArgs(), Log: r.path("kube-apiserver.log"), Ready: r.apiReady})
	if err != nil {
		return err
	}
	if !r.keep(&r.api, api) {
		return errNoPower
	}
	for from, to := range map[int]int{r.port: r.apiAt, etcdPort: r.clientAt} {
		if err := r.guest.forward(from, to); err != nil {
			return err
		}
	}
	return r.serveKubelet(ctx)
}

// keep remembers a process; false when the machine has lost its power meanwhile, and the process with it.
func (r *realMember) keep(to **process.Process, p *process.Process) bool {
	r.mu.Lock()
	*to = p
	r.mu.Unlock()
	if r.guest.on() {
		return true
	}
	r.kill()
	return false
}

// kill ends the processes at once.
func (r *realMember) kill() {
	r.mu.Lock()
	etcd, api := r.etcd, r.api
	r.etcd, r.api = nil, nil
	r.mu.Unlock()
	api.Kill()
	etcd.Kill()
}

func (r *realMember) started() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.api != nil
}

// runs says whether both processes run.
func (r *realMember) runs() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.etcd == nil || r.api == nil {
		return false
	}
	select {
	case <-r.etcd.Done():
		return false
	case <-r.api.Done():
		return false
	default:
		return true
	}
}

func (r *realMember) etcdArgs() []string {
	client, peer := localURL(r.clientAt), localURL(r.peerAt)
	return []string{
		"--name=" + r.name, "--data-dir=" + r.path("etcd"), "--unsafe-no-fsync=true", "--log-level=warn",
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client, "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + r.initial, "--initial-cluster-state=" + r.state,
		"--cert-file=" + r.path(etcdPair+".crt"), "--key-file=" + r.path(etcdPair+".key"), "--trusted-ca-file=" + r.path(etcdCAFile), "--client-cert-auth=true",
		"--peer-cert-file=" + r.path(etcdPair+".crt"), "--peer-key-file=" + r.path(etcdPair+".key"), "--peer-trusted-ca-file=" + r.path(etcdCAFile), "--peer-client-cert-auth=true",
	}
}

func (r *realMember) apiArgs() []string {
	services := r.services
	if services == "" {
		services = "10.96.0.0/12"
	}
	return []string{
		"--bind-address=" + loopback, "--secure-port=" + strconv.Itoa(r.apiAt), "--advertise-address=" + r.guest.address().String(), "--endpoint-reconciler-type=none",
		"--etcd-servers=" + localURL(r.clientAt), "--etcd-cafile=" + r.path(etcdCAFile), "--etcd-certfile=" + r.path(etcdPair+".crt"), "--etcd-keyfile=" + r.path(etcdPair+".key"),
		"--client-ca-file=" + r.path(caFile), "--tls-cert-file=" + r.path(apiPair+".crt"), "--tls-private-key-file=" + r.path(apiPair+".key"),
		"--kubelet-client-certificate=" + r.path(kubeletPair+".crt"), "--kubelet-client-key=" + r.path(kubeletPair+".key"), "--egress-selector-config-file=" + r.path(egressFile),
		"--kubelet-preferred-address-types=InternalIP",
		"--authorization-mode=Node,RBAC", "--enable-bootstrap-token-auth=true", "--allow-privileged=true",
		"--disable-admission-plugins=ServiceAccount", // nobody makes the accounts' defaults
		"--service-cluster-ip-range=" + services, "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + r.path(saPubFile), "--service-account-signing-key-file=" + r.path(saKeyFile),
		"--enable-priority-and-fairness=false", "--profiling=false",
	}
}

// apiReady asks the API server of the member itself.
func (r *realMember) apiReady(ctx context.Context) error {
	c := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: r.pki.ca.pool(), MinVersion: tls.VersionTLS12}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, localURL(r.apiAt)+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // the status is all that counts
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("kube-apiserver answers %s", resp.Status)
	}
	return nil
}

// forward opens a port of the machine that leads to a port of this host.
func (g *guest) forward(number, to int) error {
	l, err := g.listen(number)
	if err != nil {
		return fmt.Errorf("listening on port %d: %w", number, err)
	}
	g.world.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			g.world.wg.Go(func() { carry(c, to) })
		}
	})
	return nil
}

// carry joins a connection with one to a port of this host.
func carry(c net.Conn, to int) {
	defer func() { _ = c.Close() }() // it ends either way
	far, err := net.Dial("tcp", net.JoinHostPort(loopback, strconv.Itoa(to)))
	if err != nil {
		return
	}
	join(c, far)
}

// join copies in both directions until one has ended.
func join(a, b net.Conn) {
	var wg sync.WaitGroup
	for _, ends := range [][2]net.Conn{{a, b}, {b, a}} {
		wg.Go(func() {
			_, _ = io.Copy(ends[0], ends[1]) // how it ended is the affair of those who talk
			_, _ = a.Close(), b.Close()      // as above
		})
	}
	wg.Wait()
}
