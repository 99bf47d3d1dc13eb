package packer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// DiskGiB is the disk that the virtual machine offers; more than the image has, so that the image must grow.
	DiskGiB = 12
	// HostName is what the data server says the machine is called.
	HostName = "node-1"

	mark = "RESULT "
)

// userData tells what became of the image, on the console.
const userData = `#!/bin/sh
exec >/dev/ttyS0 2>&1
say() { echo "` + mark + `$1=$2"; }
echo
say kubelet "$(kubelet --version)"
say kubeadm "$(kubeadm version -o short)"
say source "$(cloud-id)"
say alone "$(test -e /run/cloud-init/cloud.cfg && echo yes || echo no)"
say hostname "$(hostname)"
say root "$(df -BG --output=size / | tail -n 1 | tr -d ' ')"
say swap "$(tail -n +2 /proc/swaps | wc -l)"
say cgroup "$(stat -fc %T /sys/fs/cgroup)"
say containerd "$(systemctl is-active containerd)"
say images "$(ctr -n k8s.io images list -q | grep -c '^registry.k8s.io/')"
say hostkeys "$(find /etc/ssh -name 'ssh_host_*_key' | wc -l)"
say machineid "$(wc -c </etc/machine-id)"
say authorised "$(cat /home/*/.ssh/authorized_keys | grep -c ssh-ed25519)"
say certificates "$(kubeadm init phase certs ca >/dev/null 2>&1 && ls /etc/kubernetes/pki/ca.crt)"
say uptime "$(cut -d. -f1 /proc/uptime)"
say end yes
poweroff
`

// Place is where a machine boots.
type Place struct {
	// Vendor and Product are what the firmware names: CloudStack below KVM, the hypervisor below the others.
	Vendor, Product string
	// Domain is what DHCP tells: the router of a CloudStack network tells one, that of a shared network need not.
	Domain string
}

// Places are those that differ for cloud-init.
func Places() []Place {
	return []Place{
		{Vendor: "Apache Software Foundation", Product: "CloudStack KVM Hypervisor"},
		{Vendor: "Xen", Product: "HVM domU", Domain: "cs1cloud.internal"},
	}
}

// Boot starts a machine from the disk, emulated and without touching the disk, and gives what its user data reported. The data
// server listens on port 80 of the loopback address, which the guest sees as its gateway: call it where that port is free.
func Boot(ctx context.Context, disk, dir string, at Place) (results map[string]string, asked []string, err error) {
	overlay := filepath.Join(dir, "overlay.qcow2")
	made, err := exec.CommandContext(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", disk, overlay, fmt.Sprintf("%dG", DiskGiB)).CombinedOutput()
	if err != nil {
		return nil, nil, fmt.Errorf("making a disk over the image: %w\n%s", err, made)
	}
	defer func() { err = errors.Join(err, os.Remove(overlay)) }()
	data := &dataServer{userData: userData, meta: map[string]string{
		"instance-id": "1b2f6f2e-3c0c-4f8e-9f7e-0d4f6f7c1a11", "vm-id": "1b2f6f2e-3c0c-4f8e-9f7e-0d4f6f7c1a11", "local-hostname": HostName,
		"availability-zone": "zone-kvm", "local-ipv4": "10.0.2.15", "service-offering": "small",
		"public-keys": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0m0u7h8m9n0b1v2c3x4z5l6k7j8h9g0f1d2s3a4p5o test",
	}}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:80")
	if err != nil {
		return nil, nil, fmt.Errorf("starting the data server: %w", err)
	}
	server := &http.Server{Handler: data, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // it ends with Close
	defer func() { err = errors.Join(err, server.Close()) }()
	results, err = runGuest(ctx, overlay, filepath.Join(dir, "guest.log"), at)
	return results, data.paths(), err
}

func runGuest(ctx context.Context, disk, log string, at Place) (results map[string]string, err error) {
	console, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, console.Close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	network := "user,id=n"
	if at.Domain != "" {
		network += ",domainname=" + at.Domain
	}
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-machine", "pc", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1536",
		"-display", "none", "-no-reboot", "-serial", "stdio",
		"-smbios", "type=1,manufacturer="+at.Vendor+",product="+at.Product,
		"-drive", "if=virtio,format=qcow2,file="+disk, "-netdev", network, "-device", "virtio-net-pci,netdev=n")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = console
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	results = readResults(io.TeeReader(out, console))
	if results["end"] == "" {
		return results, errors.Join(fmt.Errorf("the machine ended or was stopped before its user data was through; see %s", log), cmd.Wait(), context.Cause(ctx))
	}
	cancel()
	_ = cmd.Wait() // it was killed
	return results, nil
}

// readResults reads the console until the user data has said all.
func readResults(r io.Reader) map[string]string {
	results := map[string]string{}
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	for results["end"] == "" && scan.Scan() {
		_, line, found := strings.Cut(scan.Text(), mark)
		if !found {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		results[name] = strings.TrimSpace(value)
	}
	return results
}
