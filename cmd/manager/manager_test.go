package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/capcat/capcat/test/controlplane"
)

var plane controlplane.Shared

func TestMain(m *testing.M) { os.Exit(plane.Run(m)) }

// TestManagerStartsAndStops wires everything once, against a real API server.
func TestManagerStartsAndStops(t *testing.T) {
	t.Setenv("KUBECONFIG", plane.Kubeconfig(t))
	health, images := freeAddr(t), freeAddr(t)
	data := t.TempDir()
	o, fs := newOptions(), pflag.NewFlagSet("manager", pflag.ContinueOnError)
	o.addFlags(fs)
	err := fs.Parse([]string{
		"--webhook-port=0", "--health-addr=" + health, "--diagnostics-address=0", "--namespace=" + plane.Namespace(t),
		"--data-dir=" + data, "--serve-addr=" + images, "--serve-external-url=http://images.example.org",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.validate(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- start(ctx, o) }()
	awaitOK(t, "http://"+health+"/readyz", ended)
	if got := status(t, "http://"+images+"/nothing"); got != http.StatusNotFound && got != http.StatusForbidden {
		t.Errorf("the image server answers %d for a name that was never given out", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("stopping: %v", err)
	}
	if st, err := os.Stat(filepath.Join(data, "serve.key")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the key of the image server: %v, %v", st, err)
	}
}

func TestSigningKeyOutlivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	first, err := signingKey(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := signingKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) || len(first) != signingKeyBytes {
		t.Errorf("got %d bytes and then other %d bytes", len(first), len(second))
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func awaitOK(t *testing.T, url string, ended <-chan error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			t.Fatalf("the manager ended: %v", err)
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-tick.C:
		}
		if resp, err := http.Get(url); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
	}
}

func status(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(fmt.Errorf("asking the image server: %w", err))
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
