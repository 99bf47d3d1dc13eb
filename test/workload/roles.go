package workload

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// joiners are who a bootstrap token makes its bearer.
const joiners = "system:bootstrappers:kubeadm:default-node-token"

// bootstrapRoles let machines that join read what kubeadm reads: everybody the CA, bearers of a token the configuration and which cluster it is.
func bootstrapRoles() []client.Object {
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	get := func(resource string, names ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, ResourceNames: names, Verbs: []string{"get"}}}
	}
	role := func(kind, name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	const info, config, identity = "kubeadm:bootstrap-signer-clusterinfo", "kubeadm:nodes-kubeadm-config", "kubeadm:cluster-identity"
	group := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: joiners}}
	return []client.Object{
		&rbacv1.Role{ObjectMeta: meta(metav1.NamespacePublic, info), Rules: get("configmaps", "cluster-info")},
		&rbacv1.RoleBinding{ObjectMeta: meta(metav1.NamespacePublic, info), RoleRef: role("Role", info), Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:anonymous"}}},
		&rbacv1.Role{ObjectMeta: meta(metav1.NamespaceSystem, config), Rules: get("configmaps", "kubeadm-config", "kubelet-config")},
		&rbacv1.RoleBinding{ObjectMeta: meta(metav1.NamespaceSystem, config), RoleRef: role("Role", config), Subjects: group},
		&rbacv1.ClusterRole{ObjectMeta: meta("", identity), Rules: get("namespaces", metav1.NamespaceSystem)},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", identity), RoleRef: role("ClusterRole", identity), Subjects: group},
	}
}
