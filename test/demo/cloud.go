package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capcat/capcat/test/process"
)

const (
	// serveHost is the name under which the simulator's storage reaches the manager's image server. A real CloudStack refuses
	// loopback addresses, and so does the simulator.
	serveHost  = "capcat.example.org"
	secretName = "cloudstack"
	namespace  = "default"
)

// cloud is a running simulator and the line of JSON by which it introduces itself.
type cloud struct {
	URL     string              `json:"url"`
	Control string              `json:"control"`
	Keys    map[string][]string `json:"keys"`
	CAFile  string              `json:"caFile"`

	serveAddr string
}

func (d *demo) startCloud(ctx context.Context) (string, error) {
	serveAddr, err := freeAddr()
	if err != nil {
		return "", err
	}
	uploadAddr, err := freeAddr()
	if err != nil {
		return "", err
	}
	c := &cloud{serveAddr: serveAddr}
	log := filepath.Join(d.dir, "cloudsim.log")
	p, err := process.Start(ctx, process.Spec{
		Path: filepath.Join(d.root, "bin", "cloudsim"),
		Args: []string{
			"--listen", "127.0.0.1:0", "--preset", "demo", "--upload-address", uploadAddr,
			"--resolve", mirrorHost + "=" + d.mirror.addr, "--resolve", serveHost + "=" + serveAddr,
		},
		Log:   log,
		Ready: func(context.Context) error { return c.readIntroduction(log) },
	})
	if err != nil {
		return "", err
	}
	d.onStop(p.Stop)
	d.cloud = c
	return c.URL, d.createSecret(ctx)
}

// readIntroduction finds the line in what the simulator has printed so far.
func (c *cloud) readIntroduction(log string) error {
	f, err := os.Open(log)
	if err != nil {
		return err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if json.Unmarshal(s.Bytes(), c) == nil && c.URL != "" {
			return nil
		}
	}
	return errors.New("it has not said where it listens")
}

// createSecret hands an ordinary user's keys to the manager.
func (d *demo) createSecret(ctx context.Context) error {
	keys := d.cloud.Keys["user"]
	if len(keys) != 2 {
		return errors.New("the simulator has no caller named user")
	}
	data := map[string]string{"api-url": d.cloud.URL, "api-key": keys[0], "secret-key": keys[1]}
	if d.cloud.CAFile != "" {
		ca, err := os.ReadFile(d.cloud.CAFile)
		if err != nil {
			return fmt.Errorf("reading the certificate of the simulated storage: %w", err)
		}
		data["ca-cert"] = string(ca)
	}
	return d.client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: secretName},
		StringData: data,
	})
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
