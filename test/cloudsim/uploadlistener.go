package cloudsim

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"time"
)

// uploadServer is the front of the storage VM, on HTTPS with a certificate of its own authority.
type uploadServer struct {
	listener net.Listener
	server   *http.Server
	ca       []byte // PEM
}

// certificateLife is how long the certificates of one run are good.
const certificateLife = 30 * 24 * time.Hour

// serveUploads listens on address and serves h there.
func serveUploads(address string, h http.Handler) (*uploadServer, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for uploads: %w", err)
	}
	host, _, _ := net.SplitHostPort(l.Addr().String())
	cert, ca, err := newCertificate(host)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	u := &uploadServer{listener: l, ca: ca}
	u.server = &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		tlsListener := tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
		_ = u.server.Serve(tlsListener) // it always ends with an error, when the server is closed
	}()
	return u, nil
}

func (u *uploadServer) host() string { return u.listener.Addr().String() }

func (u *uploadServer) url() string { return "https://" + u.host() }

func (u *uploadServer) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := u.server.Shutdown(ctx); err != nil {
		return u.server.Close()
	}
	return nil
}

// newCertificate makes an authority and a certificate of it for a host; the authority comes back as PEM.
func newCertificate(host string) (tls.Certificate, []byte, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("making the key of the authority: %w", err)
	}
	from := time.Now().Add(-time.Hour)
	caTemplate := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cloudsim storage VM authority"}, NotBefore: from,
		NotAfter: from.Add(certificateLife), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	caDER, err := x509.CreateCertificate(rand.Reader, caTemplate, caTemplate, caKey.Public(), caKey)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("making the authority: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("making the key of the storage VM: %w", err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "cloudsim storage VM"}, NotBefore: from, NotAfter: from.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}}
	if ip := net.ParseIP(host); ip != nil {
		leaf.IPAddresses = append(leaf.IPAddresses, ip)
	} else {
		leaf.DNSNames = append(leaf.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, caTemplate, key.Public(), caKey)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("making the certificate of the storage VM: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der, caDER}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}), nil
}

// UploadCA returns the authority, as PEM, that vouches for the upload endpoint.
func (s *Server) UploadCA() []byte { return s.uploads.ca }

// UploadURL is where the upload endpoint listens.
func (s *Server) UploadURL() string { return s.uploads.url() }
