package workload_test

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// authority is a CA that the test keeps, as Cluster API does.
type authority struct {
	crt *x509.Certificate
	key *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	crt, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{crt, key}
}

func (a *authority) hash() string {
	sum := sha256.Sum256(a.crt.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (a *authority) certificate() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.crt.Raw}))
}

func keyText(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// admin is a client of the API at an endpoint, with a certificate of the authority.
func (a *authority) admin(t *testing.T, endpoint string) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(a.config(t, endpoint))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (a *authority) config(t *testing.T, endpoint string) *rest.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.crt, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &rest.Config{Host: "https://" + endpoint, Timeout: 5 * time.Second, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(a.certificate()),
		CertData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), KeyData: []byte(keyText(t, key))}}
}

// plan is a cluster as bootstrap data describes it.
type plan struct {
	t        *testing.T
	ca, etcd *authority
	front    *authority
	sa       *ecdsa.PrivateKey
	endpoint string
	version  string
	commands []string // before kubeadm
	more     map[string]string
}

const token = "abcdef.0123456789abcdef"

func newPlan(t *testing.T, endpoint, version string) *plan {
	return &plan{t: t, ca: newAuthority(t, "kubernetes"), etcd: newAuthority(t, "etcd"), front: newAuthority(t, "front-proxy"), sa: newAuthority(t, "sa").key, endpoint: endpoint, version: version, more: map[string]string{}}
}

func (p *plan) files() map[string]string {
	public, err := x509.MarshalPKIXPublicKey(p.sa.Public())
	if err != nil {
		p.t.Fatal(err)
	}
	files := maps.Clone(p.more)
	for name, a := range map[string]*authority{"ca": p.ca, "etcd/ca": p.etcd, "front-proxy-ca": p.front} {
		files["/etc/kubernetes/pki/"+name+".crt"], files["/etc/kubernetes/pki/"+name+".key"] = a.certificate(), keyText(p.t, a.key)
	}
	files["/etc/kubernetes/pki/sa.key"] = keyText(p.t, p.sa)
	files["/etc/kubernetes/pki/sa.pub"] = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	return files
}

// cloudConfig writes user data as Cluster API's bootstrap provider does.
func (p *plan) cloudConfig(files map[string]string, kubeadm string) string {
	var b strings.Builder
	b.WriteString("## template: jinja\n#cloud-config\n\nwrite_files:\n")
	for _, path := range slices.Sorted(maps.Keys(files)) {
		permissions := "0640"
		if strings.Contains(path, "/sbin/") {
			permissions = "0755"
		}
		fmt.Fprintf(&b, "-   path: %s\n    owner: root:root\n    permissions: '%s'\n    content: |\n      %s\n", path, permissions, strings.ReplaceAll(files[path], "\n", "\n      "))
	}
	b.WriteString("runcmd:\n")
	for _, c := range append(slices.Clone(p.commands), kubeadm) {
		fmt.Fprintf(&b, "  - %q\n", c)
	}
	return b.String()
}

const registration = `nodeRegistration:
  name: '{{ ds.meta_data.local_hostname }}'
  kubeletExtraArgs:
  - name: provider-id
    value: cloudstack:///{{ ds.meta_data.instance_id }}
  - name: node-labels
    value: pool=a
`

func (p *plan) init() string {
	files := p.files()
	files["/run/kubeadm/kubeadm.yaml"] = "---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: c\ncontrolPlaneEndpoint: " + p.endpoint +
		"\nkubernetesVersion: " + p.version + "\n---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n" + registration
	return p.cloudConfig(files, "kubeadm init --config /run/kubeadm/kubeadm.yaml  && echo success > /run/cluster-api/bootstrap-success.complete")
}

func (p *plan) join(controlPlane bool) string {
	files := maps.Clone(p.more)
	config := "---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\ndiscovery:\n  bootstrapToken:\n    apiServerEndpoint: " + p.endpoint + "\n    caCertHashes: [\"" + p.ca.hash() +
		"\"]\n    token: " + token + "\n" + registration
	if controlPlane {
		files = p.files()
		config += "controlPlane:\n  localAPIEndpoint: {}\n"
	}
	files["/run/kubeadm/kubeadm-join-config.yaml"] = config
	return p.cloudConfig(files, "kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success > /run/cluster-api/bootstrap-success.complete")
}

// addToken lets machines join, as Cluster API does before it starts them.
func addToken(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	_, err := c.CoreV1().Secrets("kube-system").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-abcdef"}, Type: corev1.SecretTypeBootstrapToken,
		Data: map[string][]byte{"token-id": []byte("abcdef"), "token-secret": []byte("0123456789abcdef"), "usage-bootstrap-authentication": []byte("true"), "usage-bootstrap-signing": []byte("true"), "auth-extra-groups": []byte("system:bootstrappers:kubeadm:default-node-token"),
			"expiration": []byte(time.Now().Add(time.Hour).UTC().Format(time.RFC3339))}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// nodes tells of every Node its kubelet's version, its provider ID and whether it is ready.
func nodes(t *testing.T, c kubernetes.Interface) map[string]string {
	t.Helper()
	list, err := c.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return map[string]string{"error": err.Error()}
	}
	out := map[string]string{}
	for _, n := range list.Items {
		state := "no condition"
		for _, cond := range n.Status.Conditions {
			if cond.Type == corev1.NodeReady {
				state = string(cond.Status)
			}
		}
		out[n.Name] = n.Status.NodeInfo.KubeletVersion + " " + n.Spec.ProviderID + " " + state
	}
	return out
}

func compress(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	if _, err := zw.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
