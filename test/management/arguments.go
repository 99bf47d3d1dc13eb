package management

import (
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// servingCerts is where controller-runtime looks for the certificate of webhooks when no flag says otherwise.
const servingCerts = "/tmp/k8s-webhook-server/serving-certs"

// arguments are those of the container with paths and ports of this machine in them.
func (p *pod) arguments(c *corev1.Container, env map[string]string) []string {
	var all []string
	if len(c.Command) > 1 {
		all = append(all, c.Command[1:]...)
	}
	all = append(all, c.Args...)
	for i, arg := range all {
		all[i] = p.local(expand(arg, env))
	}
	return append(all, p.defaults(all)...)
}

// local replaces what stands behind the = of a flag, or all of an argument, when it is a mounted path or an address with a port of
// the container.
func (p *pod) local(arg string) string {
	name, value, isFlag := strings.Cut(arg, "=")
	if !isFlag || !strings.HasPrefix(arg, "-") {
		return p.here(arg)
	}
	return name + "=" + p.here(value)
}

func (p *pod) here(value string) string {
	if path := p.path(value); path != "" {
		return path
	}
	host, port, err := net.SplitHostPort(value)
	if err != nil {
		return value
	}
	n, err := strconv.ParseInt(port, 10, 32)
	if mapped := p.ports[int32(n)]; err == nil && mapped != 0 {
		return net.JoinHostPort(host, strconv.Itoa(int(mapped)))
	}
	return value
}

// path is where a path of the container is on this machine, "" when it is below no mount. The longest mount wins.
func (p *pod) path(value string) string {
	if !filepath.IsAbs(value) {
		return ""
	}
	clean := filepath.Clean(value)
	for _, mount := range slices.Backward(slices.SortedFunc(maps.Keys(p.mounts), byLength)) {
		if rest, ok := strings.CutPrefix(clean, mount); ok && (rest == "" || rest[0] == '/') {
			return p.mounts[mount] + rest
		}
	}
	return ""
}

func byLength(a, b string) int { return len(a) - len(b) }

// defaults are flags that every manager of Cluster API knows, for what its manifest leaves to their default values.
func (p *pod) defaults(args []string) []string {
	var more []string
	add := func(flag, value string) {
		if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, flag+"=") }) {
			more = append(more, flag+"="+value)
		}
	}
	if port := p.ports[p.named["webhook-server"]]; port != 0 {
		add("--webhook-port", strconv.Itoa(int(port)))
	}
	if dir := p.mounts[servingCerts]; dir != "" {
		add("--webhook-cert-dir", dir)
	}
	if port := p.ports[p.named["healthz"]]; port != 0 {
		add("--health-addr", fmt.Sprintf(":%d", port))
	}
	if port := p.ports[p.named["metrics"]]; port != 0 {
		add("--diagnostics-address", fmt.Sprintf(":%d", port))
	}
	if slices.Contains(args, "--leader-elect") || slices.Contains(args, "--leader-elect=true") {
		more = append(more, "--leader-elect=false") // there is one, and a killed one shall be followed at once
	}
	return more
}

// readiness is the URL of the probe of the container.
func (p *pod) readiness(c *corev1.Container) string {
	path, port := "/readyz", p.ports[p.named["healthz"]]
	if probe := c.ReadinessProbe; probe != nil && probe.HTTPGet != nil {
		path = probe.HTTPGet.Path
		if n := p.ports[p.number(probe.HTTPGet.Port)]; n != 0 {
			port = n
		}
	}
	return fmt.Sprintf("http://127.0.0.1:%d/%s", port, strings.TrimPrefix(path, "/"))
}

var reference = regexp.MustCompile(`\$\$|\$\([A-Za-z0-9_.-]+\)`)

// expand replaces $(NAME) by the variable, as the kubelet does: what is not known stays, and $$ is one $.
func expand(text string, env map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(m string) string {
		if m == "$$" {
			return "$"
		}
		if value, ok := env[m[2:len(m)-1]]; ok {
			return value
		}
		return m
	})
}
