package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/capcat/capcat/test/process"
)

// startEtcd runs a single member that does not sync to disk, and returns its client URL.
func (c *ControlPlane) startEtcd(ctx context.Context, program string) (string, error) {
	client, err := process.FreePort()
	if err != nil {
		return "", err
	}
	peer, err := process.FreePort()
	if err != nil {
		return "", err
	}
	clientURL, peerURL := fmt.Sprintf("http://127.0.0.1:%d", client), fmt.Sprintf("http://127.0.0.1:%d", peer)
	c.etcd, err = process.Start(ctx, process.Spec{
		Path: program,
		Args: []string{
			"--data-dir=" + filepath.Join(c.dir, "etcd"),
			"--listen-client-urls=" + clientURL, "--advertise-client-urls=" + clientURL,
			"--listen-peer-urls=" + peerURL, "--initial-advertise-peer-urls=" + peerURL,
			"--initial-cluster=default=" + peerURL,
			"--unsafe-no-fsync=true", "--log-level=warn",
		},
		Log:   filepath.Join(c.dir, "etcd.log"),
		Ready: func(ctx context.Context) error { return ask(ctx, http.DefaultClient, clientURL+"/health") },
	})
	return clientURL, err
}

// ask succeeds when a GET answers 200.
func ask(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}
