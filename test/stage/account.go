package stage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/capcat/capcat/test/controlplane"
)

const tokenSeconds = 24 * 60 * 60

// ManagerAccount makes a service account with the role in config/rbac and no other rights, and returns a kubeconfig with its token:
// what the role lacks fails here and not in production.
func ManagerAccount(ctx context.Context, admin *rest.Config, namespace string) ([]byte, error) {
	c, err := NewClient(admin)
	if err != nil {
		return nil, err
	}
	role, err := managerRole("manager-" + namespace)
	if err != nil {
		return nil, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "manager"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account.Name}},
	}
	for _, create := range []func() error{
		func() error { return c.Create(ctx, role) },
		func() error { return c.Create(ctx, account) },
		func() error { return c.Create(ctx, binding) },
	} {
		if err := create(); err != nil {
			return nil, fmt.Errorf("making the manager's account: %w", err)
		}
	}
	seconds := int64(tokenSeconds)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if err := c.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, fmt.Errorf("asking for the manager's token: %w", err)
	}
	config := rest.AnonymousClientConfig(admin)
	config.BearerToken = request.Status.Token
	return controlplane.Kubeconfig(config)
}

// managerRole reads the role that controller-gen writes, under another name.
func managerRole(name string) (*rbacv1.ClusterRole, error) {
	root, err := controlplane.Root()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "config", "rbac", "role.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading the manager's role: %w", err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(text, role); err != nil {
		return nil, fmt.Errorf("reading the manager's role: %w", err)
	}
	role.Name = name
	return role, nil
}
