package workload

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"      //nolint:staticcheck // the port-forward of the in-memory API server is built on it
	"k8s.io/apimachinery/pkg/util/httpstream/spdy" //nolint:staticcheck // as above
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/tools/portforward"
	inmemoryportforward "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/api/portforward"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	headerTimeout = 30 * time.Second
	forwardIdle   = 10 * time.Minute
)

// serve opens the ports of etcd and of the API server on a member.
func (p *memoryPlane) serve(ctx context.Context, m *member) error {
	certificate, err := m.pki.ca.issue(apiServerName(), m.hosts()...)
	if err != nil {
		return err
	}
	peer, err := m.pki.etcd.issue(etcdName(m.name), etcdPod(m.name), m.name, "localhost", "127.0.0.1", m.guest.address().String())
	if err != nil {
		return err
	}
	clients := m.pki.ca.pool()
	api := &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	etcd := &tls.Config{Certificates: []tls.Certificate{peer}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: m.pki.etcd.pool(), MinVersion: tls.VersionTLS12}
	if err := m.guest.serveTLS(ctx, m.port, api, p.front(m, clients)); err != nil {
		return fmt.Errorf("starting kube-apiserver: %w", err)
	}
	if err := m.guest.serveTLS(ctx, etcdPort, etcd, p.etcdFront()); err != nil {
		return fmt.Errorf("starting etcd: %w", err)
	}
	return nil
}

// serveTLS serves at a port of the machine until its power is gone.
func (g *guest) serveTLS(_ context.Context, number int, config *tls.Config, h http.Handler) error {
	l, err := g.listen(number)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: h, TLSConfig: config, ReadHeaderTimeout: headerTimeout, ErrorLog: log.New(io.Discard, "", 0)}
	g.world.wg.Go(func() {
		_ = s.ServeTLS(l, "", "") // it ends with the port
		_ = s.Close()             // and so do its connections
	})
	return nil
}

// etcdFront refuses what an etcd without a majority cannot do.
func (p *memoryPlane) etcdFront() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.quorum() {
			http.Error(w, "etcdserver: no leader", http.StatusServiceUnavailable)
			return
		}
		p.etcd.ServeHTTP(w, r)
	})
}

// front is what an API server does before it reads objects: health, identity, and what the in-memory handlers do not have.
func (p *memoryPlane) front(m *member, clients *x509.CertPool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/version":
			writeJSON(w, http.StatusOK, version.Info{Major: "1", Minor: minorOf(m.version), GitVersion: m.version, Platform: "linux/amd64"})
			return
		case !p.quorum():
			refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcdserver: request timed out")
			return
		case r.URL.Path == "/healthz" || r.URL.Path == "/livez" || r.URL.Path == "/readyz":
			_, _ = io.WriteString(w, "ok") // a client that left is not an error of the server
			return
		}
		allowed := r.Method == http.MethodGet && r.URL.Path == "/api/v1/namespaces/kube-public/configmaps/cluster-info"
		if !allowed && !p.knows(r, clients) {
			refuse(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")
			return
		}
		if pod, ok := forwardedPod(r.URL.Path); ok {
			p.forward(w, r, pod)
			return
		}
		p.objects(w, r)
	})
}

// objects serves those of the cluster.
func (p *memoryPlane) objects(w http.ResponseWriter, r *http.Request) {
	of, known := targetOf(r.URL.Path)
	switch {
	case known && r.URL.Query().Get("watch") == "true":
		p.watch(w, r, of)
	case known && wantsTable(r) && p.table(w, r, of):
	case r.Method == http.MethodDelete:
		answer := &answerWriter{ResponseWriter: w}
		if p.api.ServeHTTP(answer, r); !answer.begun {
			writeJSON(w, http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
		}
	default:
		p.api.ServeHTTP(w, r)
	}
}

// answerWriter knows whether anything was answered: the in-memory handlers do not after a deletion, and kubectl wants to read something.
type answerWriter struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (w *answerWriter) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *answerWriter) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

func minorOf(version string) string {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

// knows authenticates a request: by a certificate of the cluster's CA, or by a bootstrap token that is good.
func (p *memoryPlane) knows(r *http.Request, clients *x509.CertPool) bool {
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		_, err := r.TLS.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: clients, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		return err == nil
	}
	id, secret, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
	if !ok {
		return false
	}
	s := &corev1.Secret{}
	if err := p.client().Get(r.Context(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + id}, s); err != nil {
		return false
	}
	return goodToken(s, secret, time.Now())
}

// goodToken says whether a Secret of a bootstrap token vouches for a bearer.
func goodToken(s *corev1.Secret, secret string, now time.Time) bool {
	field := func(name string) string {
		if v, ok := s.Data[name]; ok {
			return string(v)
		}
		return s.StringData[name]
	}
	if s.Type != corev1.SecretTypeBootstrapToken || secret == "" || field("token-secret") != secret || field("usage-bootstrap-authentication") != "true" {
		return false
	}
	if text := field("expiration"); text != "" {
		until, err := time.Parse(time.RFC3339, text)
		return err == nil && now.Before(until)
	}
	return true
}

// forwardedPod is the pod of the namespace kube-system that a path forwards a port of.
func forwardedPod(path string) (string, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) == 7 && strings.HasPrefix(path, "/api/v1/namespaces/") && parts[4] == "pods" && parts[6] == "portforward" {
		return parts[5], true
	}
	return "", false
}

// forward carries a connection to a port of a static pod, which is a port of its machine.
func (p *memoryPlane) forward(w http.ResponseWriter, r *http.Request, pod string) {
	var on *member
	p.mu.Lock()
	for name, m := range p.members {
		if strings.HasSuffix(pod, "-"+name) && (on == nil || len(name) > len(on.name)) {
			on = m
		}
	}
	p.mu.Unlock()
	if on == nil {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("pods %q not found", pod))
		return
	}
	forwardTo(w, r, pod, on.guest)
}

// forwardTo speaks the protocol of kubectl port-forward.
func forwardTo(w http.ResponseWriter, r *http.Request, pod string, g *guest) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	streams := make(chan httpstream.Stream, 1)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, inmemoryportforward.HTTPStreamReceived(streams))
	if conn == nil {
		return // the upgrader has answered
	}
	defer func() { _ = conn.Close() }() // the client may have closed it
	conn.SetIdleTimeout(forwardIdle)
	inmemoryportforward.NewHTTPStreamHandler(conn, streams, pod, metav1.NamespaceSystem, func(ctx context.Context, _, _, number string, stream io.ReadWriteCloser) error {
		n, err := strconv.Atoi(number)
		if err != nil {
			return fmt.Errorf("port %q: %w", number, err)
		}
		c, err := g.dial(ctx, n)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }() // the tunnel closes it too
		return inmemoryportforward.HTTPStreamTunnel(ctx, stream, c)
	}).Run(context.WithoutCancel(r.Context()))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that left is not an error of the server
}

// refuse answers as an API server does.
func refuse(w http.ResponseWriter, status int, reason metav1.StatusReason, message string) {
	writeJSON(w, status, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(status), Reason: reason, Message: message})
}
