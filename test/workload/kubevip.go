package workload

import (
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// manifestDir is where a kubelet finds its static pods.
const manifestDir = "/etc/kubernetes/manifests/"

// kubeVIP reads which address a static pod of kube-vip claims for the API.
func kubeVIP(manifest string) (netip.AddrPort, bool) {
	var pod corev1.Pod
	if yaml.Unmarshal([]byte(manifest), &pod) != nil {
		return netip.AddrPort{}, false
	}
	for _, c := range pod.Spec.Containers {
		if !strings.Contains(c.Image, "kube-vip") {
			continue
		}
		env := map[string]string{"port": strconv.Itoa(apiPort)}
		for _, e := range c.Env {
			env[e.Name] = e.Value
		}
		address := env["address"]
		if address == "" {
			address = env["vip_address"]
		}
		a, err := netip.ParseAddr(address)
		port, err2 := strconv.ParseUint(env["port"], 10, 16)
		if err == nil && err2 == nil && env["cp_enable"] != "false" && env["vip_arp"] != "false" {
			return netip.AddrPortFrom(a, uint16(port)), true
		}
	}
	return netip.AddrPort{}, false
}

// virtual is the address that kube-vip on this machine would claim. It needs the API server of the machine.
func (g *guest) virtual() (netip.AddrPort, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.vip, g.vip.IsValid() && g.cancel != nil
}

// findVirtual looks for kube-vip once user data has been written, so that nobody has to read the disk of a machine that runs.
func (g *guest) findVirtual() {
	for path, f := range g.disk.files {
		if strings.HasPrefix(path, manifestDir) {
			if v, ok := kubeVIP(f.content); ok {
				g.mu.Lock()
				g.vip = v
				g.mu.Unlock()
			}
		}
	}
}

// holdsVirtual elects among the machines that would claim an address: who has it keeps it until its power is gone.
func (g *guest) holdsVirtual(v netip.AddrPort) bool {
	w := g.world
	w.mu.Lock()
	defer w.mu.Unlock()
	holder := w.vips[v]
	if holder != nil && holder != g && holder.claims(v) {
		return false
	}
	w.vips[v] = g
	return true
}

// claims says whether a machine still serves what it holds an address for.
func (g *guest) claims(v netip.AddrPort) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cancel != nil && g.vip == v && g.ports[int(v.Port())] != nil
}
