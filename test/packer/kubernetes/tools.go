//go:build tools

// Package kubernetes pins the Kubernetes programs that the test's image holds.
package kubernetes

import (
	_ "k8s.io/kubernetes/cmd/kubeadm"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
