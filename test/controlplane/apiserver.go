package controlplane

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/capcat/capcat/test/process"
)

// askTimeout bounds one look at /readyz; the server may accept long before it answers.
const askTimeout = 5 * time.Second

// startAPIServer runs kube-apiserver with a certificate that it makes itself and one administrator's token.
func (c *ControlPlane) startAPIServer(ctx context.Context, o Options, etcdURL string) error {
	port, err := process.FreePort()
	if err != nil {
		return err
	}
	token := rand.Text()
	args, err := c.apiServerArgs(port, etcdURL, token)
	if err != nil {
		return err
	}
	host := fmt.Sprintf("https://127.0.0.1:%d", port)
	c.apiServer, err = process.Start(ctx, process.Spec{
		Path: o.Programs.APIServer, Args: append(args, o.APIServerArgs...), Log: filepath.Join(c.dir, "kube-apiserver.log"),
		Env: []string{"GOGC=200"}, // a quarter of its time goes into collecting garbage otherwise
		Ready: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, askTimeout)
			defer cancel()
			return c.connect(ctx, host, token)
		},
	})
	return err
}

// connect reads the certificate that the server has written by now and asks whether it is ready.
func (c *ControlPlane) connect(ctx context.Context, host, token string) error {
	ca, err := os.ReadFile(filepath.Join(c.dir, "certs", "apiserver.crt"))
	if err != nil {
		return err
	}
	if block, _ := pem.Decode(ca); block == nil {
		return errors.New("the certificate is not written yet")
	}
	c.config = &rest.Config{
		Host: host, BearerToken: token, QPS: clientQPS, Burst: clientBurst,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca},
	}
	client, err := rest.HTTPClientFor(c.config)
	if err != nil {
		return err
	}
	return ask(ctx, client, host+"/readyz")
}

func (c *ControlPlane) apiServerArgs(port int, etcdURL, token string) ([]string, error) {
	key := filepath.Join(c.dir, "service-account.key")
	if err := writeKey(key); err != nil {
		return nil, err
	}
	tokens := filepath.Join(c.dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token+",admin,admin,system:masters\n"), 0o600); err != nil {
		return nil, fmt.Errorf("writing the token: %w", err)
	}
	return []string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--endpoint-reconciler-type=none", // loopback may not be an endpoint, and nobody reads it
		"--cert-dir=" + filepath.Join(c.dir, "certs"),
		"--token-auth-file=" + tokens, "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		"--disable-admission-plugins=ServiceAccount", // nobody makes the accounts' defaults
		"--service-cluster-ip-range=10.0.0.0/24",
		"--enable-priority-and-fairness=false", "--profiling=false",
	}, nil
}

func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the service account key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("making the service account key: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("writing the service account key: %w", err)
	}
	return nil
}
