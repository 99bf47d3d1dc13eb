package management

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// hostAddress returns an IPv4 address of this machine that may stand in an EndpointSlice: loopback may not.
func hostAddress() (string, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("reading the addresses of this machine: %w", err)
	}
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String(), nil
		}
	}
	return "", errors.New("this machine has no IPv4 address but loopback, and webhooks need one: add one, for example to a dummy interface")
}

// Ports of processes are taken from below those that the kernel hands out by itself, so that no connection sits on one when its
// process starts again.
const (
	firstPort = 20000
	lastPort  = 32000
)

// freePort finds a port that nobody listens on, on any address, and that has not been taken before.
func freePort(taken map[int32]bool) (int32, error) {
	var last error
	for range lastPort - firstPort {
		port := firstPort + rand.Int32N(lastPort-firstPort)
		if taken[port] {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err != nil {
			last = err
			continue
		}
		taken[port] = true
		return port, l.Close()
	}
	return 0, fmt.Errorf("finding a free port: %w", errors.Join(errors.New("there is none"), last))
}

func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return s, nil
}
