package management

import (
	"errors"
	"fmt"
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

func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return s, nil
}
