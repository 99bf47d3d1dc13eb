package workload

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"
)

// pkiDir is where kubeadm has its certificates.
const pkiDir = "/etc/kubernetes/pki/"

const (
	caYears   = 10
	certYears = 1
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// pem is the certificate as files have it.
func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.certificate)
	return p
}

// hash pins the authority, as kubeadm writes it.
func (a *authority) hash() string { return publicKeyHash(a.certificate) }

func publicKeyHash(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// loadAuthority reads the pair ca.crt and ca.key below the folder of certificates. When there is neither and generate is set, it makes one.
func loadAuthority(files map[string]file, name string, generate bool) (*authority, error) {
	crt, haveCrt := files[pkiDir+name+".crt"]
	key, haveKey := files[pkiDir+name+".key"]
	switch {
	case !haveCrt && !haveKey && generate:
		return newAuthority(name)
	case !haveCrt:
		return nil, fmt.Errorf("couldn't load the certificate file %s%s.crt: no such file or directory", pkiDir, name)
	case !haveKey:
		return nil, fmt.Errorf("couldn't load the private key file %s%s.key: no such file or directory", pkiDir, name)
	}
	a := &authority{}
	var err error
	if a.certificate, err = parseCertificate([]byte(crt.content)); err != nil {
		return nil, fmt.Errorf("couldn't load the certificate file %s%s.crt: %w", pkiDir, name, err)
	}
	if a.key, err = parseKey([]byte(key.content)); err != nil {
		return nil, fmt.Errorf("couldn't load the private key file %s%s.key: %w", pkiDir, name, err)
	}
	public, err := x509.MarshalPKIXPublicKey(a.key.Public())
	if err != nil || !bytes.Equal(public, a.certificate.RawSubjectPublicKeyInfo) {
		return nil, fmt.Errorf("the certificate and the private key of %s%s do not belong together", pkiDir, name)
	}
	return a, nil
}

func parseCertificate(text []byte) (*x509.Certificate, error) {
	b, _ := pem.Decode(text)
	if b == nil {
		return nil, errors.New("data doesn't contain a valid certificate")
	}
	return x509.ParseCertificate(b.Bytes)
}

func parseKey(text []byte) (crypto.Signer, error) {
	b, _ := pem.Decode(text)
	if b == nil {
		return nil, errors.New("data doesn't contain a valid private key")
	}
	if k, err := x509.ParsePKCS1PrivateKey(b.Bytes); err == nil {
		return k, nil
	}
	if k, err := x509.ParseECPrivateKey(b.Bytes); err == nil {
		return k, nil
	}
	k, err := x509.ParsePKCS8PrivateKey(b.Bytes)
	if err != nil {
		return nil, errors.New("the private key is of no known form")
	}
	s, ok := k.(crypto.Signer)
	if !ok {
		return nil, errors.New("the private key cannot sign")
	}
	return s, nil
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of %s: %w", name, err)
	}
	t := &x509.Certificate{SerialNumber: serial(), Subject: pkix.Name{CommonName: "kubernetes-" + strings.ReplaceAll(name, "/", "-")}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(caYears, 0, 0), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of %s: %w", name, err)
	}
	crt, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of %s: %w", name, err)
	}
	return &authority{crt, key}, nil
}

func serial() *big.Int {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b)
}

// issue signs a certificate for a name, with the names and addresses that it is served at.
func (a *authority) issue(subject pkix.Name, hosts ...string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making the key of %s: %w", subject.CommonName, err)
	}
	t := &x509.Certificate{SerialNumber: serial(), Subject: subject, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(certYears, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else if h != "" {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.certificate, key.Public(), a.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("signing the certificate of %s: %w", subject.CommonName, err)
	}
	return tls.Certificate{Certificate: [][]byte{der, a.certificate.Raw}, PrivateKey: key}, nil
}

// pki are the authorities of a cluster, as a control-plane machine has them.
type pki struct {
	ca, etcd, frontProxy *authority
	// serviceAccount is the pair that signs the tokens of service accounts, as PEM.
	serviceAccountKey, serviceAccountPub string
}

// loadPKI reads the authorities from the files of a machine. The first machine of a cluster makes what is not there.
func loadPKI(files map[string]file, generate bool) (pki, error) {
	var p pki
	for name, to := range map[string]**authority{"ca": &p.ca, "etcd/ca": &p.etcd, "front-proxy-ca": &p.frontProxy} {
		a, err := loadAuthority(files, name, generate)
		if err != nil {
			return pki{}, err
		}
		*to = a
	}
	p.serviceAccountKey, p.serviceAccountPub = files[pkiDir+"sa.key"].content, files[pkiDir+"sa.pub"].content
	switch {
	case p.serviceAccountKey == "" && p.serviceAccountPub == "" && generate:
		return p, p.makeServiceAccount()
	case p.serviceAccountKey == "":
		return pki{}, fmt.Errorf("couldn't load the private key file %ssa.key: no such file or directory", pkiDir)
	}
	if _, err := parseKey([]byte(p.serviceAccountKey)); err != nil {
		return pki{}, fmt.Errorf("couldn't load the private key file %ssa.key: %w", pkiDir, err)
	}
	return p, nil
}

func (p *pki) makeServiceAccount() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the key of service accounts: %w", err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("writing the key of service accounts: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("writing the key of service accounts: %w", err)
	}
	p.serviceAccountKey = string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}))
	p.serviceAccountPub = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	return nil
}
