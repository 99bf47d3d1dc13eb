package management

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// proxyHeaderTimeout bounds how long a manager takes to say where it wants to go.
const proxyHeaderTimeout = 10 * time.Second

// services is the proxy of the managers. It leads them to Services by name, as the DNS of a cluster and its network do: to the hooks of
// a provider, for example. Everything else is reached as without it.
type services struct{ reader client.Reader }

// addServices serves the proxy and returns its URL.
func addServices(m ctrl.Manager) (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listening for those who look for Services: %w", err)
	}
	s := &services{reader: m.GetAPIReader()}
	if err := m.Add(&manager.Server{Name: "services", Server: &http.Server{Handler: s, ReadHeaderTimeout: proxyHeaderTimeout}, Listener: l}); err != nil {
		return "", err
	}
	return "http://" + l.Addr().String(), nil
}

// proxied has a process reach what it asks for by https through a proxy, whatever the environment of this process says.
func proxied(proxy string) []string {
	return []string{"HTTPS_PROXY=" + proxy, "https_proxy=", "NO_PROXY=", "no_proxy="}
}

// ServeHTTP opens a tunnel.
func (s *services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "this proxy opens tunnels only", http.StatusMethodNotAllowed)
		return
	}
	there, err := s.dial(r.Context(), r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the caller has gone
	}
	defer here.Close()
	go func() {
		defer there.Close()
		_, _ = io.Copy(there, buffered) // it ends with either end
	}()
	_, _ = io.Copy(here, there)
}

func (s *services) dial(ctx context.Context, host string) (net.Conn, error) {
	address, err := s.address(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("looking for %s: %w", host, err)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// address is where a process listens that the port of a Service leads to. What is no name of a Service stays as it is.
func (s *services) address(ctx context.Context, host string) (string, error) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return "", err
	}
	labels := strings.Split(name, ".")
	if len(labels) < 3 || labels[2] != "svc" {
		return host, nil
	}
	var service corev1.Service
	if err := s.reader.Get(ctx, client.ObjectKey{Namespace: labels[1], Name: labels[0]}, &service); err != nil {
		return "", err
	}
	at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return strconv.Itoa(int(p.Port)) == port })
	if at < 0 {
		return "", fmt.Errorf("the Service has no port %s", port)
	}
	var list discoveryv1.EndpointSliceList
	err = s.reader.List(ctx, &list, client.InNamespace(service.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name})
	if err != nil {
		return "", err
	}
	for i := range list.Items {
		if address := ready(&list.Items[i], service.Spec.Ports[at].Name); address != "" {
			return address, nil
		}
	}
	return "", errors.New("no process is ready that the Service leads to")
}

// ready is the address of the first endpoint that is ready at a port of this name; empty when there is none.
func ready(slice *discoveryv1.EndpointSlice, port string) string {
	at := slices.IndexFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return p.Port != nil && p.Name != nil && *p.Name == port })
	if at < 0 {
		return ""
	}
	for _, e := range slice.Endpoints {
		if e.Conditions.Ready != nil && *e.Conditions.Ready && len(e.Addresses) > 0 {
			return net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*slice.Ports[at].Port)))
		}
	}
	return ""
}
