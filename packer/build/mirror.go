package build

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// ErrMirror says that the mirror cannot serve this build.
var ErrMirror = errors.New("the mirror cannot be used")

const mirrorTime = 20 * time.Second

// slirpHost is this computer as the guest sees it.
const slirpHost = "10.0.2.2"

// askMirror makes sure of the mirror before minutes are spent on a machine: it must answer, and have the asked version.
func (p plan) askMirror(ctx context.Context) error {
	if p.PackagesFrom == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, mirrorTime)
	defer cancel()
	address := p.mirrored(fmt.Sprintf("https://dl.k8s.io/release/%s/bin/linux/%s/kubelet.sha256", p.KubernetesVersion, p.Architecture))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMirror, err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMirror, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: it has no kubelet %s: GET %s: %s", ErrMirror, p.KubernetesVersion, address, res.Status)
	}
	return nil
}

// seenByGuest is an address of this computer as a machine on it must write it.
func seenByGuest(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	ip := net.ParseIP(u.Hostname())
	if u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return address
	}
	host := slirpHost
	if port := u.Port(); port != "" {
		host = net.JoinHostPort(slirpHost, port)
	}
	u.Host = host
	return u.String()
}
