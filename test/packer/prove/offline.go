package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/test/packer"
	"github.com/capcat/capcat/test/stage"
)

const (
	buildTime = 90 * time.Minute // an idle computer needs ten, emulating
	bootTime  = 30 * time.Minute // two
)

// offline makes the image from the mirror alone, and boots it.
func (p proof) offline(ctx context.Context) error {
	if err := raiseLoopback(ctx); err != nil {
		return err
	}
	if err := unreachable(ctx); err != nil {
		return err
	}
	image := filepath.Join(p.images(), p.name()+".qcow2")
	if !p.reuse {
		if err := p.build(ctx); err != nil {
			return err
		}
	}
	for _, at := range packer.Places() {
		if err := p.boot(ctx, image, at); err != nil {
			return fmt.Errorf("booting the image where the firmware names %s and DHCP tells the domain %q: %w", at.Product, at.Domain, err)
		}
	}
	return nil
}

// unreachable makes sure that there is no way out.
func unreachable(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://192.0.2.1/", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		return errors.Join(errors.New("there is a network"), resp.Body.Close())
	}
	if !errors.Is(err, syscall.ENETUNREACH) {
		return fmt.Errorf("there may be a network: %w", err)
	}
	return nil
}

func (p proof) build(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	mirror := httptest.NewServer(http.FileServer(http.Dir(p.mirror())))
	defer mirror.Close()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin(), "capcat"), "build", p.system, "--kubernetes-version", packer.Version,
		"--base-image", p.base(), "--packages-from", mirror.URL, "--var", "crictl_version=none",
		"--dir", p.images(), "--output", p.outputs, "--base-url", "http://"+stage.MirrorHost, "--catalog", p.catalog())
	cmd.Stdout, cmd.Stderr = p.out, p.out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.Run()
}

func (p proof) boot(ctx context.Context, image string, at packer.Place) error {
	ctx, cancel := context.WithTimeout(ctx, bootTime)
	defer cancel()
	began := time.Now()
	got, asked, err := packer.Boot(ctx, image, p.dir, at)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "the machine was up after %s (%s s by its own clock)\n", time.Since(began).Round(time.Second), got["uptime"])
	delete(got, "uptime")
	alone := "no"
	if at.Vendor == "Xen" {
		alone = "yes"
	}
	want := map[string]string{
		"alone": alone, "kubelet": "Kubernetes " + packer.Version, "kubeadm": packer.Version, "source": "cloudstack", "hostname": packer.HostName,
		"root": fmt.Sprintf("%dG", packer.DiskGiB), "swap": "0", "cgroup": "cgroup2fs", "containerd": "active", "images": "7",
		"machineid": "33", "authorised": "1", "certificates": "/etc/kubernetes/pki/ca.crt", "end": "yes",
	}
	if got["hostkeys"] == "0" {
		return errors.New("the machine made no host keys")
	}
	delete(got, "hostkeys")
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("the machine is not as it should be (-want +got):\n%s", diff)
	}
	for _, path := range []string{"/latest/user-data", "/latest/meta-data/instance-id"} {
		if !slices.Contains(asked, path) {
			return fmt.Errorf("cloud-init never asked for %s, but for %q", path, asked)
		}
	}
	return nil
}
