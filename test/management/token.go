package management

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokenLife is how long a token of a service account lasts. It is renewed after four fifths, as the kubelet does.
const tokenLife = time.Hour

func (p *pod) token() string      { return filepath.Join(p.dir, "token") }
func (p *pod) kubeconfig() string { return filepath.Join(p.dir, "kubeconfig") }

// login writes a kubeconfig with a token of the pod's service account, and the token anew before it ends: client-go reads the file
// again and again.
func (k *kubelet) login(ctx context.Context, p *pod, account string) error {
	if time.Now().Before(p.renew) {
		return nil
	}
	if account == "" {
		account = "default"
	}
	seconds := int64(tokenLife / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	who := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: account}}
	if err := k.client.SubResource("token").Create(ctx, who, request); err != nil {
		return fmt.Errorf("asking for a token of the service account %s: %w", account, err)
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of a pod: %w", err)
	}
	if err := write(p.dir, map[string]string{filepath.Base(p.token()): request.Status.Token}); err != nil {
		return fmt.Errorf("writing a token: %w", err)
	}
	if err := clientcmd.WriteToFile(loginWith(k.pods.cluster.Config(), p), p.kubeconfig()); err != nil {
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	p.renew = time.Now().Add(tokenLife / 5 * 4)
	return nil
}

func loginWith(admin *rest.Config, p *pod) clientcmdapi.Config {
	const name = "pod"
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{TokenFile: p.token()}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: p.key.Namespace}
	c.CurrentContext = name
	return *c
}
