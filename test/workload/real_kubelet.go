package workload

import (
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
)

// serveKubelet opens the port of the kubelet on a member: it forwards ports of static pods, which are ports of the machine.
func (r *realMember) serveKubelet(ctx context.Context) error {
	c, err := r.pki.ca.issue(pkix.Name{CommonName: "system:node:" + r.name, Organization: []string{"system:nodes"}}, r.name, r.guest.address().String())
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{c}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: r.pki.ca.pool(), MinVersion: tls.VersionTLS12}
	return r.guest.serveTLS(ctx, kubeletPort, config, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/") // portForward/<namespace>/<pod>
		if len(parts) < 3 || parts[0] != "portForward" {
			http.NotFound(w, req)
			return
		}
		forwardTo(w, req, parts[2], r.guest)
	}))
}

// serveProxy opens the socket by which the API server of a member gets into the simulated network.
func (r *realMember) serveProxy() error {
	if err := os.Remove(r.path(proxyFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the socket of the last start: %w", err)
	}
	l, err := net.Listen("unix", r.path(proxyFile))
	if err != nil {
		return err
	}
	s := &http.Server{Handler: http.HandlerFunc(r.connect), ReadHeaderTimeout: headerTimeout, ErrorLog: log.New(io.Discard, "", 0)}
	r.guest.atLoss(func() { _ = s.Close() }) // it has no more to say
	r.guest.world.wg.Go(func() { _ = s.Serve(l) })
	return nil
}

// connect carries a connection of the API server to an address of the simulated network.
func (r *realMember) connect(w http.ResponseWriter, req *http.Request) {
	hijacker, ok := w.(http.Hijacker)
	if req.Method != http.MethodConnect || !ok {
		http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
		return
	}
	far, err := r.guest.self().Uplink.Dial(req.Context(), req.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	near, _, err := hijacker.Hijack()
	if err != nil {
		_ = far.Close() // nobody has it
		return
	}
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_, _ = near.Close(), far.Close() // the API server has given up
		return
	}
	ctx, cancel := context.WithCancel(r.guest.world.ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
	join(near, far)
}
