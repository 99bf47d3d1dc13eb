package management

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	certificateLife = 365 * 24 * time.Hour
	certificateName = "cert-manager.io/certificate-name"
)

var certificateKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}

func newCertificate() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(certificateKind)
	return u
}

// issuer stands in for cert-manager: each Certificate gets a Secret with a certificate that signs itself.
type issuer struct{ client client.Client }

func addIssuer(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("issuer").For(newCertificate()).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(issued)).Complete(&issuer{m.GetClient()})
}

// issued is the Certificate that a secret was made for, so that a deleted secret is made again.
func issued(_ context.Context, secret client.Object) []reconcile.Request {
	name := secret.GetAnnotations()[certificateName]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: secret.GetNamespace(), Name: name}}}
}

func (i *issuer) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	certificate := newCertificate()
	if err := i.client.Get(ctx, req.NamespacedName, certificate); err != nil || certificate.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	name, _, err := unstructured.NestedString(certificate.Object, "spec", "secretName")
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading the name of the secret: %w", err)
	}
	err = i.client.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: name}, &corev1.Secret{})
	if apierrors.IsNotFound(err) {
		err = i.issue(ctx, certificate, name)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, i.tell(ctx, certificate)
}

func (i *issuer) issue(ctx context.Context, certificate *unstructured.Unstructured, name string) error {
	names, _, err := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	if err != nil {
		return fmt.Errorf("reading the names of the certificate: %w", err)
	}
	text, key, err := selfSigned(names)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: certificate.GetNamespace(), Name: name, Annotations: map[string]string{certificateName: certificate.GetName()},
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: text, corev1.TLSPrivateKeyKey: key, "ca.crt": text},
	}
	return client.IgnoreAlreadyExists(i.client.Create(ctx, secret))
}

// tell sets the condition Ready.
func (i *issuer) tell(ctx context.Context, certificate *unstructured.Unstructured) error {
	if _, found, _ := unstructured.NestedSlice(certificate.Object, "status", "conditions"); found {
		return nil
	}
	ready := map[string]any{
		"type": "Ready", "status": "True", "reason": "Ready", "message": "Certificate is up to date and has not expired",
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "observedGeneration": certificate.GetGeneration(),
	}
	if err := unstructured.SetNestedSlice(certificate.Object, []any{ready}, "status", "conditions"); err != nil {
		return fmt.Errorf("writing the condition: %w", err)
	}
	return client.IgnoreNotFound(i.client.Status().Update(ctx, certificate))
}

// selfSigned makes a certificate for a server that is its own authority.
func selfSigned(names []string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		return nil, nil, fmt.Errorf("making a serial number: %w", err)
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "management"}, DNSNames: names,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, private.Public(), private)
	if err != nil {
		return nil, nil, fmt.Errorf("making a certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("writing a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}
