package workload

import (
	"context"
	"errors"
	"net/netip"
	"regexp"
	"strings"
)

var (
	// installers are commands that bring Kubernetes onto a machine: packages, or the released files.
	installers = regexp.MustCompile(`(?m)\binstall\b[^\n]*\bkube(?:adm|let)\b|\b(?:curl|wget|oras|crane)\b[^\n]*(?:dl\.k8s\.io|kubernetes-release|pkgs\.k8s\.io|\bkube(?:adm|let|rnetes))`)
	// fetchers are commands of a machine that need the world.
	fetchers = regexp.MustCompile(`(?m)^\s*(?:apt|apt-get|dnf|yum|zypper|curl|wget)\b[^\n]*\b(?:update|install|upgrade|https?://)`)

	pinned   = regexp.MustCompile(`kube(?:adm|let)[=-]v?(1\.\d{1,2}\.\d{1,3})`)
	anyPatch = regexp.MustCompile(`\bv?(1\.(?:1[6-9]|[2-9]\d)\.\d{1,3})\b`)
	anyMinor = regexp.MustCompile(`\bv(1\.(?:1[6-9]|[2-9]\d))\b`)
)

// mirror stands for the servers that packages come from; no packet is sent there.
var mirror = netip.MustParseAddrPort("203.0.113.80:443")

// install recognises commands that install Kubernetes, in a line or in a whole script with its arguments. They need a way out of the
// machine's network, and leave the version that they name.
func (g *guest) install(_ context.Context, text string, args []string) error {
	text = strings.Join(logicalLines(text), "\n")
	brings := installers.MatchString(text)
	if !brings && !fetchers.MatchString(text) {
		return nil
	}
	if err := g.self().Uplink.Reaches(mirror); err != nil {
		g.say("Err: could not connect to the servers of packages: %v", err)
		return errors.New("no package can be fetched")
	}
	if !brings {
		return nil
	}
	v := installedVersion(text, args)
	if v == "" {
		return nil
	}
	g.disk.kubernetes = "v" + v
	g.say("installed kubeadm, kubelet and kubectl v%s", v)
	return nil
}

// installedVersion finds which version commands install: what a package is pinned to, an argument, any in the text, a minor alone.
func installedVersion(text string, args []string) string {
	for _, find := range []struct {
		pattern *regexp.Regexp
		in      string
		suffix  string
	}{
		{pinned, text, ""}, {anyPatch, strings.Join(args, " "), ""}, {anyPatch, text, ""}, {anyMinor, strings.Join(args, " "), ".0"}, {anyMinor, text, ".0"},
	} {
		if m := find.pattern.FindStringSubmatch(find.in); m != nil {
			return m[1] + find.suffix
		}
	}
	return ""
}
